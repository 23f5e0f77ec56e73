"""`Revised` to bytes and back, by hand: it wraps every entry of every transaction.

The bytes are those of `schemas.codec`; a test holds it. What is not today's version goes through the codec.
"""

from __future__ import annotations

from schemas.binary import read_long, write_length, write_long
from schemas.codec import HEADER_BYTES, decode, header
from schemas.errors import DecodeError
from schemas.records.tables import Revised


def pack(*, generation: int, revision: int, entry: bytes) -> bytes:
    """The bytes of `Revised(generation, revision, entry)`."""
    return b"".join((header(Revised), write_long(generation), write_long(revision), write_length(len(entry)), entry))


def unpack(value: bytes) -> tuple[int, int, bytes]:
    """Generation, revision and entry of what `pack` made.

    Raises:
        DecodeError: these bytes are no `Revised`.
    """
    if not value.startswith(header(Revised)):
        old = decode(value, Revised)
        return old.generation, old.revision, old.entry
    try:
        generation, at = read_long(value, HEADER_BYTES)
        revision, at = read_long(value, at)
        length, at = read_long(value, at)
    except (IndexError, ValueError) as error:
        raise DecodeError(f"truncated or damaged Revised: {type(error).__name__}") from error
    if length != len(value) - at:
        raise DecodeError(f"a Revised whose entry should have {length} bytes has {len(value) - at}")
    return generation, revision, value[at:]
