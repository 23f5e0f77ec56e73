"""`Revised` to bytes and back, by hand: it wraps every entry of every transaction.

The bytes are those of `schemas.codec`; a test holds it. What is not today's version goes through the codec.
"""

from __future__ import annotations

from functools import cache

from schemas.codec import HEADER_BYTES, decode, encode
from schemas.errors import DecodeError
from schemas.records.tables import Revised


@cache
def _header() -> bytes:
    return encode(Revised(generation=0, revision=0, entry=b""))[:HEADER_BYTES]


def pack(*, generation: int, revision: int, entry: bytes) -> bytes:
    """The bytes of `Revised(generation, revision, entry)`."""
    return b"".join((_header(), _long(generation), _long(revision), _long(len(entry)), entry))


def unpack(value: bytes) -> tuple[int, int, bytes]:
    """Generation, revision and entry of what `pack` made.

    Raises:
        DecodeError: these bytes are no `Revised`.
    """
    if not value.startswith(_header()):
        old = decode(value, Revised)
        return old.generation, old.revision, old.entry
    try:
        generation, at = _read_long(value, HEADER_BYTES)
        revision, at = _read_long(value, at)
        length, at = _read_long(value, at)
    except IndexError as error:
        raise DecodeError("truncated Revised") from error
    if length != len(value) - at:
        raise DecodeError(f"a Revised whose entry should have {length} bytes has {len(value) - at}")
    return generation, revision, value[at:]


def _long(number: int) -> bytes:
    """Avro's long: zig-zag, then seven bits a byte, the lowest first."""
    rest = (number << 1) ^ (number >> 63)
    if rest < 0x80:
        return bytes((rest,))
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _read_long(value: bytes, at: int) -> tuple[int, int]:
    """The long that starts at `at`, and where it ends."""
    byte = value[at]
    number = byte & 0x7F
    shift = 7
    while byte > 0x7F:
        at += 1
        byte = value[at]
        number |= (byte & 0x7F) << shift
        shift += 7
    return (number >> 1) ^ -(number & 1), at + 1
