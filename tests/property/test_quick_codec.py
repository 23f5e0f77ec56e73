"""The quick codec of records, beside fastavro."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from fastavro import schemaless_reader, schemaless_writer
from hypothesis import given
from hypothesis import strategies as st

from schemas.binary import coder_of, read_long, read_ms, write_long
from schemas.catalogue import RECORDS
from schemas.codec import HEADER_BYTES, Schema, encode, load, name_and_text
from schemas.mapping import from_avro, to_avro
from tests.effort import examples
from tests.record_strategies import records

each_record = pytest.mark.parametrize("name", RECORDS)


def schema(name: str) -> Schema:
    """Today's schema of a record."""
    return max((each for each in load(name_and_text()) if each.record == name), key=lambda each: each.version)


@each_record
@examples(30)
@given(data=st.data())
def test_quick_bytes_are_those_of_fastavro(name: str, data: st.DataObject) -> None:
    """What the quick writer writes, fastavro would have written."""
    record = data.draw(records(RECORDS[name]))
    out = BytesIO()
    schemaless_writer(out, schema(name).parsed, to_avro(record))
    assert encode(record)[HEADER_BYTES:] == out.getvalue()


@examples(200)
@given(number=st.integers(-(2**63), 2**63 - 1) | st.integers(2**33, 2**42), after=st.binary(max_size=8))
def test_a_time_is_read_as_any_long(number: int, after: bytes) -> None:
    """Whatever its size and whatever follows it."""
    value = b"\1" + write_long(number) + after
    assert read_ms(value, 1) == read_long(value, 1) == (number, len(value) - len(after))


@pytest.mark.parametrize("damaged", [b"\xff" * 9 + b"\x02", b"\x80" * 10 + b"\x00", b"\xff" * 100])
def test_a_number_of_more_than_64_bits_is_refused(damaged: bytes) -> None:
    """No database takes it; and bytes that go on and on as one number would hold up whoever reads them to their end."""
    with pytest.raises(ValueError, match="64 bits"):
        read_long(damaged, 0)


@each_record
@examples(30)
@given(data=st.data())
def test_quick_reading_is_that_of_fastavro(name: str, data: st.DataObject) -> None:
    """What the quick reader reads, fastavro would have read."""
    record = data.draw(records(RECORDS[name]))
    body = encode(record)[HEADER_BYTES:]
    plain: Any = schemaless_reader(BytesIO(body), schema(name).parsed, None)
    read: Any = from_avro(RECORDS[name], plain)
    assert coder_of(RECORDS[name]).decode(body, 0) == (read, len(body))


@pytest.mark.parametrize(
    ("field", "value"), [("revision", 2**63), ("revision", "7"), ("entry", "text"), ("entry", None)]
)
def test_a_value_that_the_schema_cannot_hold_is_refused(field: str, value: Any) -> None:
    """A wrong type or a number beyond 64 bits is a ValueError, never other bytes."""
    fields = {"generation": 0, "revision": 1, "entry": b"", field: value}
    with pytest.raises(ValueError, match=""):
        encode(RECORDS["Revised"](**fields))
