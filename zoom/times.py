"""Zoom's times as milliseconds since the epoch.

Zoom writes ISO 8601 in UTC (`2026-12-01T15:00:10Z`), epoch milliseconds (`event_ts`, `time_stamp`), and in one event
`2024-09-08 15:58:40`. A text without an offset is UTC. What is blank or cannot be a time is no time, never an error.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST_MS = 9_999_999_999_999
"""13 digits (the year 2286): every time that Roomkeeper orders by fits a fixed width."""


def epoch_ms(value: object) -> int | None:
    """Milliseconds since the epoch; None for what is blank, no time, or outside 1970 to 2286."""
    if isinstance(value, str):
        return _of_text(value) if value else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return int(value) if 0 <= value <= LATEST_MS else None
    return None


def moment(ms: int) -> datetime:
    """The aware UTC datetime of these milliseconds."""
    return EPOCH + timedelta(milliseconds=ms)


def ms_of(at: datetime) -> int:
    """Milliseconds since the epoch of an aware datetime."""
    since = at - EPOCH
    return since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000


@lru_cache(maxsize=4096)  # the start of a run comes with each of its events
def _of_text(text: str) -> int | None:
    if text.isdigit():
        return int(text) if text.isascii() and len(text) <= 13 else None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    ms = ms_of(at if at.tzinfo is not None else at.replace(tzinfo=UTC))
    return ms if 0 <= ms <= LATEST_MS else None
