"""The codec, over every record and any bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.catalogue import RECORDS
from schemas.codec import HEADER_BYTES, decode, encode
from schemas.errors import DecodeError
from tests.effort import examples
from tests.record_strategies import records

few = examples(20)
every_record = pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS.keys())


@every_record
@examples(50)
@given(data=st.data())
def test_decode_is_the_inverse_of_encode(record: type, data: st.DataObject) -> None:
    """Whatever the types allow comes back equal."""
    original = data.draw(records(record))
    assert decode(encode(original), record) == original


@every_record
@examples(8)
@given(data=st.data())
def test_truncated_bytes_are_refused_at_every_length(record: type, data: st.DataObject) -> None:
    """No proper prefix of a record is taken for a record."""
    value = encode(data.draw(records(record)))
    taken = [length for length in range(len(value)) if _is_read(value[:length], record)]
    assert taken == []


@every_record
@few
@given(data=st.data(), tail=st.binary(min_size=1, max_size=20))
def test_trailing_bytes_are_refused(record: type, data: st.DataObject, tail: bytes) -> None:
    """A record with anything behind it is not a record."""
    assert not _is_read(encode(data.draw(records(record))) + tail, record)


@every_record
@few
@given(data=st.data(), noise=st.binary(max_size=80))
def test_random_bytes_raise_nothing_but_decode_errors(record: type, data: st.DataObject, noise: bytes) -> None:
    """Behind a right header any bytes either are a record or raise DecodeError; without it they always raise it."""
    header = encode(data.draw(records(record)))[:HEADER_BYTES]
    _is_read(header + noise, record)
    assert _is_read(noise, record) is noise.startswith(header)


@every_record
@few
@given(data=st.data(), place=st.integers(min_value=0), mask=st.integers(min_value=1, max_value=255))
def test_flipped_bits_raise_nothing_but_decode_errors(record: type, data: st.DataObject, place: int, mask: int) -> None:
    """A damaged record is read as another value or raises DecodeError, and never anything else."""
    value = bytearray(encode(data.draw(records(record))))
    value[place % len(value)] ^= mask
    assert _is_read(bytes(value), record) in (True, False)


def _is_read(value: bytes, record: type) -> bool:
    try:
        decode(value, record)
    except DecodeError:
        return False
    return True
