"""Zoom's webhook logs: which stretch of time to ask for next, and what an entry of them holds. Pure.

The logs reach seven days back, page by page in an order that Zoom does not promise. So they are read by stretches of
time: one that has too many pages is asked for anew in half, one that was read to its end lets the next be twice as
long. Stretches overlap, because an attempt may appear in the logs after its time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from zoom.times import epoch_ms, moment

KEPT = timedelta(days=7)
"""How far back Zoom's logs reach."""
EDGE = timedelta(minutes=1)
"""Zoom refuses a stretch that begins before its logs do, and its clock is not ours."""
OVERLAP = timedelta(minutes=10)
SHORTEST = timedelta(minutes=1)
"""A stretch this short is read to its end, however many pages it has."""
REQUEST_ID = "x-zm-request-id"
REQUEST_ID_CHARS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A time to ask for."""

    since: datetime
    until: datetime

    @property
    def query(self) -> Mapping[str, str]:
        """Failed attempts of this time, as the call wants it."""
        return {"type": "2", "from": _text(self.since), "to": _text(self.until)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """How far an account's logs are read."""

    read_until: datetime
    span: timedelta
    """How much is asked for next, the overlap not counted."""

    @staticmethod
    def first(now: datetime) -> Place:
        """Of an account whose logs were never read: all of them are asked for."""
        return Place(read_until=now - KEPT + EDGE, span=KEPT)

    def stretch(self, now: datetime) -> Stretch:
        """What to ask for next."""
        oldest = now - KEPT + EDGE
        begin = max(self.read_until, oldest)
        overlap = min(OVERLAP, self.span)
        return Stretch(since=max(begin - overlap, oldest), until=min(begin + self.span, now))

    def past(self, stretch: Stretch) -> Place:
        """After this stretch was read to its end."""
        return Place(read_until=stretch.until, span=min(self.span * 2, KEPT))

    def narrower(self) -> Place:
        """After a stretch that has too many pages."""
        return replace(self, span=max(self.span / 2, SHORTEST))

    @property
    def is_narrowest(self) -> bool:
        """Whether the next stretch is as short as any."""
        return self.span <= SHORTEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One webhook that did not reach us."""

    request_id: str
    raw: bytes
    """The body as Zoom sent it."""
    failed_at: datetime
    """When Zoom says that this attempt failed."""


def delivery_of(entry: object, *, now: datetime) -> Delivery | None:
    """The delivery that an entry of the logs tells of; None where it has no body or no id."""
    if not isinstance(entry, dict):
        return None
    raw, request_id = entry.get("request_body"), _request_id(entry)
    if not isinstance(raw, str) or not raw or request_id is None:
        return None
    at = epoch_ms(entry.get("date_time"))
    return Delivery(
        request_id=request_id,
        raw=raw.encode(errors="replace"),
        failed_at=now if at is None else min(moment(at), now),
    )


def _request_id(entry: Mapping[str, Any]) -> str | None:
    """As the delivery's own header had it; else as the log calls it."""
    for value in (_headers(entry.get("request_headers")).get(REQUEST_ID), entry.get("request_id")):
        if isinstance(value, str) and 0 < len(value) <= REQUEST_ID_CHARS and value.isascii() and value.isprintable():
            return value
    return None


def _headers(value: object) -> Mapping[str, Any]:
    """The headers by lower-case name; Zoom writes them as a text that holds JSON."""
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            return {}
    return {str(name).lower(): text for name, text in value.items()} if isinstance(value, dict) else {}


def _text(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
