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
from functools import cache
from typing import Any

import orjson

from schemas.binary import read_bytes, read_text, read_texts, write_long, write_text, write_texts
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

_NOTHING: Mapping[str, Any] = {}
_EMPTY = b"{}"


class Entry:
    """One entry. What was not needed is not parsed; what was not changed is not written again."""

    __slots__ = (
        "_encoded",
        "_head",
        "_maxima",
        "_points",
        "_raw_maxima",
        "_raw_points",
        "_raw_registers",
        "_registers",
        "key",
    )

    def __init__(
        self,
        key: str,
        head: bytes,
        registers: Registers | None,
        raw_registers: bytes | None,
        points: Points | None,
        raw_points: bytes | None,
        maxima: Maxima | None,
        raw_maxima: bytes | None,
    ) -> None:
        """Made by `new_entry`, `with_changes` and `decode_entry`; of each part the value or its JSON must be there."""
        self.key = key
        self._head = head
        self._registers = registers
        self._raw_registers = raw_registers
        self._points = points
        self._raw_points = raw_points
        self._maxima = maxima
        self._raw_maxima = raw_maxima
        self._encoded: bytes | None = None

    @property
    def registers(self) -> Registers:
        """Register by field."""
        if self._registers is None:
            groups = orjson.loads(self._raw_registers or _EMPTY)
            self._registers = {name: (clock, value) for clock, group in groups.items() for name, value in group.items()}
        return self._registers

    @property
    def points(self) -> Points:
        """Points by set, oldest first."""
        if self._points is None:
            sets = orjson.loads(self._raw_points or _EMPTY)
            self._points = {name: tuple((ms, value) for ms, value in members) for name, members in sets.items()}
        return self._points

    @property
    def maxima(self) -> Maxima:
        """Integer by name."""
        if self._maxima is None:
            self._maxima = orjson.loads(self._raw_maxima or _EMPTY)
        return self._maxima

    def value(self, field: str) -> Any:
        """The value of a register; None where the field was never heard of."""
        register = self.registers.get(field)
        return None if register is None else register[1]

    def text(self, field: str) -> str:
        """The value of a register as text; blank where it is absent or no text."""
        value = self.value(field)
        return value if isinstance(value, str) else ""

    @property
    def identity(self) -> tuple[str, str, str, tuple[str, ...]]:
        """Account, meeting number (or `account:<id>`), kind and parts."""
        account_id, at = read_text(self._head, HEADER_BYTES)
        zoom_id, at = read_text(self._head, at)
        kind, at = read_text(self._head, at)
        return account_id, zoom_id, kind, read_texts(self._head, at)[0]

    @property
    def parts(self) -> tuple[str, ...]:
        """What identifies the entry within its room and kind."""
        return self.identity[3]

    def with_changes(self, *, registers: Registers | None, points: Points | None, maxima: Maxima | None) -> Entry:
        """This entry with other registers, points or maxima; None leaves them as they are."""
        return Entry(
            self.key,
            self._head,
            *((self._registers, self._raw_registers) if registers is None else (registers, None)),
            *((self._points, self._raw_points) if points is None else (points, None)),
            *((self._maxima, self._raw_maxima) if maxima is None else (maxima, None)),
        )

    def encode(self) -> bytes:
        """Single-object encoding of the `RoomEntry`."""
        if self._encoded is None:
            registers = self._raw_registers
            if registers is None:
                registers = self._raw_registers = _write_registers(self.registers)
            points = self._raw_points
            if points is None:
                points = self._raw_points = _write(self.points)
            maxima = self._raw_maxima
            if maxima is None:
                maxima = self._raw_maxima = _write(self.maxima)
            self._encoded = b"".join(
                (
                    self._head,
                    write_long(len(registers)),
                    registers,
                    write_long(len(points)),
                    points,
                    write_long(len(maxima)),
                    maxima,
                )
            )
        return self._encoded

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


def entry_head(account_id: str, zoom_id: str, kind: str, parts: tuple[str, ...]) -> bytes:
    """How the bytes of this entry begin, whatever its state."""
    return b"".join((_header(), write_text(account_id), write_text(zoom_id), write_text(kind), write_texts(parts)))


def new_entry(
    account_id: str,
    zoom_id: str,
    kind: str = "room",
    parts: tuple[str, ...] = (),
    *,
    registers: Registers = _NOTHING,
    points: Points = _NOTHING,
    maxima: Maxima = _NOTHING,
) -> Entry:
    """An entry with this state; points must be in order."""
    head = entry_head(account_id, zoom_id, kind, parts)
    return Entry(entry_key(account_id, zoom_id, kind, parts), head, registers, None, points, None, maxima, None)


def decode_entry(value: bytes) -> Entry:
    """The entry in these bytes.

    Raises:
        DecodeError: they are no `RoomEntry`.
    """
    if not value.startswith(_header()):
        return _of_record(decode(value, RoomEntry))
    try:
        account_id, at = read_text(value, HEADER_BYTES)
        zoom_id, at = read_text(value, at)
        kind, at = read_text(value, at)
        parts, at = read_texts(value, at)
        head = value[:at]
        registers, at = read_bytes(value, at)
        points, at = read_bytes(value, at)
        maxima, at = read_bytes(value, at)
    except (IndexError, ValueError) as error:
        raise DecodeError(f"truncated or damaged RoomEntry: {type(error).__name__}") from error
    if at != len(value):
        raise DecodeError("truncated RoomEntry, or bytes after its end")
    return Entry(entry_key(account_id, zoom_id, kind, parts), head, None, registers, None, points, None, maxima)


def _of_record(record: RoomEntry) -> Entry:
    identity = (record.account_id, record.zoom_id, record.kind, record.parts)
    texts = (record.registers.encode(), record.points.encode(), record.maxima.encode())
    return Entry(entry_key(*identity), entry_head(*identity), None, texts[0], None, texts[1], None, texts[2])


def _write_registers(registers: Registers) -> bytes:
    groups: dict[str, dict[str, Any]] = {}
    for name, (clock, value) in registers.items():
        group = groups.get(clock)
        if group is None:
            groups[clock] = {name: value}
        else:
            group[name] = value
    return _write(groups)


def _write(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _escaped(part: str) -> str:
    return part.replace("%", "%25").replace("|", "%7C") if "|" in part or "%" in part else part


@cache
def _header() -> bytes:
    return header(RoomEntry)
