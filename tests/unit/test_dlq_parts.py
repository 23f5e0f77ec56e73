"""The pure parts of the dead-letter tools: reading any bytes, changing single values, telling times."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from io import BytesIO
from itertools import chain
from typing import Any
from uuid import UUID

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from reconciler.dlq.choosing import Choice
from reconciler.dlq.editing import difference, pretty, with_values
from reconciler.dlq.letters import EVERY, WAITING, Filters, Letter
from reconciler.dlq.options import moment, statuses
from reconciler.dlq.output import show_letters
from reconciler.dlq.reading import HEX_BYTES, hex_lines, read, write
from reconciler.dlq.sending import Content, Packing
from reconciler.dlq.transfer import BATCH_BYTES, BATCH_LINES, LINE_BYTES, bounded, parts
from runtime.cipher import SEALED_HEADER, SEALED_WITH, Cipher, new_key
from runtime.clock import SystemClock
from runtime.kafka.config import MESSAGE_MAX_BYTES
from runtime.settings import SecuritySettings, Settings
from runtime.topics import ZOOM_EVENTS
from runtime.topics import load as load_topics
from runtime.unreadable_bodies import ACCOUNT_HEADER
from schemas.catalogue import RECORDS
from schemas.codec import encode
from schemas.dead_letters import Origin, dead_letter_headers, parse_dead_letter
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
    some = Filters(since=NOON, partition=3, key="91000000001")
    assert Filters.from_json(some.json) == some


def test_every_filter_is_an_option() -> None:
    """Whatever the ledger can filter by can be asked for, and times and ids are looked at before anything else is."""
    assert {each.name for each in fields(Choice)} == {each.name for each in fields(Filters)}
    assert Choice(since="1h", key="91000000001").filters(NOON) == Filters(
        since=NOON - timedelta(hours=1), key="91000000001"
    )
    with pytest.raises(Misconfigured, match="4711: not the id of a dead letter"):
        Choice(letter_id="4711").filters(NOON)


def test_many_are_taken_in_parts_that_fit_into_memory() -> None:
    """A part ends by number or by bytes; what is too large for any goes alone."""
    sizes = [BATCH_BYTES + 1, 5, BATCH_BYTES - 5, 1, *[0] * BATCH_LINES]
    assert [len(part) for part in parts(sizes, size=int)] == [1, 2, BATCH_LINES, 1]
    assert list(chain.from_iterable(parts(sizes, size=int))) == sizes


def test_a_line_that_no_export_wrote_is_refused_by_its_number() -> None:
    """A file without line ends is not read whole."""
    assert list(bounded(BytesIO(b"one\ntwo"))) == [(1, b"one\n"), (2, b"two")]
    with pytest.raises(BadMessage, match="line 2: more than"):
        list(bounded(BytesIO(b"one\n" + bytes(LINE_BYTES + 1))))


def test_a_message_too_large_for_its_topic_is_refused_alone() -> None:
    """What the broker would not take is known before it is sent with others."""
    packing = Packing(Settings(), catalogue=load_topics(), job="big", clock=SystemClock())
    usual = Content(topic=ZOOM_EVENTS, partition=0, sealed=False, key=b"91000000001", value=b"", headers=())
    assert packing.pack(usual._replace(value=bytes(MESSAGE_MAX_BYTES))).key == b"91000000001"
    with pytest.raises(BadMessage, match="1000001 bytes"):
        packing.pack(usual._replace(value=bytes(MESSAGE_MAX_BYTES + 1)))


def test_a_sealed_body_too_large_as_an_event_goes_to_the_dead_letters_again() -> None:
    """A number may be thrice as long in a record as in the body, and what the broker refuses would stop all that follow."""
    numbers = b",".join([b"1e15"] * 70_000)
    body = b'{"event": "meeting.started", "event_ts": 1773136800000, "payload": {"account_id": "acc", "object": '
    body += b'{"id": 91000000001, "uuid": "u/1=="}, "numbers": [' + numbers + b"]}}"
    keys = [SecretStr(new_key())]
    origin = Origin(topic=ZOOM_EVENTS, partition=-1, offset=-1, timestamp_ms=1_773_136_800_000)
    own = [(SEALED_HEADER, SEALED_WITH), (ACCOUNT_HEADER, b"acc")]
    error = BadMessage("too large")
    headers = dead_letter_headers(origin=origin, stage="ingress", error=error, failed_at=NOON, previous=own)
    content = Content(
        topic=ZOOM_EVENTS, partition=-1, sealed=True, key=b"acc", value=Cipher(keys).seal(body), headers=headers
    )
    packing = Packing(
        Settings(security=SecuritySettings(encryption_keys=keys)),
        catalogue=load_topics(),
        job="big",
        clock=SystemClock(),
    )
    parcel = packing.pack(content)
    assert (parcel.returned, parcel.value) == (True, content.value)
    assert parse_dead_letter(parcel.headers).failure.attempt == 2


def test_a_long_list_on_a_terminal_is_shown_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Table after table, each with whole ids; in a pipe a line of JSON each."""
    letters = [_letter(number) for number in range(1_001)]
    show_letters(letters, as_json=False)
    piped = capsys.readouterr().out
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    show_letters(letters, as_json=False)
    shown = capsys.readouterr().out
    assert [orjson.loads(line)["letter_id"] for line in piped.splitlines()] == [str(each.letter_id) for each in letters]
    assert all(str(each.letter_id) in shown for each in letters)
    assert shown.count("┏") == 3


def _letter(number: int) -> Letter:
    values: dict[str, Any] = dict.fromkeys(each.name for each in fields(Letter))
    place = {"letter_id": UUID(int=number), "topic": ZOOM_EVENTS, "partition": 0, "at_offset": number}
    why = {"stage": "streams.rooms", "error_class": "BadMessage", "error_message": "missing", "failed_at": NOON}
    return Letter(**(values | place | why | {"attempt": 1, "status": "open"}))
