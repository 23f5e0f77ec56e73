"""A room that shows something else than it should, or that Zoom refuses to change: undone, left, or told."""

from __future__ import annotations

import pytest

from tests.meeting_commands import Caller, ready, report, room, second_rooms


def test_update_of_a_room_that_is_gone_fails_for_good() -> None:
    """ZC44: no new room is made by itself; a later sight of the room lifts the mark."""
    caller = Caller()
    table = ready(caller)
    table.put(caller.change(topic="Other"))
    key = table.key(caller, "update")
    event = table.put(report(caller.meeting_id, key, "gone", zoom_id="91000000001"))
    gone = (event.kind, table.work(caller), table.meeting(caller).room_status)
    table.put(report(caller.meeting_id, key, kind="read_back", epoch=0, room=room(shown='{"topic":"Planning call"}')))
    assert (gone, table.meeting(caller).room_status, table.meeting(caller).problem) == (
        ("room_gone", (), "gone"),
        "ready",
        None,
    )


def test_details_that_zoom_did_not_take_are_told() -> None:
    """The meeting says which, until they are taken."""
    caller = Caller()
    table = ready(caller)
    table.put(caller.change(topic="Other"))
    key = table.key(caller, "update")
    table.put(report(caller.meeting_id, key, room=room(), version=2, differences=("settings.waiting_room",)))
    problem = table.meeting(caller).problem
    assert problem is not None
    assert (problem.code, "settings.waiting_room" in problem.message) == ("not_taken", True)


def test_drift_is_undone() -> None:
    """A changed room is updated, a deleted one made anew, and neither while work is pending."""
    caller = Caller()
    changed, deleted = ready(caller), ready(caller)
    key = f"{caller.meeting_id}:create:1"
    changed.put(report(caller.meeting_id, key, kind="drift_restored", room=room(shown="{}"), differences=("topic",)))
    deleted.put(report(caller.meeting_id, key, "gone", kind="drift_restored", zoom_id="91000000001"))
    once = (changed.work(caller), deleted.work(caller))
    changed.put(report(caller.meeting_id, key, kind="drift_restored", room=room(), epoch=2))
    assert (once, changed.work(caller)) == ((("update:2@91000000001",), ("create:2",)), once[0])


@pytest.mark.parametrize(("kind", "code"), [("drift_reported", "drifted"), ("drift_accepted", None)])
def test_drift_that_is_left(kind: str, code: str | None) -> None:
    """The room is known as it is now, so that it is told once; nothing is written."""
    caller = Caller()
    table = ready(caller)
    key = f"{caller.meeting_id}:create:1"
    found = room(shown='{"topic":"Theirs"}')
    table.put(report(caller.meeting_id, key, kind=kind, room=found, differences=("topic",)))
    meeting = table.meeting(caller)
    assert meeting.room is not None
    assert (meeting.room.shown, table.work(caller)) == ('{"topic":"Theirs"}', ())
    assert (meeting.problem.code if meeting.problem else None) == code


@pytest.mark.parametrize("kind", ["drift_reported", "drift_accepted"])
def test_deletion_that_is_left(kind: str) -> None:
    """The meeting says that its room is gone."""
    caller = Caller()
    table = ready(caller)
    table.put(report(caller.meeting_id, f"{caller.meeting_id}:create:1", "gone", kind=kind, zoom_id="91000000001"))
    assert (table.meeting(caller).room_status, table.work(caller)) == ("gone", ())


def test_second_room_that_zoom_will_not_delete_is_told() -> None:
    """It stays known, so that no sweep asks for its removal again."""
    caller = Caller()
    table = ready(caller)
    key = f"{caller.meeting_id}:create:1"
    table.put(report(caller.meeting_id, key, room=room("92000000002"), kind="sweep", epoch=0))
    table.put(report(caller.meeting_id, table.key(caller, "remove"), "failed", zoom_id="92000000002"))
    table.put(report(caller.meeting_id, key, room=room("92000000002"), kind="sweep", epoch=9))
    problem = table.meeting(caller).problem
    assert problem is not None
    assert (problem.code, table.work(caller), second_rooms(table.meeting(caller))) == (
        "second_room_remains",
        (),
        ("92000000002",),
    )
