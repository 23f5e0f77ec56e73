"""A fact: one `ZoomEvent` as the fold reads it, with its clocks.

A clock is a text that sorts like (tier, time, source rank, event id): tier 1 is what Zoom says of a field itself,
tier 0 what other events merely echo; a webhook outranks a poll of the same moment; no time sorts before every time.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import orjson

from schemas.errors import BadMessage
from streams.rooms.wire import Heard
from zoom.times import epoch_ms

AHEAD_MS = 300_000
"""A time further ahead of its receipt than this is wrong, and would pin a register for ever."""
POLL_MARGIN_MS = 5_000
"""A poll may be answered from a replica that lags this much."""
IDENTIFIER_CHARS = 255
NO_TIME = "-" * 13
"""Sorts before every 13-digit time."""


class Fact:
    """One event or observation, ready to become pieces of state."""

    __slots__ = (
        "account_id",
        "body",
        "clock",
        "event_id",
        "is_webhook",
        "latest",
        "name",
        "payload",
        "rank",
        "room",
        "subject",
        "time",
        "uuid",
    )

    def __init__(self, heard: Heard) -> None:
        """Raises BadMessage where the body is no JSON object or the event's time is ahead of its receipt."""
        event_id, account_id, zoom_id, name, happened, received, source, body, _ = heard
        self.event_id = event_id
        self.account_id = account_id
        self.room = zoom_id or f"account:{account_id}"
        """Meeting number, or `account:<id>`."""
        self.name = name
        self.is_webhook = source.startswith("webhook")
        self.rank = "1" if self.is_webhook else "0"
        self.latest = received + AHEAD_MS
        """No time of this fact may be later."""
        self.body = _object(body)
        payload = self.body.get("payload")
        self.payload: dict[str, Any] = payload if isinstance(payload, dict) else {}
        subject = self.payload.get("object")
        self.subject: dict[str, Any] = subject if isinstance(subject, dict) else {}
        self.uuid = identifier(self.subject.get("uuid"), "uuid")
        """The run that it concerns; blank where it names none."""
        happened = self.not_ahead(happened, "event_ts")
        self.time = happened if self.is_webhook or happened is None else self._as_of(happened)
        """When it was so, in milliseconds; None where nobody says."""
        self.clock = f"1{self.time_text()}{self.rank}{self.event_id}"
        """The clock of what Zoom says of a field itself."""

    @property
    def has_number(self) -> bool:
        """Whether it concerns a meeting, and not its account alone."""
        return not self.room.startswith("account:")

    @property
    def echo_clock(self) -> str:
        """The clock of what this fact merely echoes."""
        return f"0{self.clock[1:]}"

    def ordered_clock(self, order: int) -> str:
        """A clock for registers whose values have an order of their own at equal times."""
        return f"{self.time_text()}{order}{self.rank}{self.event_id}"

    def time_text(self) -> str:
        """The time in 13 characters."""
        if self.time is None:
            return NO_TIME
        text = str(self.time)
        return text if len(text) == len(NO_TIME) else f"{self.time:013d}"  # nearly all have 13 digits

    def at(self, time: int | None) -> Fact:
        """This fact as of another moment, such as the `time_stamp` of an update."""
        moved = copy(self)
        moved.time = time
        moved.clock = f"1{moved.time_text()}{self.rank}{self.event_id}"
        return moved

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
        if time is not None and time > self.latest:
            raise BadMessage(f"{field}: {time} is more than five minutes ahead of its receipt")
        return time

    def _as_of(self, sent: int) -> int:
        """As of when a poll counts: its sending, by Zoom's clock where that is earlier, less what replicas may lag."""
        observed = self.body.get("observed")
        if isinstance(observed, dict):
            answered, elapsed = observed.get("date"), observed.get("elapsed_ms")
            if isinstance(answered, int) and isinstance(elapsed, int):
                sent = min(sent, answered - elapsed)
        return max(0, sent - POLL_MARGIN_MS)


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


def _object(text: bytes) -> dict[str, Any]:
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadMessage(f"body: {error.msg}") from error
    if not isinstance(body, dict):
        raise BadMessage("body: not a JSON object")
    return body
