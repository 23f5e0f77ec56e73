"""What is part of an event's id, and what is not, kind by kind."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tests.rooms import U2, body, heard, iso, observed, person, updated

Body = dict[str, Any]
Change = tuple[str, Any]
"""A path into the body, and the value to put there."""

SHARED = person("joined", 5, "1")
SHARING = body(
    "meeting.sharing_started",
    5,
    participant={"user_id": "1", "sharing_details": {"content": "desktop", "date_time": iso(4)}},
)
ROLE = person("role_changed", 5, "1", old_role="attendee", new_role="host")
BREAKOUT = person("joined_breakout_room", 5, "1", room="R1")
LEFT_BREAKOUT = person("left_breakout_room", 5, "1", room="R1")
BIND = person("bind", 5, "1", bind_user_id="2")
BEFORE_HOST = person("jbh_waiting", 5, "", customer_key="k", time="")
STARTED = body("meeting.started", 5)
ENDED = body("meeting.ended", 5, end_time=iso(4))
CREATED = body("meeting.created", 5)
UPDATED = updated(5, topic="x")
DELETED = body("meeting.deleted", 5, type=8, occurrences=[{"occurrence_id": "o1"}, {"occurrence_id": "o2"}])
REGISTERED = body("meeting.registration_created", 5, registrant={"id": "r1"})
RECORDING = body("recording.paused", 5, recording_file={"recording_start": iso(1), "recording_end": iso(4)})
COMPLETED = body(
    "recording.completed",
    5,
    recording_files=[{"id": "f1", "status": "processing"}, {"id": "f2", "status": "completed"}],
)
ALERT = body("meeting.alert", 5, issues=["a", "b"])
CONVERTED = body("meeting.converted_to_webinar", 5)
UNKNOWN = body("meeting.hologram", 5, size=1)
DEAUTHORIZED: Body = {
    "event": "app_deauthorized",
    "payload": {"account_id": "A", "user_id": "u", "client_id": "c", "deauthorization_time": iso(5), "event_ts": 1},
}

OBJECT = "payload.object."
WHO = OBJECT + "participant."


def changed(told: Body, change: Change) -> Body:
    """The body with another value in one place; a path that names nothing new adds a field."""
    copy: Any = deepcopy(told)
    *path, last = change[0].split(".")
    place: Any = copy
    for step in path:
        place = place[int(step)] if isinstance(place, list) else place[step]
    place[last] = change[1](place[last]) if callable(change[1]) else change[1]
    return copy  # type: ignore[no-any-return]  # a body


def backwards(listed: list[Any]) -> list[Any]:
    """The same in another order."""
    return listed[::-1]


def identity(told: Body) -> str:
    """Its id."""
    return heard(told).event_id


@pytest.mark.parametrize(
    ("told", "change"),
    [
        (SHARED, (WHO + "user_id", "2")),
        (SHARED, (WHO + "join_time", iso(6))),
        (SHARED, (OBJECT + "uuid", U2)),
        (SHARED, ("event", "meeting.participant_left")),
        (BREAKOUT, (OBJECT + "breakout_room_uuid", "R2")),
        (LEFT_BREAKOUT, (OBJECT + "breakout_room_uuid", "R2")),
        (ROLE, (WHO + "old_role", "panelist")),
        (ROLE, (WHO + "new_role", "co-host")),
        (BIND, (WHO + "bind_user_id", "3")),
        (SHARING, (WHO + "sharing_details.date_time", iso(3))),
        (SHARING, (WHO + "sharing_details.content", "camera")),
        (BEFORE_HOST, (WHO + "customer_key", "other")),
        (BEFORE_HOST, ("event_ts", 1)),
        (STARTED, (OBJECT + "start_time", iso(1))),
        (STARTED, (OBJECT + "uuid", U2)),
        (ENDED, (OBJECT + "end_time", iso(3))),
        (CREATED, (OBJECT + "uuid", U2)),
        (CREATED, (OBJECT + "id", "92000000002")),
        (UPDATED, ("payload.time_stamp", 1)),
        (UPDATED, ("payload.scope", "all")),
        (UPDATED, (OBJECT + "topic", "y")),
        (DELETED, ("event_ts", 1)),
        (DELETED, (OBJECT + "occurrences.0.occurrence_id", "o3")),
        (REGISTERED, (OBJECT + "registrant.id", "r2")),
        (REGISTERED, ("event_ts", 1)),
        (RECORDING, (OBJECT + "recording_file.recording_start", iso(2))),
        (RECORDING, (OBJECT + "recording_file.recording_end", iso(3))),
        (RECORDING, ("event_ts", 1)),
        (COMPLETED, (OBJECT + "recording_files.0.status", "completed")),
        (COMPLETED, (OBJECT + "recording_files.0.id", "f3")),
        (ALERT, (OBJECT + "issues", ["a"])),
        (ALERT, ("event_ts", 1)),
        (CONVERTED, ("event_ts", 1)),
        (UNKNOWN, ("event_ts", 1)),
        (UNKNOWN, (OBJECT + "uuid", U2)),
        (UNKNOWN, (OBJECT + "size", 2)),
        (DEAUTHORIZED, ("payload.user_id", "v")),
        (DEAUTHORIZED, ("payload.client_id", "d")),
        (DEAUTHORIZED, ("payload.deauthorization_time", iso(6))),
    ],
)
def test_what_makes_another_event(told: Body, change: Change) -> None:
    """Who, what and when: if one of these differs, it is not the same event."""
    assert identity(changed(told, change)) != identity(told)


@pytest.mark.parametrize(
    ("told", "change"),
    [
        (SHARED, ("event_ts", 1)),
        (SHARED, (WHO + "user_name", "Other")),
        (SHARED, (OBJECT + "topic", "Other")),
        (SHARING, ("event_ts", 1)),
        (STARTED, ("event_ts", 1)),
        (ENDED, ("event_ts", 1)),
        (ENDED, (OBJECT + "start_time", iso(1))),
        (CREATED, ("event_ts", 1)),
        (UPDATED, ("event_ts", 1)),
        (UPDATED, (OBJECT + "id", "91000000001")),
        (DELETED, (OBJECT + "occurrences", backwards)),
        (DELETED, (OBJECT + "topic", "Other")),
        (COMPLETED, (OBJECT + "recording_files", backwards)),
        (COMPLETED, ("download_token", "other")),
        (ALERT, (OBJECT + "issues", backwards)),
        (DEAUTHORIZED, ("payload.event_ts", 2)),
    ],
)
def test_what_makes_no_other_event(told: Body, change: Change) -> None:
    """How it was delivered, in which order it lists things, and what it merely tells beside."""
    assert identity(changed(told, change)) == identity(told)


@pytest.mark.parametrize(
    "other",
    [
        lambda: observed("meeting", 6, {"topic": "x"}),
        lambda: observed("meeting", 5, {"topic": "y"}),
        lambda: observed("listed_meeting", 5, {"topic": "x"}),
        lambda: observed("meeting", 5, {"topic": "x"}, uuid=U2),
    ],
)
def test_observations_differ_by_kind_run_time_and_answer(other: Callable[[], Any]) -> None:
    """The same answer at the same moment is the same observation."""
    seen = observed("meeting", 5, {"topic": "x"})
    assert seen.event_id == observed("meeting", 5, {"topic": "x"}).event_id
    assert seen.event_id != other().event_id
