"""The pure parts of the dead-letter tools: reading any bytes, changing single values, telling times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.dlq.editing import difference, pretty, with_values
from reconciler.dlq.letters import EVERY, WAITING, Filters
from reconciler.dlq.options import moment, statuses
from reconciler.dlq.reading import HEX_BYTES, hex_lines, read, write
from schemas.catalogue import RECORDS
from schemas.codec import encode
from schemas.errors import BadMessage, Misconfigured
from tests.meeting_commands import Caller
from tests.record_strategies import records

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS.keys())
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_what_is_read_for_people_is_written_back_the_same(record: type, data: st.DataObject) -> None:
    """Decoded to plain values and encoded again, every record is byte-equal: an edit changes what it names alone."""
    value = encode(data.draw(records(record)))
    reading = read(value)
    assert (reading.kind, write(reading, reading.content)) == (record.__name__, value)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (b'{"a": 1}', "json"),
        (b"plain words", "text"),
        (b"\xff\x00", "bytes"),
        (None, "bytes"),
        (b"\xc3\x01cut", "bytes"),
    ],
)
def test_any_bytes_are_read_as_far_as_they_can_be(value: bytes | None, kind: str) -> None:
    """JSON, text, and what is neither; a damaged record is bytes."""
    assert read(value).kind == kind


def test_a_value_of_a_record_is_changed_by_its_path() -> None:
    """One field deep inside is changed and the rest stays."""
    reading = read(encode(Caller().create()))
    changed = with_values(reading.content, ["details.topic=Other topic", "details.duration_minutes=45"])
    again = read(write(reading, changed)).content
    assert (again["details"]["topic"], again["details"]["duration_minutes"]) == ("Other topic", 45)
    assert again["command_id"] == reading.content["command_id"]


@pytest.mark.parametrize(
    ("assignment", "says"),
    [
        ("details.duration_minutes=long", "duration_minutes: must be of type int"),
        ("issued_at=2026-03-10T10:00:00", "issued_at: needs an offset from UTC"),
        ("request_hash=not base64!", "request_hash"),
        ("colour=red", "colour: there is no such field"),
        ("details=nothing", "details: must be an object"),
    ],
)
def test_what_does_not_fit_the_record_names_the_field(assignment: str, says: str) -> None:
    """A mistake is told before anything is sent."""
    reading = read(encode(Caller().create()))
    with pytest.raises(BadMessage, match=says):
        write(reading, with_values(reading.content, [assignment]))


@pytest.mark.parametrize("assignment", ["no equals sign", "=value", "a.b.c=1", "list.7=1", "list.x=1", "text.more=1"])
def test_a_path_that_leads_nowhere_is_refused(assignment: str) -> None:
    """Nothing is made up on the way to a value."""
    with pytest.raises(Misconfigured, match="--set"):
        with_values({"a": {}, "list": [1], "text": "words"}, [assignment])


def test_the_original_is_not_touched() -> None:
    """Changes are made to a copy, so that the difference can be shown."""
    original = {"list": [1, 2]}
    changed = with_values(original, ["list.1=5"])
    told = difference(pretty(original), pretty(changed))
    assert (original, changed) == ({"list": [1, 2]}, {"list": [1, 5]})
    assert "-    2\n" in told
    assert "+    5\n" in told


def test_bytes_are_shown_bounded() -> None:
    """A large message shows its beginning, and says how much more there is."""
    lines = list(hex_lines(b"A" * (HEX_BYTES + 100)))
    assert lines[0].startswith("00000000  41 41")
    assert lines[-1] == "... 100 bytes more"


@pytest.mark.parametrize(
    ("text", "at"),
    [
        (None, None),
        ("30m", NOON - timedelta(minutes=30)),
        ("7d", NOON - timedelta(days=7)),
        ("2026-03-01T10:00", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("2026-03-01T10:00+02:00", datetime(2026, 3, 1, 8, tzinfo=UTC)),
    ],
)
def test_times_may_be_moments_or_ages(text: str | None, at: datetime | None) -> None:
    """Without an offset a moment is UTC."""
    assert moment(text, now=NOON) == at


def test_a_time_that_is_none_is_refused() -> None:
    """The message shows what a time looks like."""
    with pytest.raises(Misconfigured, match="30m, 12h, 7d"):
        moment("yesterday", now=NOON)


def test_statuses_have_names_for_groups() -> None:
    """What waits, all, or one; anything else is refused."""
    assert (statuses("waiting"), statuses("all"), statuses("held")) == (WAITING, EVERY, ("held",))
    with pytest.raises(Misconfigured, match="--status lost"):
        statuses("lost")


def test_equal_filters_have_one_text() -> None:
    """A job is found again by its filters, in whatever order they were given."""
    assert Filters(stage="a", key="b").json == Filters(key="b", stage="a").json == '{"key":"b","stage":"a"}'
    assert str(Filters()) == "all"
