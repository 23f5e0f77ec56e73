"""The two records that pass by the hundred thousand, by hand: `ZoomEvent` in, `RoomEvent` out.

The bytes are those of `schemas.codec`; tests hold them to it. What is not today's version goes through the codec.
"""

from __future__ import annotations

from hashlib import sha1
from typing import NamedTuple

from schemas.binary import (
    TIME_BYTES,
    read_long,
    skip_text,
    usual_ms,
    write_length,
    write_long,
    write_text,
    write_time,
)
from schemas.codec import HEADER_BYTES, decode, header
from schemas.ids import NAMESPACE
from schemas.records.room_events import RoomEvent
from schemas.records.zoom_events import ZoomEvent
from schemas.rooms.entry import Identity
from zoom.times import ms_of

_ABSENT, _PRESENT = 0, 2
"""Avro's marks of the branches of `["null", ...]`."""
_NOT_SHORT = 0x81
"""In the first byte of a length: there is another one, or it is negative."""


class Heard(NamedTuple):
    """A `ZoomEvent`, times in milliseconds, the body unparsed."""

    event_id: str
    account_id: str
    zoom_id: str | None
    name: str
    happened: int | None
    received: int
    source: str
    body: bytes
    cause: bytes
    """How each `RoomEvent` that follows from it names it: its fields from `cause_id` to `happened_at`, as bytes."""


def read_heard(value: bytes) -> Heard:
    """The event in the value of a record.

    Raises:
        DecodeError: these bytes are no `ZoomEvent`.
    """
    try:
        heard = _usual(value) if value.startswith(header(ZoomEvent)) else None
    except (IndexError, ValueError):  # not a usual one, or a damaged one: the codec tells
        heard = None
    return _of_record(decode(value, ZoomEvent)) if heard is None else heard


def room_event(heard: Heard, revised: bytes, identity: Identity, outcome: str, entry: bytes) -> bytes:
    """The `RoomEvent` about one entry, in single-object encoding; `revised` is `revision_bytes` of the record."""
    return b"".join(
        (
            header(RoomEvent),
            b"\x48",  # 36 characters
            _output_id(heard.event_id, identity.name_part),
            heard.cause,
            revised,
            _OUTCOMES[outcome],
            identity.tail,
            write_length(len(entry)),
            entry,
        )
    )


def revision_bytes(generation: int, offset: int) -> bytes:
    """The revision of all that follows from one record."""
    return write_long(generation) + write_long(offset)


def _usual(value: bytes) -> Heard | None:
    """The event, if its texts are short and nothing is absent but the request's id, as in nearly all; else None.

    Lengths are read first, one byte each: with a bit of `_NOT_SHORT` it is none of these.
    """
    account_from = HEADER_BYTES + 1 + (value[HEADER_BYTES] >> 1)
    zoom_from = account_from + 1 + (value[account_from] >> 1)
    name_from = zoom_from + 2 + (value[zoom_from + 1] >> 1)
    happened_from = name_from + 1 + (value[name_from] >> 1)
    received_from = happened_from + 1 + TIME_BYTES
    source_from = received_from + TIME_BYTES
    request_from = source_from + 1 + (value[source_from] >> 1)
    sizes = value[HEADER_BYTES] | value[account_from] | value[zoom_from + 1] | value[name_from] | value[source_from]
    happened = usual_ms(value[happened_from + 1 : received_from])
    received = usual_ms(value[received_from:source_from])
    if sizes & _NOT_SHORT or value[zoom_from] != _PRESENT or value[happened_from] != _PRESENT:
        return None
    if happened is None or received is None:
        return None
    if value[request_from] not in (_ABSENT, _PRESENT):
        return None
    present = value[request_from] == _PRESENT
    length, body_from = read_long(value, skip_text(value, request_from + 1) if present else request_from + 1)
    if length != len(value) - body_from:
        return None
    return Heard(
        value[HEADER_BYTES + 1 : account_from].decode(),
        value[account_from + 1 : zoom_from].decode(),
        value[zoom_from + 2 : name_from].decode(),
        value[name_from + 1 : happened_from].decode(),
        happened,
        received,
        value[source_from + 1 : request_from].decode(),
        value[body_from:],
        value[HEADER_BYTES:zoom_from] + value[zoom_from + 1 : received_from],
    )


def _output_id(event_id: str, name_part: bytes) -> bytes:
    """`schemas.ids.output_id_for(event_id, key)`."""
    named = _OUTPUT_PREFIX + f"{len(event_id)}:{event_id}".encode() + name_part
    text = sha1(named, usedforsecurity=False).hexdigest()
    return f"{text[:8]}-{text[8:12]}-5{text[13:16]}-{_VARIANT[text[16]]}{text[17:20]}-{text[20:32]}".encode()


def _of_record(event: ZoomEvent) -> Heard:
    happened = None if event.happened_at is None else ms_of(event.happened_at)
    zoom = _account_room(event.account_id) if event.zoom_id is None else write_text(event.zoom_id)
    cause = (
        write_text(event.event_id),
        write_text(event.account_id),
        zoom,
        write_text(event.name),
        b"\0" if event.happened_at is None else b"\2" + write_time(event.happened_at),
    )
    return Heard(
        event_id=event.event_id,
        account_id=event.account_id,
        zoom_id=event.zoom_id,
        name=event.name,
        happened=happened,
        received=ms_of(event.received_at),
        source=event.source,
        body=event.body.encode(),
        cause=b"".join(cause),
    )


def _account_room(account_id: str) -> bytes:
    return write_text(f"account:{account_id}")


_OUTPUT_PREFIX = NAMESPACE.bytes + b"6:output"
_VARIANT = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}
"""The variant bits of a UUID over the digit that holds them."""
_OUTCOMES = {outcome: write_text(outcome) for outcome in ("applied", "overtaken", "repeated")}
