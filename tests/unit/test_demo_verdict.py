"""The demo's judgement: it must see every difference between what was found and what was true."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from roomkeeper.demo.programme import BOOKINGS, Booking
from roomkeeper.demo.report import conclusion
from roomkeeper.demo.verdict import Verdict, judge

BOOKING = Booking(topic="Weekly planning", host="host-01@example.com")
MEETING: dict[str, Any] = {
    "status": "scheduled",
    "topic": "Weekly planning",
    "duration_minutes": 45,
    "start_at": "2026-12-01T15:00:00Z",
    "host": "host-01@example.com",
    "room": {"status": "ready", "zoom_id": "91234567890"},
}
PERSON = {"name": "Ada 01", "seconds": 20}
RUN: dict[str, Any] = {
    "uuid": "U1",
    "started_at": "2026-12-01T14:58:31Z",
    "ended_at": "2026-12-01T14:59:01Z",
    "people": [PERSON],
}
ROOM: dict[str, Any] = {
    "zoom_id": "91234567890",
    "topic": "Weekly planning",
    "duration_minutes": 45,
    "start_at": "2026-12-01T15:00:00+00:00",
    "host_email": "host-01@example.com",
    "exists": True,
    "instances": [RUN],
}


def verdict(*, meeting: Any = MEETING, runs: Any = (RUN,), rooms: Any = (ROOM,), booking: Booking = BOOKING) -> Verdict:
    """The verdict over a meeting that is right but for what is given."""
    return judge(booking, meeting=meeting, runs=runs, rooms=rooms)


def changed(document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A copy with changes."""
    return {**deepcopy(document), **changes}


def test_what_is_equal_is_as_expected() -> None:
    """Equal topics, times, runs and seconds raise no objection, however times are written."""
    found = verdict()
    assert (found.objections, found.found, found.room) == ([], found.true, "91234567890")


@pytest.mark.parametrize(
    ("wrong", "objection"),
    [
        ({"rooms": (ROOM, changed(ROOM, exists=False, instances=[]))}, "2 rooms were made"),
        ({"rooms": ()}, "it has no room"),
        ({"meeting": changed(MEETING, topic="Other")}, "topic"),
        ({"rooms": (changed(ROOM, topic="Other"),)}, "topic"),
        ({"rooms": (changed(ROOM, duration_minutes=50),)}, "duration"),
        ({"rooms": (changed(ROOM, start_at="2026-12-01T16:00:00+00:00"),)}, "start"),
        ({"meeting": changed(MEETING, room={"status": "pending", "zoom_id": None})}, "status"),
        ({"runs": ()}, "missing"),
        ({"runs": (RUN, changed(RUN, uuid="U2"))}, "unknown run"),
        ({"runs": (changed(RUN, ended_at=None),)}, "ended_at"),
        ({"runs": (changed(RUN, people=[]),)}, "Ada 01: None s and not 20 s"),
        ({"runs": (changed(RUN, people=[changed(PERSON, seconds=19)]),)}, "Ada 01: 19 s and not 20 s"),
        ({"runs": (changed(RUN, people=[PERSON, changed(PERSON, name="Nobody")]),)}, "Nobody"),
    ],
)
def test_every_difference_is_objected_to(wrong: dict[str, Any], objection: str) -> None:
    """Rooms too many or too few, other details, other runs, other people or other seconds are all seen."""
    assert any(objection in each for each in verdict(**wrong).objections)


def test_a_cancelled_meeting_must_have_no_room() -> None:
    """A room that is still there after its meeting was cancelled is objected to, one that is gone is not."""
    booking = Booking(topic="Weekly planning", host="host-01@example.com", is_cancelled=True)
    meeting, gone = changed(MEETING, status="cancelled"), changed(ROOM, exists=False, instances=[])
    kept = verdict(booking=booking, meeting=meeting, runs=(), rooms=(changed(ROOM, instances=[]),))
    removed = verdict(booking=booking, meeting=meeting, runs=(), rooms=(gone,))
    assert (kept.objections, removed.objections) == (["room 91234567890 is still there"], [])


def test_the_last_line_counts_meetings() -> None:
    """The conclusion counts the meetings that are as expected and those that are not."""
    assert conclusion([verdict(), verdict(runs=())]) == "demo: 1 as expected, 1 not"


def test_the_programme_has_everything_that_can_happen() -> None:
    """Rejoins, drops, devices, lobbies, breakouts, the same second, strangers, restarts, a change and a cancel."""
    kinds = {name for booking in BOOKINGS for name, count in booking.scenario.items() if count}
    assert kinds >= {
        "rejoins",
        "dropped",
        "second_devices",
        "lobbies",
        "breakouts",
        "same_second",
        "anonymous",
        "restarts",
    }
    assert any(booking.change for booking in BOOKINGS)
    assert any(booking.is_cancelled for booking in BOOKINGS)
