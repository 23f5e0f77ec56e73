"""The engine's own bytes of `Revised`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.codec import decode, encode
from schemas.errors import DecodeError
from schemas.records.tables import Revised
from streams.engine.revised import pack, unpack

LONGS = st.integers(min_value=-(2**63), max_value=2**63 - 1)


@given(generation=LONGS, revision=LONGS, entry=st.binary(max_size=400))
def test_bytes_are_those_of_the_codec(generation: int, revision: int, entry: bytes) -> None:
    """What is packed by hand is what the codec writes, and is read back by both."""
    packed = pack(generation=generation, revision=revision, entry=entry)
    record = Revised(generation=generation, revision=revision, entry=entry)
    assert packed == encode(record)
    assert decode(packed, Revised) == record
    assert unpack(packed) == (generation, revision, entry)


@given(entry=st.binary(max_size=100), cut=st.integers(min_value=0, max_value=120), more=st.binary(max_size=3))
def test_other_bytes_are_refused(entry: bytes, cut: int, more: bytes) -> None:
    """Truncated or lengthened bytes raise DecodeError, and nothing else."""
    packed = pack(generation=3, revision=70_000, entry=entry)
    damaged = packed[:cut] + more
    if damaged != packed:
        with pytest.raises(DecodeError):
            unpack(damaged)
