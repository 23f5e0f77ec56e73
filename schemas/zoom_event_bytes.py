"""A `ZoomEvent` as bytes straight from its parts: thousands a second are written, and few as values.

Guarantee: the bytes are those of `codec.encode` for the same event; a property test holds it.
"""

from __future__ import annotations

from functools import lru_cache

from schemas.binary import write_bytes, write_long, write_text
from schemas.codec import header
from schemas.records.zoom_events import ZoomEvent

_NONE = b"\0"
_SOME = b"\2"
_known = lru_cache(maxsize=4096)(write_text)
"""For what comes again and again: accounts, meeting numbers, names."""


def zoom_event_bytes(
    *,
    event_id: str,
    account_id: str,
    zoom_id: str | None,
    name: str,
    happened_ms: int | None,
    received_ms: int,
    source: str,
    request_id: str | None,
    body: bytes,
) -> bytes:
    """The event in single-object encoding; times in milliseconds since the epoch, `body` as UTF-8."""
    return b"".join(
        (
            header(ZoomEvent),
            write_text(event_id),
            _known(account_id),
            _NONE if zoom_id is None else _SOME + _known(zoom_id),
            _known(name),
            _NONE if happened_ms is None else _SOME + write_long(happened_ms),
            write_long(received_ms),
            _known(source),
            _NONE if request_id is None else _SOME + write_text(request_id),
            write_bytes(body),
        )
    )
