"""What a cancel makes of a room, wherever its create had got to."""

from __future__ import annotations

from tests.meeting_commands import Caller, Table, ready, report, room, second_rooms


def test_cancel_removes_the_room() -> None:
    """Pending updates go, the delete is aimed at the room, and then there is none."""
    caller = Caller()
    table = ready(caller)
    table.put(caller.change(topic="Other"))
    table.put(caller.cancel())
    work = table.work(caller)
    table.put(report(caller.meeting_id, table.key(caller, "cancel"), zoom_id="91000000001"))
    meeting = table.meeting(caller)
    assert (work, meeting.room, meeting.room_status, meeting.pending) == (
        ("cancel:3@91000000001",),
        None,
        "removed",
        (),
    )


def test_cancel_of_a_failed_meeting_has_nothing_to_do() -> None:
    """No room, no work."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    table.put(report(caller.meeting_id, table.key(caller, "create"), "failed", error_code="1001"))
    table.put(caller.cancel())
    meeting = table.meeting(caller)
    assert (meeting.pending, meeting.room_status, meeting.problem) == ((), "removed", None)


def test_room_of_a_create_that_a_cancel_overtook_is_aimed_at() -> None:
    """The create had started: its room is the cancel's business."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    key = table.key(caller, "create")
    table.put(caller.cancel())
    table.put(report(caller.meeting_id, key, room=room()))
    aimed = table.work(caller)
    table.put(report(caller.meeting_id, table.key(caller, "cancel"), zoom_id="91000000001"))
    assert (aimed, table.meeting(caller).room_status) == (("cancel:2@91000000001",), "removed")


def test_room_that_appears_after_the_cancel_is_done_is_removed() -> None:
    """A create of long ago may still succeed; its room is one too many."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    key = table.key(caller, "create")
    table.put(caller.cancel())
    table.put(report(caller.meeting_id, table.key(caller, "cancel"), "gone"))
    table.put(report(caller.meeting_id, key, room=room(), kind="sweep", epoch=0))
    assert (table.work(caller), second_rooms(table.meeting(caller))) == (("remove:3@91000000001",), ("91000000001",))


def test_cancel_that_looked_for_no_room_is_made_again_for_one() -> None:
    """A room that became known while the cancel found nothing is deleted all the same."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    key = table.key(caller, "create")
    table.put(caller.cancel())
    cancel = table.key(caller, "cancel")
    table.put(report(caller.meeting_id, key, room=room(), kind="late_report"))
    table.put(report(caller.meeting_id, cancel, "gone"))
    assert table.work(caller) == ("cancel:3@91000000001",)
