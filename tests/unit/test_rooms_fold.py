"""The fold of rooms, fact by fact."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from schemas.codec import HEADER_BYTES, encode
from schemas.errors import BadMessage, DecodeError
from schemas.rooms.connections import read_connection
from schemas.rooms.entry import decode_entry, entry_key
from streams.fold import Input
from streams.rooms import wire
from tests import samples
from tests.rooms import (
    ACCOUNT,
    FOLD,
    U1,
    M,
    Rooms,
    at,
    body,
    folded,
    heard,
    iso,
    ms,
    nothing,
    observed,
    person,
    record,
    updated,
)


@pytest.mark.parametrize("file", samples.event_files(), ids=lambda file: file.stem)
def test_every_sample_folds_into_its_own_room(file: Path) -> None:
    """No sample is a bad message; each answers for its entries: one to three, but for lists, all of its own room."""
    event = heard(samples.read(file), received=864_000 * 40)
    answer = folded(event)
    assert answer.outcome == "applied"
    assert len(answer.outputs) == len(answer.entries) >= 1
    lists = {"occurrence", "recording"}
    assert sum(entry.identity.kind not in lists for entry in answer.entries.values()) <= 3
    assert {entry.identity.zoom_id for entry in answer.entries.values()} == {event.zoom_id or f"account:{ACCOUNT}"}


def test_a_participants_event_touches_its_connection_alone() -> None:
    """Events that come by the hundred are one entry and one output each."""
    assert list(folded(person("joined", 5, "1")).entries) == [entry_key(ACCOUNT, M, "connection", (U1, "1"))]


def test_outcomes_tell_new_from_old_from_known() -> None:
    """New facts are applied, the same again is repeated, an older one is overtaken; each answers with the entry as it is."""
    rooms = Rooms([updated(10, topic="new")])
    rooms.hear(updated(10, topic="new"))
    [answer] = rooms.hear(updated(5, topic="old"))
    assert rooms.outcomes == ["applied", "repeated", "overtaken"]
    assert (answer.outcome, answer.entry) == ("overtaken", rooms.entries[answer.entry_key].encode())


def test_a_record_under_another_key_is_a_bad_message() -> None:
    """A room under two keys would be folded on two partitions."""
    wrong = record(person("joined", 5, "1"))._replace(key="92000000002")
    with pytest.raises(BadMessage, match="key"):
        FOLD.fold(wrong, nothing, generation=0)


@pytest.mark.parametrize("cut", [0, 5, HEADER_BYTES, HEADER_BYTES + 3, 60, 200, -1])
def test_a_damaged_record_is_a_bad_message(cut: int) -> None:
    """Truncated anywhere, or with bytes behind it."""
    whole = record(person("joined", 5, "1"))
    for value in (whole.value[:cut], whole.value + b"x"):
        with pytest.raises(DecodeError):
            FOLD.fold(whole._replace(value=value), nothing, generation=0)


@pytest.mark.parametrize("mark", [1, 4, 0x80])
def test_a_record_with_a_branch_that_there_is_not_is_a_bad_message(mark: int) -> None:
    """The last optional field is only passed over, and what is damaged there is damaged."""
    whole = record(replace(heard(person("joined", 5, "1")), request_id=None, body="{}"))
    value = whole.value[:-4] + bytes((mark,)) + whole.value[-3:]
    with pytest.raises(DecodeError):
        FOLD.fold(whole._replace(value=value), nothing, generation=0)


@pytest.mark.parametrize("text", ["", "{", "[]", "5"])
def test_a_body_that_is_no_object_is_a_bad_message(text: str) -> None:
    """Whoever wrote it: the fold trusts no producer."""
    event = replace(heard(person("joined", 5, "1")), body=text)
    with pytest.raises(BadMessage, match="body"):
        folded(event)


def test_an_endless_identifier_is_a_bad_message() -> None:
    """Keys have bounds; the field is named."""
    with pytest.raises(BadMessage, match="user_id"):
        folded(person("joined", 5, "9" * 256))


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"zoom_id": None},
        {"happened_at": None},
        {"happened_at": datetime(1970, 1, 1, tzinfo=UTC)},
        {"request_id": None},
        {"request_id": "r" * 100},
        {"event_id": "e" * 64, "body": "{}"},
        {"account_id": "a" * 70},
        {"name": "ü" * 32},
        {"source": "webhook_logs" * 9},
        {"body": '{"payload":{"object":{"topic":"' + "x" * 20_000 + '"}}}'},
    ],
)
def test_records_read_by_hand_are_those_that_the_codec_reads(
    other: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The quick way and the codec's, which old versions and long texts take, see the same event."""
    value = encode(replace(heard(person("joined", 5, "1")), **other))
    quick = wire.read_heard(value)
    monkeypatch.setattr(wire, "header", lambda _: b"another version")
    assert wire.read_heard(value) == quick


def test_nearly_all_records_are_read_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Zoom sends takes the quick way."""
    monkeypatch.setattr(wire, "decode", None)
    events = [heard(samples.read(file), received=864_000 * 40) for file in samples.event_files()]
    assert [wire.read_heard(encode(event)).name for event in events if event.zoom_id and event.happened_at]


def test_an_event_without_a_number_is_kept_for_its_account() -> None:
    """`app_deauthorized` belongs to no room."""
    rooms = Rooms([heard(samples.webhook("app_deauthorized"), received=864_000 * 40)])
    [entry] = rooms.entries.values()
    assert (entry.identity.kind, entry.identity.zoom_id) == ("fact", f"account:{ACCOUNT}")


@pytest.mark.parametrize("name", ["meeting.started", "meeting.participant_joined", "recording.completed"])
def test_an_event_of_a_run_without_uuid_is_kept_as_a_fact(name: str) -> None:
    """Nothing to hold it, so it is held as it is."""
    assert [entry.identity.kind for entry in folded(body(name, 5, uuid=None)).entries.values()] == ["fact"]


def test_parts_of_keys_cannot_run_into_each_other() -> None:
    """A bar inside a part is no boundary."""
    assert entry_key("a", "1", "connection", ("u|1", "2")) != entry_key("a", "1", "connection", ("u", "1|2"))


def test_recordings_are_files_of_their_run() -> None:
    """Start and stop are points of the run, each file an entry; what is completed stays so."""
    file = {
        "id": "f1",
        "meeting_id": U1,
        "file_type": "MP4",
        "status": "completed",
        "download_url": "https://example.com/secret",
    }
    rooms = Rooms(
        [
            body("recording.started", 10, recording_file={"recording_start": iso(9), "recording_end": ""}),
            body("recording.stopped", 60, recording_file={"recording_start": iso(9), "recording_end": iso(59)}),
            body(
                "recording.completed",
                900,
                recording_files=[file, {**file, "id": "f2"}],
                share_url="https://example.com/s",
            ),
        ]
    )
    [run] = rooms.of_kind("instance")
    assert run.points["recording"] == ((ms(9), "started"), (ms(59), "stopped"))
    assert (run.text("share_url"), len(rooms.of_kind("recording"))) == ("https://example.com/s", 2)
    assert "completed" in rooms.of_kind("recording")[0].maxima


def test_alerts_and_sharing_are_points() -> None:
    """What went wrong in a run, and who shared what."""
    sharing = {"user_id": "1", "sharing_details": {"content": "desktop", "date_time": iso(20)}}
    rooms = Rooms(
        [
            body("meeting.alert", 15, issues=["High CPU occupation", "Call Reconnection"]),
            body("meeting.sharing_started", 21, participant=sharing),
        ]
    )
    [run], [connection] = rooms.of_kind("instance"), rooms.of_kind("connection")
    assert [issue for _, issue in run.points["alerts"]] == ["Call Reconnection", "High CPU occupation"]
    assert connection.points["sharing_on"] == ((ms(20), "desktop"),)


def test_a_setting_that_becomes_a_branch_is_shown_as_one() -> None:
    """A leaf and leaves below it come from different times; the room can be read all the same."""
    rooms = Rooms(
        [updated(1, settings={"breakout_room": True}), updated(2, settings={"breakout_room": {"enable": True}})]
    )
    assert rooms.view().details["settings"] == {"breakout_room": {"enable": True}}


def test_last_seen_is_the_newest_webhook_about_anything() -> None:
    """Polls do not count; whatever the webhook was about does."""
    rooms = Rooms(
        [
            body("meeting.created", 0),
            person("joined", 50, "1"),
            body("meeting.hologram", 70),
            observed("meeting", 900, {}),
        ]
    )
    assert rooms.view().last_seen == ms(70)


def test_an_entry_is_parsed_only_where_it_is_needed() -> None:
    """Bytes survive a round trip untouched, and a joined entry keeps what did not change."""
    [entry] = Rooms([person("joined", 5, "1", user_name="Zoë \u2028")]).entries.values()
    again = decode_entry(entry.encode())
    assert (again.encode(), read_connection(again)) == (entry.encode(), read_connection(entry))
    with pytest.raises(DecodeError):
        decode_entry(entry.encode()[:-1])


def test_received_is_what_time_is_measured_by() -> None:
    """A replay of an old event is judged by its own receipt."""
    event = replace(heard(person("joined", 5, "1")), received_at=at(5) - timedelta(minutes=5))
    assert folded(event).outcome == "applied"
    with pytest.raises(BadMessage, match="event_ts"):
        folded(replace(event, received_at=at(5) - timedelta(minutes=5, seconds=1)))


def test_the_fold_names_its_topic_and_table() -> None:
    """The engine finds them on the class."""
    assert (FOLD.source, FOLD.table) == ("zoom-events", "rooms")
    assert isinstance(record(person("joined", 5, "1")), Input)
