"""An entry of the rooms table in memory, its key, and its bytes.

Each field of an entry is one of
- a *register*: `(clock, value)`, of which the greatest clock wins. A clock is a text that sorts as its parts do;
- a *set of points*: the newest of `(milliseconds, value)`;
- a *maximum*: an integer that only rises.
An entry is a value: nobody changes one after it is made, so parts are shared between one entry and the next, and what
was parsed or written once is kept. Equal entries have equal bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson

from schemas.binary import (
    read_bytes,
    read_text,
    read_texts,
    write_bytes,
    write_length,
    write_long,
    write_text,
    write_texts,
)
from schemas.codec import HEADER_BYTES, decode, header
from schemas.errors import DecodeError
from schemas.records.room_events import RoomEntry

Register = tuple[str, Any]
"""Clock and JSON value."""
Point = tuple[int, str]
"""Milliseconds since the epoch, and what else tells it from a point of the same moment (often nothing)."""
Registers = Mapping[str, Register]
Points = Mapping[str, tuple[Point, ...]]
Maxima = Mapping[str, int]

NOTHING: Mapping[str, Any] = {}


class Identity:
    """Which entry: account, meeting number (or `account:<id>`), kind and parts, with what is always written of them."""

    __slots__ = ("account_id", "head", "key", "kind", "name_part", "parts", "tail", "zoom_id")

    def __init__(self, account_id: str, zoom_id: str, kind: str, parts: tuple[str, ...]) -> None:
        """Writes its texts once; `identify` keeps it."""
        self.account_id = account_id
        self.zoom_id = zoom_id
        self.kind = kind
        self.parts = parts
        if parts and kind != "room":
            key, head = _begin(account_id, zoom_id, kind, len(parts), parts[:-1])
            self.key = f"{key}|{_escaped(parts[-1])}"
            self.head = head + write_text(parts[-1]) + b"\0"
            """How the entry's bytes begin."""
        else:
            self.key = entry_key(account_id, zoom_id, kind)
            self.head = _head(account_id, zoom_id, kind) + write_texts(parts)
        raw = self.key.encode()
        self.tail = write_text(kind) + write_bytes(raw)
        """How a `RoomEvent` names the entry: its fields `kind` and `entry_key`."""
        self.name_part = b"%d:%b" % (len(self.key), raw)
        """The key as a part of a derived id."""


@lru_cache(maxsize=1 << 14)
def identify(account_id: str, zoom_id: str, kind: str = "room", parts: tuple[str, ...] = ()) -> Identity:
    """The identity of an entry; of the entries in use it is made once."""
    return Identity(account_id, zoom_id, kind, parts)


@lru_cache(maxsize=1 << 12)
def _begin(account_id: str, zoom_id: str, kind: str, count: int, parts: tuple[str, ...]) -> tuple[str, bytes]:
    """How key and bytes begin of all entries that differ in the last of `count` parts: of all connections of a run."""
    texts = b"".join((write_long(count), *map(write_text, parts)))
    return entry_key(account_id, zoom_id, kind, parts), _head(account_id, zoom_id, kind) + texts


def _head(account_id: str, zoom_id: str, kind: str) -> bytes:
    return b"".join((header(RoomEntry), write_text(account_id), write_text(zoom_id), write_text(kind)))


class Entry:
    """One entry. What was not needed is not parsed; what was not changed is not written again."""

    __slots__ = (
        "_encoded",
        "_maxima",
        "_points",
        "_raw_maxima",
        "_raw_points",
        "_raw_registers",
        "_registers",
        "identity",
    )

    def __init__(
        self,
        identity: Identity,
        registers: Registers | None,
        raw_registers: bytes | None,
        points: Points | None,
        raw_points: bytes | None,
        maxima: Maxima | None,
        raw_maxima: bytes | None,
    ) -> None:
        """Made by `new_entry`, `with_changes` and `decode_entry`.

        Of each part the value or its JSON must be there; the raw ones carry Avro's length before the JSON.
        """
        self.identity = identity
        self._registers = registers
        self._raw_registers = raw_registers
        self._points = points
        self._raw_points = raw_points
        self._maxima = maxima
        self._raw_maxima = raw_maxima
        self._encoded: bytes | None = None

    @property
    def key(self) -> str:
        """Key in the rooms table."""
        return self.identity.key

    @property
    def registers(self) -> Registers:
        """Register by field."""
        registers = self._registers
        if registers is None:
            groups = _parse(self._raw_registers)
            registers = {name: (clock, value) for clock, group in groups.items() for name, value in group.items()}
            self._registers = registers
        return registers

    @property
    def points(self) -> Points:
        """Points by set, oldest first."""
        points = self._points
        if points is None:
            sets = _parse(self._raw_points)
            points = {name: tuple([(ms, value) for ms, value in members]) for name, members in sets.items()}
            self._points = points
        return points

    @property
    def maxima(self) -> Maxima:
        """Integer by name."""
        maxima = self._maxima
        if maxima is None:
            maxima = self._maxima = _parse(self._raw_maxima)
        return maxima

    def value(self, field: str) -> Any:
        """The value of a register; None where the field was never heard of."""
        register = self.registers.get(field)
        return None if register is None else register[1]

    def texts(self) -> dict[str, str]:
        """The registers that hold a text which is not blank."""
        return {name: value for name, (_, value) in self.registers.items() if isinstance(value, str) and value}

    def text(self, field: str) -> str:
        """The value of a register as text; blank where it is absent or no text."""
        value = self.value(field)
        return value if isinstance(value, str) else ""

    def with_changes(self, registers: Registers | None, points: Points | None, maxima: Maxima | None) -> Entry:
        """This entry with other registers, points or maxima; None leaves them as they are."""
        return Entry(
            self.identity,
            self._registers if registers is None else registers,
            self._raw_registers if registers is None else None,
            self._points if points is None else points,
            self._raw_points if points is None else None,
            self._maxima if maxima is None else maxima,
            self._raw_maxima if maxima is None else None,
        )

    def encode(self) -> bytes:
        """Single-object encoding of the `RoomEntry`."""
        encoded = self._encoded
        if encoded is None:
            registers = self._raw_registers
            if registers is None:
                registers = self._raw_registers = _write(_grouped(self.registers))
            points = self._raw_points
            if points is None:
                points = self._raw_points = _write(self.points)
            maxima = self._raw_maxima
            if maxima is None:
                maxima = self._raw_maxima = _write(self.maxima)
            encoded = self._encoded = self.identity.head + registers + points + maxima
        return encoded

    def __eq__(self, other: object) -> bool:
        """Equal when the bytes are."""
        return isinstance(other, Entry) and self.encode() == other.encode()

    def __hash__(self) -> int:
        """That of the bytes."""
        return hash(self.encode())

    def __repr__(self) -> str:
        """Key and state, for a failed test to show."""
        return f"Entry({self.key!r}, {dict(self.registers)}, {dict(self.points)}, {dict(self.maxima)})"


def entry_key(account_id: str, zoom_id: str, kind: str = "room", parts: tuple[str, ...] = ()) -> str:
    """Key of an entry in the rooms table: account and number, then (but for the room itself) kind and parts."""
    if kind == "room":
        return f"{_escaped(account_id)}|{_escaped(zoom_id)}"
    return "|".join([_escaped(account_id), _escaped(zoom_id), kind, *map(_escaped, parts)])


def new_entry(
    identity: Identity, *, registers: Registers = NOTHING, points: Points = NOTHING, maxima: Maxima = NOTHING
) -> Entry:
    """An entry with this state; points must be in order."""
    return Entry(identity, registers, None, points, None, maxima, None)


def decode_entry(value: bytes) -> Entry:
    """The entry in these bytes.

    Raises:
        DecodeError: they are no `RoomEntry`.
    """
    if not value.startswith(header(RoomEntry)):
        return _of_record(decode(value, RoomEntry))
    try:
        account_id, at = read_text(value, HEADER_BYTES)
        zoom_id, at = read_text(value, at)
        kind, at = read_text(value, at)
        parts, registers_from = read_texts(value, at)
        _, points_from = read_bytes(value, registers_from)
        _, maxima_from = read_bytes(value, points_from)
        _, end = read_bytes(value, maxima_from)
    except (IndexError, ValueError) as error:
        raise DecodeError(f"truncated or damaged RoomEntry: {type(error).__name__}") from error
    if end != len(value):
        raise DecodeError("truncated RoomEntry, or bytes after its end")
    raw = value[registers_from:points_from], value[points_from:maxima_from], value[maxima_from:]
    return Entry(identify(account_id, zoom_id, kind, parts), None, raw[0], None, raw[1], None, raw[2])


def _of_record(record: RoomEntry) -> Entry:
    identity = identify(record.account_id, record.zoom_id, record.kind, record.parts)
    raw = [write_text(text) for text in (record.registers, record.points, record.maxima)]
    return Entry(identity, None, raw[0], None, raw[1], None, raw[2])


def _grouped(registers: Registers) -> dict[str, dict[str, Any]]:
    """Registers by clock: what came with one event shares its clock."""
    groups: dict[str, dict[str, Any]] = {}
    for name, (clock, value) in registers.items():
        group = groups.get(clock)
        if group is None:
            groups[clock] = {name: value}
        else:
            group[name] = value
    return groups


def _write(value: Any) -> bytes:
    """Canonical JSON after its length."""
    if not value:
        return _EMPTY
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    return write_length(len(text)) + text


def _parse(raw: bytes | None) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(read_bytes(raw or _EMPTY, 0)[0])
    return found


def _escaped(part: str) -> str:
    return part.replace("%", "%25").replace("|", "%7C") if "|" in part or "%" in part else part


_EMPTY = write_text("{}")
