"""What rows are made of: the part of a `RoomEvent`, and of a changelog's record, that says how an entry is now.

A `RoomEvent` has a dozen fields, of which a row needs three, and they pass by the hundred thousand: it is read by hand.
What is not today's version goes through the codec.
"""

from __future__ import annotations

from projectors.room_rows import Version
from schemas.binary import read_long, read_ms, read_text, skip_text
from schemas.codec import HEADER_BYTES, decode, header
from schemas.errors import DecodeError
from schemas.records.room_events import RoomEvent
from schemas.records.tables import Revised
from schemas.rooms.entry import decode_entry

_TEXTS_BEFORE_TIME = 5
"""`event_id`, `cause_id`, `account_id`, `zoom_id` and `fact`."""


def version_told(value: bytes | None) -> tuple[str, Version]:
    """The kind and version of the entry that a `RoomEvent` tells.

    Raises:
        DecodeError: these bytes are no `RoomEvent`, or its entry is none.
    """
    if value is None or not value.startswith(header(RoomEvent)):
        event = decode(value, RoomEvent)
        return event.kind, Version(decode_entry(event.entry), event.generation, event.revision)
    try:
        at = HEADER_BYTES
        for _ in range(_TEXTS_BEFORE_TIME):
            at = skip_text(value, at)
        if value[at] not in _OPTIONAL:
            raise ValueError("no such branch")
        at = read_ms(value, at + 1)[1] if value[at] else at + 1
        generation, at = read_long(value, at)
        revision, at = read_long(value, at)
        kind, at = read_text(value, skip_text(value, at))
        length, at = read_long(value, skip_text(value, at))
    except (IndexError, ValueError) as error:
        raise DecodeError(f"truncated or damaged RoomEvent: {type(error).__name__}") from error
    if length != len(value) - at:
        raise DecodeError("truncated RoomEvent, or bytes after its end")
    return kind, Version(decode_entry(value[at:]), generation, revision)


def version_kept(record: Revised) -> Version:
    """The version in a record of the changelog.

    Raises:
        DecodeError: its entry is none.
    """
    return Version(decode_entry(record.entry), record.generation, record.revision)


_OPTIONAL = (0, 2)
"""Avro's marks of the branches of `["null", ...]`."""
