"""The rules of the fold of rooms that one event, or two, can show."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from schemas.rooms.entry import Entry
from streams.rooms.fact import Fact
from streams.rooms.wire import Heard as WireHeard
from tests.rooms import ACCOUNT, U1, Heard, M, Rooms, at, body, heard, iso, ms, observed, person, updated


def fact(*, event_id: str = "b", seconds: float = 0, source: str = "webhook") -> Fact:
    """An empty fact; a poll's request is sent so much later that it counts as of the same moment."""
    happened = ms(seconds) + (0 if source == "webhook" else 5_000)
    return Fact(WireHeard(event_id, ACCOUNT, M, "x", happened, ms(900), source, b"{}", b""))


def test_a_clock_sorts_by_tier_time_rank_and_id() -> None:
    """Tier 0 before tier 1, then the earlier, then a poll before a webhook, then the event's id."""
    own = [
        fact(event_id="z", source="poll"),
        fact(event_id="a"),
        fact(event_id="b"),
        fact(event_id="a", seconds=1, source="poll"),
    ]
    clocks = [fact(event_id="z", seconds=9).echo_clock, *[each.clock for each in own], own[0].at(ms(2)).clock]
    assert clocks == sorted(clocks)
    assert fact().at(ms(0)).clock == fact().clock


def test_an_order_of_values_counts_before_rank_and_id() -> None:
    """At equal times the stronger statement wins, whoever made it; at others the later one."""
    strong, weak = fact(event_id="a", source="poll").ordered_clock(2), fact(event_id="z").ordered_clock(1)
    assert weak < strong < fact(event_id="a", seconds=1).ordered_clock(1)


DELETED = body("meeting.deleted", 10)


@pytest.mark.parametrize(
    "event",
    [
        body("meeting.created", 20),
        updated(20, topic="new"),
        body("meeting.recovered", 20),
        body("meeting.started", 20),
        body("meeting.alert", 20, issues=["x"]),
        body("meeting.converted_to_webinar", 20),
        body("meeting.registration_created", 20, registrant={"id": "r1"}),
        person("joined", 20, "1"),
        person("joined_waiting_room", 20, "1"),
        observed("meeting", 30, {"status": "waiting"}),
        observed("listed_meeting", 30, {"topic": "new"}),
    ],
)
def test_what_proves_that_a_room_exists(event: Heard) -> None:
    """Told of after a deletion, it undoes that."""
    assert Rooms([DELETED, event]).view().existence == "exists"


@pytest.mark.parametrize(
    "event",
    [
        body("meeting.ended", 20, end_time=iso(20)),
        body("recording.started", 20, recording_file={}),
        body("meeting.hologram", 20),
        body("meeting.recovered", 20, type=8, occurrences=[{"occurrence_id": "o1"}]),
        observed("meeting", 30, status=500),
        observed("meeting", 30, status=404, code=3001),
        observed("past_meeting", 30, status=404, uuid=U1),
    ],
)
def test_what_proves_nothing(event: Heard) -> None:
    """A room that was deleted before stays deleted."""
    assert Rooms([DELETED, event]).view().existence == "deleted"


def test_who_never_heard_of_a_room_does_not_know_it() -> None:
    """A failed poll alone says nothing, a creation without a time says that it exists, two 404s do not make it gone."""
    lost = [observed("meeting", seconds, status=404) for seconds in (1_000, 1_600)]
    assert Rooms([observed("meeting", 30, status=500)]).view().existence == "unknown"
    assert Rooms([body("meeting.created", None)]).view().existence == "exists"
    assert Rooms([body("meeting.started", 0), *lost]).view().existence == "exists"


@pytest.mark.parametrize(
    ("event", "status"),
    [
        (body("meeting.started", 5), "started"),
        (body("meeting.alert", 5, issues=["x"]), "started"),
        (body("meeting.sharing_started", 5, participant={"user_id": "1"}), "started"),
        (person("joined", 5, "1"), "started"),
        (person("left", 5, "1"), "started"),
        (person("admitted", 5, "1"), "started"),
        (person("put_in_waiting_room", 5, "1"), "started"),
        (person("joined_waiting_room", 5, "1"), "unknown"),
        (person("left_waiting_room", 5, "1"), "unknown"),
        (person("jbh_waiting", 5, "", customer_key="k"), "unknown"),
        (person("jbh_waiting_left", 5, "", customer_key="k"), "unknown"),
        (person("jbh_joined", 5, "", customer_key="k"), "unknown"),
        (observed("past_instance", 5, {"start_time": iso(0)}, uuid=U1), "started"),
        (observed("past_meeting", 5, {"start_time": iso(0)}, uuid=U1), "started"),
        (observed("past_meeting", 5, {"start_time": iso(0), "end_time": iso(3)}, uuid=U1), "ended"),
        (observed("past_meeting", 5, status=404, uuid=U1), "unknown"),
        (observed("meeting", 5, {"status": "started", "uuid": U1}, uuid=U1), "started"),
        (body("meeting.ended", None), "ended"),
    ],
)
def test_what_tells_that_a_run_began_or_ended(event: Heard, status: str) -> None:
    """What only happens in a run proves it; waiting for it does not; a 404 says nothing."""
    assert Rooms([event]).runs()[U1].status == status


def test_the_evidence_of_a_run_has_an_order() -> None:
    """Past meetings tell the start better than alerts; of two ends told at one moment the later counts."""
    told = [body("meeting.alert", 8, issues=["x"], start_time=iso(2)), _past_instance(4)]
    ends = [body("meeting.ended", 60, end_time=iso(seconds)) for seconds in (58, 59)]
    for order in (told, told[::-1]):
        assert Rooms(order).runs()[U1].started_at == ms(4)
    for both in (ends, ends[::-1]):
        assert Rooms(both).runs()[U1].ended_at == ms(59)


def _past_instance(seconds: float) -> Heard:
    return observed("past_instance", 50, {"start_time": iso(seconds)}, uuid=U1)


def test_nobody_is_present_after_the_end() -> None:
    """An open stay ends with its run; where nobody says when that was, it counts nothing."""
    joined = person("joined", 5, "1")
    [timed] = Rooms([joined, body("meeting.ended", 60, end_time=iso(60))]).attendance()
    [untimed] = Rooms([joined, body("meeting.ended", None)]).attendance()
    assert [(each.present, each.seconds) for each in (timed, untimed)] == [(False, 55), (False, 0)]


def test_an_echo_is_no_schedule() -> None:
    """When a run began is not when its room is scheduled; a conversion to a webinar is noted."""
    details = (
        Rooms([body("meeting.started", 0), body("meeting.converted_to_webinar", 5, start_time=None)]).view().details
    )
    assert "start_time" not in details
    assert details["converted_to_webinar"] is True


def test_a_poll_shows_whether_the_room_is_live() -> None:
    """What a GET says of the present is kept apart from the room's own description."""
    details = Rooms([observed("meeting", 5, {"status": "waiting"})]).view().details
    assert (details["live_status"], "status" in details) == ("waiting", False)


def dates(*ids: str, **more: Any) -> list[dict[str, Any]]:
    """Occurrences of a series."""
    return [{"occurrence_id": each, "start_time": iso(86_400), **more} for each in ids]


SERIES = body("meeting.created", 0, type=8, topic="all", occurrences=dates("o1", "o2", "o3"))


@pytest.mark.parametrize("scope", ["single", "range"])
def test_an_update_of_dates_is_theirs(scope: str) -> None:
    """What is changed for some dates changes those, and neither the series nor its other dates."""
    rooms = Rooms([SERIES, updated(9, scope, type=8, topic="some", occurrences=dates("o2"))])
    topics = {entry.identity.parts[0]: entry.value("topic") for entry in rooms.of_kind("occurrence")}
    assert (rooms.view().details["topic"], topics) == ("all", {"o1": None, "o2": "some", "o3": None})


@pytest.mark.parametrize("kind", [3, 8])
@pytest.mark.parametrize("name", ["updated", "deleted", "recovered", "permanently_deleted"])
def test_some_date_of_a_series_only_asks(name: str, kind: int) -> None:
    """`single` without a date, on a series with or without fixed times, deletes nothing and asks for a GET."""
    vague = (
        updated(9, "single", type=kind)
        if name == "updated"
        else body(f"meeting.{name}", 9, {"operation": "single"}, type=kind)
    )
    view = Rooms([SERIES, vague]).view()
    assert (view.existence, view.dates, view.wants_get) == ("exists", ("o1", "o2", "o3"), True)


@pytest.mark.parametrize(
    ("event", "existence", "left"),
    [
        (body("meeting.deleted", 9, {"operation": "single"}, type=2), "deleted", ("o1", "o2", "o3")),
        (
            body("meeting.deleted", 9, {"operation": "all"}, type=8, occurrences=dates("o1")),
            "deleted",
            ("o1", "o2", "o3"),
        ),
        (body("meeting.permanently_deleted", 9, type=8, occurrences=dates("o1")), "exists", ("o2", "o3")),
        (updated(9, "all", type=8, occurrences=dates("o1", status="deleted")), "exists", ("o2", "o3")),
        (observed("meeting", 9, {"type": 8, "occurrences": dates("o3")}), "exists", ("o1", "o2", "o3")),
        (observed("meeting", 9, {"type": 8, "occurrences": dates("o3")}, every_occurrence=True), "exists", ("o3",)),
    ],
)
def test_what_becomes_of_a_series_and_its_dates(event: Heard, existence: str, left: tuple[str, ...]) -> None:
    """An operation on all is the series' own; a list that is not whole removes nothing; dates end for good by name."""
    view = Rooms([SERIES, event, *_again_permanent(event)]).view()
    assert (view.existence, view.dates) == (existence, left)


def _again_permanent(event: Heard) -> list[Heard]:
    """What is gone for good does not come back when it is named again."""
    is_final = isinstance(event, dict) and event["event"] == "meeting.permanently_deleted"
    return [updated(20, "all", type=8, occurrences=dates("o1"))] if is_final else []


def test_a_creation_lists_all_dates() -> None:
    """A date that was seen before it, and that it does not name, is none."""
    early = observed("meeting", 4, {"type": 8, "occurrences": dates("o9")})
    assert Rooms([early, SERIES]).view().dates == ("o1", "o2", "o3")


def connection(*events: Heard) -> Entry:
    """The one connection of these events."""
    [found] = Rooms(events).of_kind("connection")
    return found


def test_what_names_a_participant_has_an_order() -> None:
    """`id` wins over the `participant_user_id` that replaced it, and is stronger than a customer key."""
    who: dict[str, Any] = {"id": "current", "participant_user_id": "other", "customer_key": "key"}
    reordered = dict(reversed(who.items()))
    for each in (who, reordered):
        assert connection(person("joined", 5, "1", **each)).value("user") == "current"
        assert Rooms([person("joined", 5, "1", **each)]).attendance()[0].person == ("user", "current")
    assert connection(person("joined", 5, "1", participant_user_id="other")).value("user") == "other"


def test_why_somebody_left_is_shown() -> None:
    """Zoom's words, as they came."""
    left = person("left", 9, "1", leave_reason="left the meeting.<br>Reason: Host ended the meeting.")
    assert connection(left).text("leave_reason").endswith("Host ended the meeting.")


@pytest.mark.parametrize("name", ["jbh_waiting_left", "jbh_joined"])
def test_who_waits_for_the_host_no_more_is_in_no_lobby(name: str) -> None:
    """Whether they joined or went away."""
    rooms = Rooms([person("jbh_waiting", 5, "", customer_key="k"), person(name, 9, "", customer_key="k")])
    assert [each.in_lobby for each in rooms.connections()] == [False]


def test_a_row_of_a_report_without_a_connection_is_its_own() -> None:
    """Its key is the best of its names and when it began; somebody in the waiting room has no stay."""
    row = {"name": "N", "customer_key": "k", "registrant_id": "r1", "leave_time": iso(9)}
    rows = [observed("report_participant", 99, {**row, "join_time": iso(seconds)}, uuid=U1) for seconds in (3, 5)]
    waiting = {**row, "user_id": "7", "status": "in_waiting_room", "join_time": iso(3)}
    rooms = Rooms([*rows, observed("past_participant", 99, waiting, uuid=U1)])
    keys = sorted(entry.identity.parts for entry in rooms.of_kind("report"))
    assert keys == [(U1, "registrant_id:r1", str(ms(seconds))) for seconds in (3, 5)]
    assert [entry.points for entry in rooms.of_kind("connection")] == [{}]


def test_a_registration_says_for_which_dates() -> None:
    """Those of the event; what the answer to adding somebody says of the meeting is not the registrant's."""
    registered = body("meeting.registration_created", 5, registrant={"id": "r1"}, occurrences=dates("o1", "o3"))
    added = observed("registrant", 9, {"registrant_id": "r2", "topic": "x", "start_time": iso(0), "occurrences": []})
    found = {entry.identity.parts[0]: entry for entry in Rooms([registered, added]).of_kind("registrant")}
    assert found["r1"].value("occurrence_ids") == ["o1", "o3"]
    assert set(found["r2"].registers) == set()


def test_a_file_that_is_listed_twice_is_one() -> None:
    """What both say counts; recordings of single voices are files too; a pause lies at the file's end."""
    files = [{"id": "f1", "file_type": "MP4"}, {"id": "f1", "status": "completed"}]
    done = body("recording.completed", 99, recording_files=files, participant_audio_files=[{"id": "f2"}])
    span = {"recording_start": iso(5), "recording_end": iso(8)}
    rooms = Rooms(
        [done, body("recording.paused", 8, recording_file=span), body("recording.resumed", 9, recording_file=span)]
    )
    found = {
        entry.identity.parts[1]: dict(entry.maxima) | dict(entry.registers) for entry in rooms.of_kind("recording")
    }
    [run] = rooms.of_kind("instance")
    assert {name: set(fields) for name, fields in found.items()} == {
        "f1": {"completed", "file_type", "status"},
        "f2": set(),
    }
    assert run.points["recording"] == ((ms(5), "resumed"), (ms(8), "paused"))


def test_a_late_receipt_is_no_later_time() -> None:
    """Only when it happened counts, never when it came."""
    early = heard(updated(10, topic="old"), received=9_000)
    late = heard(updated(20, topic="new"), received=30)
    assert Rooms([late, early]).view().details["topic"] == "new"
    assert early.received_at - late.received_at > timedelta(0)
    assert at(0) < early.received_at
