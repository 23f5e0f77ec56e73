"""How Zoom writes values: compact UTF-8 JSON, times to the second in UTC, instants in epoch milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson

Json = dict[str, Any]
"""A JSON object as it stands on the wire."""


def encode(body: object) -> bytes:
    """The body's bytes: raw UTF-8 without spaces, keys in their given order."""
    return orjson.dumps(body)


def second_text(at: datetime) -> str:
    """`2026-12-01T15:00:00Z`."""
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def millis(at: datetime) -> int:
    """Epoch milliseconds."""
    return int(at.timestamp() * 1000)


def whole_second(at: datetime) -> datetime:
    """The second in which the moment lies, which is all that Zoom tells of it."""
    return at.replace(microsecond=0)
