"""The two records that pass by the hundred thousand, by hand: `ZoomEvent` in, `RoomEvent` out.

The bytes are those of `schemas.codec`; tests hold them to it. What is not today's version goes through the codec.
"""

from __future__ import annotations

from binascii import hexlify
from hashlib import sha1
from typing import NamedTuple

from schemas.binary import read_long, read_ms, read_text, skip_text, write_length, write_long, write_text, write_time
from schemas.codec import HEADER_BYTES, decode, header
from schemas.errors import DecodeError
from schemas.ids import NAMESPACE
from schemas.records.room_events import RoomEvent
from schemas.records.zoom_events import ZoomEvent
from schemas.rooms.entry import Identity
from zoom.times import ms_of

_PRESENT = 2
"""Avro's mark of the second branch of `["null", ...]`."""


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
    if not value.startswith(header(ZoomEvent)):
        return _of_record(decode(value, ZoomEvent))
    try:
        event_id, at = read_text(value, HEADER_BYTES)
        account_id, zoom_from = read_text(value, at)
        zoom_id, name_from = (
            read_text(value, zoom_from + 1) if value[zoom_from] == _PRESENT else _absent(value, zoom_from)
        )
        name, at = read_text(value, name_from)
        happened, received_from = read_ms(value, at + 1) if value[at] == _PRESENT else _absent(value, at)
        received, at = read_ms(value, received_from)
        source, at = read_text(value, at)
        at = skip_text(value, at + 1) if value[at] == _PRESENT else _absent(value, at)[1]
        length, at = read_long(value, at)
    except (IndexError, ValueError) as error:
        raise DecodeError(f"truncated or damaged ZoomEvent: {type(error).__name__}") from error
    if length != len(value) - at:
        raise DecodeError("truncated ZoomEvent, or bytes after its end")
    zoom = _account_room(account_id) if zoom_id is None else value[zoom_from + 1 : name_from]
    cause = value[HEADER_BYTES:zoom_from] + zoom + value[name_from:received_from]
    return Heard(event_id, account_id, zoom_id, name, happened, received, source, value[at:], cause)


class RoomEvents:
    """Writer of the `RoomEvent`s that follow from one record."""

    __slots__ = ("_name", "_shared")

    def __init__(self, heard: Heard, *, generation: int, revision: int) -> None:
        """`revision` is the record's offset."""
        self._shared = heard.cause + write_long(generation) + write_long(revision)
        self._name = _OUTPUT_PREFIX + f"{len(heard.event_id)}:{heard.event_id}".encode()

    def event(self, identity: Identity, outcome: str, entry: bytes) -> bytes:
        """The event about one entry, in single-object encoding."""
        return b"".join(
            (
                header(RoomEvent),
                b"\x48",  # 36 characters
                self._event_id(identity.name_part),
                self._shared,
                _OUTCOMES[outcome],
                identity.tail,
                write_length(len(entry)),
                entry,
            )
        )

    def _event_id(self, name_part: bytes) -> bytes:
        """`schemas.ids.output_id_for(cause, key)`."""
        text = hexlify(sha1(self._name + name_part, usedforsecurity=False).digest())
        parts = text[:8], text[8:12], text[13:16], _VARIANT[text[16]], text[17:20], text[20:32]
        return b"%b-%b-5%b-%b%b-%b" % parts


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


def _absent(value: bytes, at: int) -> tuple[None, int]:
    if value[at]:
        raise ValueError("no such branch")
    return None, at + 1


_OUTPUT_PREFIX = NAMESPACE.bytes + b"6:output"
_VARIANT = {digit: b"89ab"[int(chr(digit), 16) & 3 :][:1] for digit in b"0123456789abcdef"}
"""The variant bits of a UUID over the digit that holds them."""
_OUTCOMES = {outcome: write_text(outcome) for outcome in ("applied", "overtaken", "repeated")}
