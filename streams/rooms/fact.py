"""A fact: one `ZoomEvent` as the fold reads it, with its clocks.

A clock is a text that sorts like (tier, time, source rank, event id): tier 1 is what Zoom says of a field itself,
tier 0 what other events merely echo; a webhook outranks a poll of the same moment; no time sorts before every time.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import orjson

from schemas.binary import read_long, read_text
from schemas.codec import HEADER_BYTES, decode, header
from schemas.errors import BadMessage, DecodeError
from schemas.records.zoom_events import ZoomEvent
from zoom.times import epoch_ms, ms_of

AHEAD_MS = 300_000
"""A time further ahead of its receipt than this is wrong, and would pin a register for ever."""
POLL_MARGIN_MS = 5_000
"""A poll may be answered from a replica that lags this much."""
IDENTIFIER_CHARS = 255
NO_TIME = "-" * 13
"""Sorts before every 13-digit time."""

_WEBHOOK_RANK = 1
_POLL_RANK = 0
_PRESENT = 2
"""Avro's mark of the second branch of `["null", ...]`."""


class Fact:
    """One event or observation, ready to become pieces of state."""

    __slots__ = (
        "_clocks",
        "account_id",
        "body",
        "event_id",
        "happened",
        "is_webhook",
        "name",
        "payload",
        "rank",
        "received",
        "room",
        "subject",
        "time",
    )

    def __init__(
        self,
        *,
        event_id: str,
        account_id: str,
        room: str,
        name: str,
        time: int | None,
        received: int,
        is_webhook: bool,
        body: dict[str, Any],
    ) -> None:
        """`time` and `received` are milliseconds since the epoch; `room` is a number or `account:<id>`."""
        self.event_id = event_id
        self.account_id = account_id
        self.room = room
        self.name = name
        self.happened = time
        self.received = received
        self.is_webhook = is_webhook
        self.rank = _WEBHOOK_RANK if is_webhook else _POLL_RANK
        self.body = body
        payload = body.get("payload")
        self.payload: dict[str, Any] = payload if isinstance(payload, dict) else {}
        subject = self.payload.get("object")
        self.subject: dict[str, Any] = subject if isinstance(subject, dict) else {}
        self.time = self.not_ahead(time, "event_ts") if is_webhook else self._asked(time)
        self._clocks: dict[int, str] = {}

    @property
    def has_number(self) -> bool:
        """Whether it concerns a meeting, and not its account alone."""
        return not self.room.startswith("account:")

    def clock(self, tier: int = 1) -> str:
        """The clock of this fact's registers."""
        clock = self._clocks.get(tier)
        if clock is None:
            clock = self._clocks[tier] = f"{tier}{self.time_text()}{self.rank}{self.event_id}"
        return clock

    def ordered_clock(self, order: int) -> str:
        """A clock for registers whose values have an order of their own at equal times."""
        return f"{self.time_text()}{order}{self.rank}{self.event_id}"

    def time_text(self) -> str:
        """The time in 13 characters."""
        return NO_TIME if self.time is None else f"{self.time:013d}"

    def at(self, time: int | None) -> Fact:
        """This fact as of another moment, such as the `time_stamp` of an update."""
        moved = copy(self)
        moved.forget_clocks()
        moved.time = time
        return moved

    def forget_clocks(self) -> None:
        """For a copy that is to have another time."""
        self._clocks = {}

    def own_time(self, value: object, field: str) -> int | None:
        """A time of the body in milliseconds; None where it is blank.

        Raises:
            BadMessage: it is more than five minutes ahead of its receipt.
        """
        return self.not_ahead(epoch_ms(value), field)

    def not_ahead(self, time: int | None, field: str) -> int | None:
        """The time, unless it is too far ahead of its receipt.

        Raises:
            BadMessage: it is.
        """
        if time is not None and time > self.received + AHEAD_MS:
            raise BadMessage(f"{field}: {time} is more than five minutes ahead of its receipt at {self.received}")
        return time

    def _asked(self, sent: int | None) -> int | None:
        """As of when a poll counts: its sending, by Zoom's clock where that is earlier, less what replicas may lag."""
        observed = self.body.get("observed")
        sent = self.not_ahead(sent, "sent_at")
        if sent is None or not isinstance(observed, dict):
            return sent
        answered, elapsed = observed.get("date"), observed.get("elapsed_ms")
        if isinstance(answered, int) and isinstance(elapsed, int):
            sent = min(sent, answered - elapsed)
        return max(0, sent - POLL_MARGIN_MS)


def read_fact(value: bytes) -> Fact:
    """The fact in a record of `zoom-events`.

    Raises:
        BadMessage: it cannot be read, its body is no JSON object, or its time is ahead of its receipt.
    """
    event_id, account_id, zoom_id, name, time, received, source, text = _read(value)
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadMessage(f"body: {error.msg}") from error
    if not isinstance(body, dict):
        raise BadMessage("body: not a JSON object")
    return Fact(
        event_id=event_id,
        account_id=account_id,
        room=zoom_id or f"account:{account_id}",
        name=name,
        time=time,
        received=received,
        is_webhook=source.startswith("webhook"),
        body=body,
    )


def identifier(value: object, field: str) -> str:
    """A JSON text or number as part of a key; blank where it is absent.

    Raises:
        BadMessage: longer than any identifier.
    """
    if isinstance(value, str):
        if len(value) > IDENTIFIER_CHARS:
            raise BadMessage(f"{field}: longer than {IDENTIFIER_CHARS} characters")
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _read(value: bytes) -> tuple[str, str, str | None, str, int | None, int, str, bytes]:
    """The fields of a `ZoomEvent`, times as milliseconds; by hand for today's schema: every event passes here."""
    if not value.startswith(header(ZoomEvent)):
        return _read_old(value)
    try:
        event_id, at = read_text(value, HEADER_BYTES)
        account_id, at = read_text(value, at)
        zoom_id, at = read_text(value, at + 1) if value[at] == _PRESENT else _absent(value, at)
        name, at = read_text(value, at)
        time, at = read_long(value, at + 1) if value[at] == _PRESENT else _absent(value, at)
        received, at = read_long(value, at)
        source, at = read_text(value, at)
        _, at = read_text(value, at + 1) if value[at] == _PRESENT else _absent(value, at)
        length, at = read_long(value, at)
    except (IndexError, ValueError) as error:
        raise DecodeError(f"truncated or damaged ZoomEvent: {type(error).__name__}") from error
    if length != len(value) - at:
        raise DecodeError("truncated ZoomEvent, or bytes after its end")
    return event_id, account_id, zoom_id, name, time, received, source, value[at:]


def _absent(value: bytes, at: int) -> tuple[None, int]:
    if value[at]:
        raise ValueError("no such branch")
    return None, at + 1


def _read_old(value: bytes) -> tuple[str, str, str | None, str, int | None, int, str, bytes]:
    event = decode(value, ZoomEvent)
    time = None if event.happened_at is None else ms_of(event.happened_at)
    received = ms_of(event.received_at)
    return (
        event.event_id,
        event.account_id,
        event.zoom_id,
        event.name,
        time,
        received,
        event.source,
        event.body.encode(),
    )
