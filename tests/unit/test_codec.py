"""The codec's refusals, one by one."""

from __future__ import annotations

import pytest

from schemas.catalogue import RECORDS
from schemas.codec import MARKER, decode, encode, load, name_and_text
from schemas.errors import BadMessage, DecodeError
from schemas.records.meeting_commands import CancelMeeting, CreateMeeting
from schemas.records.tables import Revised

VALUE = encode(Revised(generation=0, revision=7, entry=b"entry"))


def test_an_unknown_fingerprint_is_named() -> None:
    """A record of a schema that nobody here knows is refused with its fingerprint, since a newer writer may be the cause."""
    with pytest.raises(DecodeError, match="0102030405060708"):
        decode(MARKER + bytes(range(1, 9)) + VALUE[10:], Revised)


def test_another_record_is_refused_by_name() -> None:
    """A sound record in the wrong place is named, beside what belongs there."""
    with pytest.raises(DecodeError, match="holds a Revised where CreateMeeting or CancelMeeting belongs"):
        decode(VALUE, CreateMeeting, CancelMeeting)


@pytest.mark.parametrize(
    "value", [None, b"", b"\xff\x00", MARKER, b"\xc3\x02" + VALUE[2:], b'{"event": "meeting.started"}']
)
def test_what_is_not_single_object_encoding_is_refused(value: bytes | None) -> None:
    """No value, too few bytes, another marker and JSON are all the same error."""
    with pytest.raises(DecodeError, match="single-object encoding"):
        decode(value, Revised)


def test_a_length_beyond_all_bytes_is_refused_without_reserving_them() -> None:
    """A string that claims to be an exabyte long is damage, not an allocation."""
    exabyte = b"\xfe\xff\xff\xff\xff\xff\xff\xff\x1f"
    with pytest.raises(DecodeError, match="damaged Revised"):
        decode(VALUE[:12] + exabyte + b"entry", Revised)


def test_a_decode_error_is_a_bad_message() -> None:
    """Whatever cannot be decoded goes to the dead letters, by its family."""
    assert issubclass(DecodeError, BadMessage)


def test_one_record_of_several_expected_is_read() -> None:
    """A topic with several records is read with all of them named."""
    assert decode(VALUE, CreateMeeting, Revised) == Revised(generation=0, revision=7, entry=b"entry")


def test_every_fingerprint_is_its_own() -> None:
    """Two records or versions with one fingerprint could not be told apart."""
    headers = [schema.header for schema in load(name_and_text())]
    assert len(headers) == len(set(headers)) >= len(RECORDS)
