"""Avro's binary encoding without a schema walk: what records of today's versions are written and read with.

The bytes are those that fastavro writes under the same schema; a property test holds it. Fields are texts, bytes,
integers, booleans, times, records, arrays of these, or an optional one of these. Source: Apache Avro specification
1.12, "Binary encoding".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

R = TypeVar("R")
Write = Callable[[Any], bytes]
Read = Callable[[bytes, int], tuple[Any, int]]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIME_BYTES = 6
"""Of milliseconds from 1970 to 2039, as Avro writes them."""
_LONG_BITS = 70
"""Of the ten bytes that the longest long has, seven of each."""


def write_long(number: int) -> bytes:
    """Zig-zag, then seven bits a byte, the lowest first."""
    rest = (number << 1) ^ (number >> 63)
    if rest < 0x80:
        return _SMALL[rest]
    if rest < 0x4000:
        return bytes((rest & 0x7F | 0x80, rest >> 7))
    if rest < 0x200000:
        return bytes((rest & 0x7F | 0x80, rest >> 7 & 0x7F | 0x80, rest >> 14))
    if 0x8_0000_0000 <= rest < 0x400_0000_0000:  # six bytes: milliseconds from 1970 to 2039
        high = rest >> 28
        return bytes(
            (
                rest & 0x7F | 0x80,
                rest >> 7 & 0x7F | 0x80,
                rest >> 14 & 0x7F | 0x80,
                rest >> 21 & 0x7F | 0x80,
                high & 0x7F | 0x80,
                high >> 7,
            )
        )
    if rest >> 64:
        raise ValueError(f"{number} does not fit into 64 bits")
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


write_length = lru_cache(maxsize=1 << 12)(write_long)
"""The same for lengths, which come again and again."""


def read_long(value: bytes, at: int) -> tuple[int, int]:
    """The long that starts at `at`, and where it ends.

    Raises:
        IndexError: truncated.
        ValueError: it has more than 64 bits; bytes that go on and on are not read to their end.
    """
    byte = value[at]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), at + 1
    number = byte & 0x7F
    shift = 7
    while byte > 0x7F and shift < _LONG_BITS:
        at += 1
        byte = value[at]
        number |= (byte & 0x7F) << shift
        shift += 7
    if byte > 0x7F or number >> 64:
        raise ValueError("more than 64 bits")
    return (number >> 1) ^ -(number & 1), at + 1


def read_ms(value: bytes, at: int) -> tuple[int, int]:
    """A long that is a time in milliseconds, as `read_long` reads it: of a thousand events a second many share one."""
    number = usual_ms(value[at : at + TIME_BYTES])
    return read_long(value, at) if number is None else (number, at + TIME_BYTES)


@lru_cache(maxsize=1 << 12)
def usual_ms(raw: bytes) -> int | None:
    """The long that these six bytes are; None when they are part of a shorter or longer one, or fewer."""
    if len(raw) < TIME_BYTES or raw[-1] > 0x7F:
        return None
    number, end = read_long(raw, 0)
    return number if end == TIME_BYTES else None


def write_text(text: str) -> bytes:
    """Length and UTF-8."""
    raw = text.encode()
    size = len(raw)
    return (_SMALL[size << 1] if size < 0x40 else write_long(size)) + raw


def read_text(value: bytes, at: int) -> tuple[str, int]:
    """The text that starts at `at`, and where it ends, which is past the end of a truncated `value`."""
    twice = value[at]
    if twice < 0x80 and not twice & 1:
        end = at + 1 + (twice >> 1)
        return value[at + 1 : end].decode(), end
    raw, end = read_bytes(value, at)
    return raw.decode(), end


def skip_text(value: bytes, at: int) -> int:
    """Where the text, or the bytes, end that start at `at`."""
    twice = value[at]
    if twice < 0x80 and not twice & 1:
        return at + 1 + (twice >> 1)
    length, at = read_long(value, at)
    if length < 0:
        raise ValueError("negative length")
    return at + length


def write_bytes(raw: bytes) -> bytes:
    """Length and bytes."""
    return write_long(len(raw)) + raw


def read_bytes(value: bytes, at: int) -> tuple[bytes, int]:
    """The bytes that start at `at`, and where they end, which is past the end of a truncated `value`."""
    twice = value[at]
    if twice < 0x80 and not twice & 1:
        at += 1
        end = at + (twice >> 1)
    else:
        length, at = read_long(value, at)
        if length < 0:
            raise ValueError("negative length")
        end = at + length
    return value[at:end], end


def write_time(at: datetime) -> bytes:
    """Milliseconds since the epoch of an aware time."""
    since = at - _EPOCH
    return write_long(since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000)


def read_time(value: bytes, at: int) -> tuple[datetime, int]:
    """The time that starts at `at`, aware UTC, and where it ends."""
    ms, at = read_ms(value, at)
    return _EPOCH + timedelta(milliseconds=ms), at


class Coder(Generic[R]):
    """Writer and reader of one record."""

    def __init__(self, record: type[R]) -> None:
        """Raises KeyError for a field of another type than those above."""
        hints = get_type_hints(record)
        names = [each.name for each in fields(record)]  # type: ignore[arg-type]  # records are dataclasses
        coders = [_coders(hints[name]) for name in names]
        self.name = record.__name__
        self._record = record
        self._names = names
        self._values: Callable[[R], tuple[Any, ...]] = attrgetter(*names)
        self._writers = [write for write, _ in coders]
        self._readers = [read for _, read in coders]

    def encode(self, record: R) -> bytes:
        """The record's body.

        Raises:
            ValueError: a field holds what its schema cannot.
        """
        try:
            return b"".join([write(value) for write, value in zip(self._writers, self._values(record), strict=True)])
        except (AttributeError, TypeError) as error:
            raise ValueError(f"a {self.name} holds what its schema cannot: {error}") from error

    def decode(self, value: bytes, at: int) -> tuple[R, int]:
        """The record whose body starts at `at`, and where it ends; past the end of a truncated `value`.

        Raises:
            IndexError, ValueError, OverflowError: truncated or damaged.
        """
        plain = {}
        for name, read in zip(self._names, self._readers, strict=True):
            plain[name], at = read(value, at)
        return self._record(**plain), at


def _write_boolean(flag: bool) -> bytes:
    return b"\1" if flag else b"\0"


def _read_boolean(value: bytes, at: int) -> tuple[bool, int]:
    if value[at] > 1:
        raise ValueError("neither true nor false")
    return value[at] == 1, at + 1


@cache
def coder_of(record: type[R]) -> Coder[R]:
    """The one writer and reader of these records."""
    return Coder(record)


def _coders(hint: Any) -> tuple[Write, Read]:
    if get_origin(hint) is UnionType:
        return _optional(*_coders(next(each for each in get_args(hint) if each is not NoneType)))
    if get_origin(hint) is tuple:
        return _array(*_coders(get_args(hint)[0]))
    if is_dataclass(hint):
        nested: Coder[Any] = coder_of(hint)  # type: ignore[arg-type]  # a hint is a class, no instance of one
        return nested.encode, nested.decode
    return _CODERS[hint]


def _array(write: Write, read: Read) -> tuple[Write, Read]:
    def write_array(values: tuple[Any, ...]) -> bytes:
        """In one block."""
        if not values:
            return b"\0"
        return b"".join((write_long(len(values)), *map(write, values), b"\0"))

    def read_array(value: bytes, at: int) -> tuple[tuple[Any, ...], int]:
        """In however many blocks."""
        if value[at] == 0:
            return (), at + 1
        found: list[Any] = []
        count, at = read_long(value, at)
        while count:
            if count < 0:  # a block that also says its size
                _, at = read_long(value, at)
            for _ in range(abs(count)):
                one, at = read(value, at)
                found.append(one)
            count, at = read_long(value, at)
        return tuple(found), at

    return write_array, read_array


def _optional(write: Write, read: Read) -> tuple[Write, Read]:
    def write_optional(value: Any) -> bytes:
        return b"\0" if value is None else b"\2" + write(value)

    def read_optional(value: bytes, at: int) -> tuple[Any, int]:
        branch = value[at]
        if branch == 0:
            return None, at + 1
        if branch != 2:
            raise ValueError("no such branch")
        return read(value, at + 1)

    return write_optional, read_optional


_SMALL = tuple(bytes((number,)) for number in range(0x80))
_CODERS: dict[Any, tuple[Write, Read]] = {
    str: (write_text, read_text),
    bytes: (write_bytes, read_bytes),
    int: (write_long, read_long),
    bool: (_write_boolean, _read_boolean),
    datetime: (write_time, read_time),
}
write_texts, read_texts = _array(write_text, read_text)
"""An array of texts: in one block, and in however many."""
