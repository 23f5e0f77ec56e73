"""The fold of rooms, fact by fact."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from schemas.codec import HEADER_BYTES, encode
from schemas.errors import BadMessage, DecodeError
from schemas.records.zoom_events import ZoomEvent
from schemas.rooms.connections import read_connection
from schemas.rooms.entry import Entry, decode_entry, entry_key
from streams.fold import Input
from streams.rooms import wire
from tests import samples
from tests.rooms import ACCOUNT, FOLD, HOST, U1, M, Rooms, at, body, heard, iso, ms, observed, person, record, updated
from zoom.observations import Asked, observation


def nothing(_: str) -> Entry | None:
    """An empty table."""
    return None


def folded(event: Any) -> Any:
    """What the fold makes of one event in an empty table."""
    return FOLD.fold(record(event), nothing, generation=0)


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


def polled(seconds: float, *, elapsed: float = 0.2, date: float | None = None, **answer: Any) -> ZoomEvent:
    """A GET of the room with the times of its call."""
    asked = Asked(sent_at=at(seconds), elapsed_seconds=elapsed, status=200, date=None if date is None else at(date))
    return observation(
        "meeting", account_id=ACCOUNT, zoom_id=M, asked=asked, answer=answer, received_at=at(seconds + 60)
    )


@pytest.mark.parametrize(("poll", "wins"), [(polled(104, topic="polled"), False), (polled(106, topic="polled"), True)])
def test_a_poll_counts_five_seconds_before_it_was_sent(poll: ZoomEvent, wins: bool) -> None:
    """What a lagging replica may have answered does not beat a webhook of that time."""
    rooms = Rooms([updated(100, topic="told"), poll])
    assert rooms.view().details["topic"] == ("polled" if wins else "told")


def test_a_poll_counts_by_zooms_clock_where_that_is_earlier() -> None:
    """Our clock is a minute ahead: the answer's date, less the time it took, tells when it was asked."""
    rooms = Rooms([updated(100, topic="told"), polled(170, elapsed=3, date=107, topic="polled")])
    assert rooms.view().details["topic"] == "told"


def test_a_webhook_outranks_a_poll_of_the_same_moment() -> None:
    """At equal times Zoom's own word stands."""
    events: list[Any] = [updated(100, topic="told"), polled(105, topic="polled")]
    for order in (events, events[::-1]):
        assert Rooms(order).view().details["topic"] == "told"


def test_an_echo_never_beats_the_rooms_own_word() -> None:
    """A later `started` echoes an old topic; the host it names is current."""
    events = [
        body("meeting.created", 0, topic="own", host_id="h1"),
        body("meeting.started", 9, topic="echo", host_id="h2"),
    ]
    details = Rooms(events).view().details
    assert details["topic"] == "own"
    assert Rooms(events).entries[entry_key(ACCOUNT, M)].text("host_id") == "h2"


def test_an_update_counts_as_of_its_time_stamp() -> None:
    """Two updates delivered with crossed event times are ordered by when they were made."""
    newer, older = updated(20, topic="newer"), updated(10, topic="older")
    older["event_ts"] = ms(30)
    assert Rooms([newer, older]).view().details["topic"] == "newer"


def test_a_fact_without_a_time_sorts_before_all() -> None:
    """A deletion without `event_ts` loses to anything with a time, and counts where there is nothing else."""
    untimed = body("meeting.deleted", None)
    assert Rooms([untimed]).view().existence == "deleted"
    assert Rooms([untimed, body("meeting.started", 0)]).view().existence == "exists"


@pytest.mark.parametrize(
    ("events", "start"),
    [
        ([person("joined", 9, "1", start=3), person("joined", 9, "2", start=2)], 2),
        ([person("joined", 9, "1", start=3), observed("past_instance", 50, {"start_time": iso(4)}, uuid=U1)], 4),
        (
            [
                observed("past_instance", 50, {"start_time": iso(4)}, uuid=U1),
                body("meeting.ended", 9, start_time=iso(5)),
            ],
            5,
        ),
        ([body("meeting.alert", 8, issues=["x"], start_time=iso(2)), body("meeting.ended", 9, start_time=iso(5))], 5),
        ([body("meeting.ended", 9, start_time=iso(5)), body("meeting.started", 6, start_time=iso(6))], 6),
        ([body("meeting.started", 7, start_time=iso(7)), body("meeting.started", 6, start_time=iso(6))], 6),
        ([body("meeting.started", 7, start_time="")], 7),
    ],
)
def test_a_start_is_told_best_by_started(events: list[Any], start: int) -> None:
    """Started > ended > past meeting > participant; among equals the earliest."""
    for order in (events, events[::-1]):
        assert Rooms(order).runs()[U1].started_at == ms(start)


@pytest.mark.parametrize(
    ("events", "end"),
    [
        (
            [
                body("meeting.ended", 60, end_time=iso(58)),
                observed("past_meeting", 900, {"end_time": iso(59)}, uuid=U1),
            ],
            58,
        ),
        ([body("meeting.ended", 60, end_time=iso(58)), body("meeting.ended", 61, end_time=iso(57))], 57),
        ([body("meeting.ended", 60, end_time="")], 60),
        ([observed("past_meeting", 900, {"end_time": iso(59)}, uuid=U1)], 59),
    ],
)
def test_an_end_is_told_best_by_a_webhook(events: list[Any], end: int) -> None:
    """Webhook over poll, then the later statement."""
    for order in (events, events[::-1]):
        run = Rooms(order).runs()[U1]
        assert (run.status, run.ended_at) == ("ended", ms(end))


def test_waiting_for_the_host_is_no_start() -> None:
    """Who waits before the host or in the lobby is known, and no run begins by it."""
    waiting = [person("jbh_waiting", 5, "", customer_key="k1"), person("joined_waiting_room", 6, "7")]
    rooms = Rooms(waiting)
    assert rooms.runs()[U1].status == "unknown"
    assert [each.in_lobby for each in rooms.connections()] == [True, True]
    assert rooms.attendance()[0].seconds == 0
    rooms.hear(person("jbh_joined", 9, "", customer_key="k1"))
    assert [each.in_lobby for each in rooms.connections() if each.user_id == "~customer_key:k1"] == [False]


def test_a_participant_without_a_user_id_is_held_by_the_next_name() -> None:
    """participant_uuid, registrant_id, id, customer_key, user_name, in this order; nothing at all is nobody else."""
    names: dict[str, Any] = {
        "participant_uuid": "p",
        "registrant_id": "r",
        "id": "i",
        "customer_key": "k",
        "user_name": "n",
    }
    held: list[str] = []
    while names:
        held.append(Rooms([person("joined", 5, "", **{"user_name": "", **names})]).connections()[0].user_id)
        names.pop(next(iter(names)))
    assert held == ["~participant_uuid:p", "~registrant_id:r", "~id:i", "~customer_key:k", "~user_name:n"]
    nobodies = Rooms([person("joined", 5, "", user_name=""), person("joined", 6, "", user_name="")])
    assert len(nobodies.attendance()) == 2


def test_joins_after_the_end_are_anomalies() -> None:
    """They count nothing and are shown."""
    rooms = Rooms(
        [
            person("joined", 5, "1"),
            body("meeting.ended", 60, end_time=iso(60)),
            person("joined", 70, "1"),
            person("left", 65, "2"),
        ]
    )
    found = {each.person[1]: (each.seconds, each.anomalies) for each in rooms.attendance()}
    assert found == {"1": (55, ()), "2": (0, (("left_without_join", ms(65)),))}
    late = Rooms([body("meeting.ended", 60, end_time=iso(60)), person("joined", 70, "1")])
    assert late.attendance()[0].anomalies == (("joined_after_end", ms(70)),)


def test_one_name_is_not_one_person() -> None:
    """Two guests with the same name are two people."""
    rooms = Rooms([person("joined", 5, "1", user_name="Alex"), person("joined", 6, "2", user_name="Alex")])
    assert len(rooms.attendance()) == 2


def test_a_weak_name_beside_one_stronger_is_that_person() -> None:
    """The laptop by registrant and e-mail, the phone by the same e-mail: one; with two registrants the e-mail is nobody's."""
    laptop, phone = (
        person("joined", 5, "1", registrant_id="r1", email="a@example.com"),
        person("joined", 6, "2", email="A@example.com"),
    )
    assert [each.person for each in Rooms([laptop, phone]).attendance()] == [("registrant_id", "r1")]
    other = person("joined", 7, "3", registrant_id="r2", email="a@example.com")
    people = [each.person for each in Rooms([laptop, phone, other]).attendance()]
    assert people == [("email", "a@example.com"), ("registrant_id", "r1"), ("registrant_id", "r2")]


def test_roles_and_names_follow_the_newest_event() -> None:
    """Registers of a connection; a blank erases nothing."""
    events = [
        person("joined", 5, "1", user_name="Old", email="a@example.com"),
        person("role_changed", 9, "1", user_name="New", email="", old_role="attendee", new_role="co-host"),
    ]
    for order in (events, events[::-1]):
        [entry] = Rooms(order).of_kind("connection")
        assert (entry.text("name"), entry.text("email"), entry.text("role")) == ("New", "a@example.com", "co-host")


@pytest.mark.parametrize(
    ("names", "status"),
    [
        (["created", "approved"], "approved"),
        (["approved", "denied"], "denied"),
        (["denied", "cancelled", "approved"], "cancelled"),
    ],
)
def test_registrations_at_equal_times_have_an_order(names: list[str], status: str) -> None:
    """Pending < approved < denied < cancelled."""
    events = [body(f"meeting.registration_{name}", 7, registrant={"id": "r1", "status": "pending"}) for name in names]
    for order in (events, events[::-1]):
        [entry] = Rooms(order).of_kind("registrant")
        assert entry.value("status") == status


def test_a_registrant_who_comes_back_is_approved_again() -> None:
    """Later times win over stronger statuses."""
    who = {"id": "r1", "email": "a@example.com"}
    rooms = Rooms(
        [
            body("meeting.registration_cancelled", 7, registrant=who),
            body("meeting.registration_approved", 8, registrant=who),
        ]
    )
    assert rooms.of_kind("registrant")[0].value("status") == "approved"


def test_a_registration_is_what_its_newest_event_says() -> None:
    """ZC39 d, g: a cancellation that comes before the older registration stands, and it is one registrant."""
    who = {"id": "r1", "email": "guest.one@example.com"}
    events = [
        body("meeting.registration_cancelled", 20, registrant=who),
        body("meeting.registration_created", 10, registrant={**who, "status": "pending"}),
    ]
    for order in (events, events[::-1], events * 2):
        [entry] = Rooms(order).of_kind("registrant")
        assert entry.value("status") == "cancelled"


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


def test_lists_of_a_host_know_less_than_the_room() -> None:
    """A cut agenda and the start of some date of a series are no news."""
    told = body("meeting.created", 0, type=8, agenda="x" * 400)
    listed = observed(
        "listed_meeting", 100, {"type": 8, "agenda": "x" * 250, "start_time": iso(86_400), "topic": "new"}
    )
    details = Rooms([told, listed]).view().details
    assert (len(details["agenda"]), details["start_time"], details["topic"]) == (400, iso(0), "new")


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


def test_a_registrant_added_by_ourselves_is_known() -> None:
    """The answer to adding one and a row of the list are the same registrant."""
    rooms = Rooms(
        [
            observed(
                "registrant",
                5,
                {"id": int(M), "registrant_id": "r1", "topic": "x", "join_url": "https://example.com/w/1?tk=T"},
            ),
            observed("registrant", 9, {"id": "r1", "email": "a@example.com", "status": "approved"}),
        ]
    )
    [entry] = rooms.of_kind("registrant")
    assert (entry.identity.parts, entry.value("status"), entry.text("join_url")) == (
        ("r1",),
        "approved",
        "https://example.com/w/1?tk=T",
    )


def test_a_host_in_two_rooms_of_an_account_stays_apart() -> None:
    """Equal user ids of two accounts or rooms are different connections."""
    events = [heard(person("joined", 5, "1", id=HOST), account=account) for account in ("A", "B")]
    keys = {key for event in events for key in folded(event).entries}
    assert len(keys) == 2


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
