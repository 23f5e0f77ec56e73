"""How pending room work merges, and what the room worker's reports do to it."""

from __future__ import annotations

import pytest

from schemas.errors import BadMessage
from tests.meeting_commands import Caller, Table, ready, report, room, second_rooms

AFTER_THE_START = 10 * 86_400
"""An epoch: reports are issued so many seconds after the meeting was asked for."""


def test_room_made_ends_the_create() -> None:
    """The room is the meeting's, its work is done and its row may go."""
    caller = Caller()
    table = ready(caller)
    meeting = table.meeting(caller)
    assert meeting.room is not None
    assert (meeting.room.zoom_id, meeting.room_status, meeting.pending) == ("91000000001", "ready", ())
    assert (table.events[-1].kind, table.events[-1].releases) == ("room_ready", True)


def test_newer_update_replaces_older_ones() -> None:
    """Of several changes the last makes the only update, under a fresh n."""
    caller = Caller()
    table = ready(caller)
    for topic in ("a", "b", "c"):
        table.put(caller.change(topic=topic))
    assert table.work(caller) == ("update:4@91000000001",)


def test_change_before_the_room_is_there_waits_behind_the_create() -> None:
    """The create may have started with the old details, so an update follows it, aimed at the room once it is known."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    table.put(caller.change(topic="Other"))
    before = table.work(caller)
    table.put(report(caller.meeting_id, table.key(caller, "create"), room=room(), version=1))
    assert (before, table.work(caller)) == (("create:1", "update:2"), ("update:2@91000000001",))


def test_update_whose_details_the_create_has_sent_is_not_sent_again() -> None:
    """A create that was called after the change has served it."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    table.put(caller.change(topic="Other"))
    table.put(report(caller.meeting_id, table.key(caller, "create"), room=room(), version=2))
    assert table.work(caller) == ()


def test_room_found_by_its_key_gets_an_update() -> None:
    """Which details an earlier call sent is not known, so the present ones are sent."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    table.put(report(caller.meeting_id, table.key(caller, "create"), room=room(), version=None))
    assert table.work(caller) == ("update:2@91000000001",)


@pytest.mark.parametrize("outcome", ["failed", "too_late"])
def test_failed_create_drops_the_updates(outcome: str) -> None:
    """Without a room there is nothing to update; the reason stands on the meeting."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    table.put(caller.change(topic="Other"))
    key = table.key(caller, "create")
    told = {"error_code": "1001", "error_message": "User does not exist."}
    event = table.put(report(caller.meeting_id, key, outcome, epoch=AFTER_THE_START, **told))
    meeting = table.meeting(caller)
    assert meeting.problem is not None
    assert (event.kind, meeting.room_status, meeting.pending, meeting.problem.code) == (
        "room_failed",
        "failed",
        (),
        "1001",
    )


def test_create_that_came_too_late_for_a_start_that_was_moved_is_done_anew() -> None:
    """The worker had claimed it before; only a start that has passed by now is a reason to make no room."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    table.put(caller.change(start_time="2026-03-20T09:15:00"))
    table.put(report(caller.meeting_id, table.key(caller, "create"), "too_late"))
    assert (table.work(caller), table.meeting(caller).room_status) == (("create:3",), "pending")


def test_change_after_a_failed_create_tries_again() -> None:
    """The caller may have corrected what was wrong."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    table.put(report(caller.meeting_id, table.key(caller, "create"), "failed", error_code="1001"))
    table.put(caller.change(host="host-02@example.com"))
    assert (table.work(caller), table.meeting(caller).room_status) == (("create:2",), "pending")


def test_retry_by_hand_makes_new_work() -> None:
    """A failed room is created, a room that is there is sent its details again, a lost one is made anew."""
    failed, caller = Table(), Caller()
    failed.put(caller.create())
    failed.put(report(caller.meeting_id, failed.key(caller, "create"), "failed"))
    failed.put(caller.retry())
    there, lost = ready(caller), ready(caller)
    there.put(caller.retry())
    lost.put(
        report(caller.meeting_id, f"{caller.meeting_id}:update:9", "gone", kind="read_back", zoom_id="91000000001")
    )
    lost.put(caller.retry())
    assert [each.work(caller) for each in (failed, there, lost)] == [
        ("create:2",),
        ("update:2@91000000001",),
        ("create:2",),
    ]


def test_cancel_before_any_call_discards_the_create() -> None:
    """What may have started is looked for and removed; the create itself is no longer wanted."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    table.put(caller.change(topic="Other"))
    table.put(caller.cancel())
    before = (table.work(caller), table.meeting(caller).room_status)
    table.put(report(caller.meeting_id, table.key(caller, "cancel"), "gone"))
    assert (before, table.meeting(caller).room_status) == ((("cancel:3",), "removing"), "removed")


def test_second_room_is_kept_in_mind_and_removed() -> None:
    """A room that carries the meeting's key beside its own room is removed, without touching the room itself."""
    caller = Caller()
    table = ready(caller)
    key = f"{caller.meeting_id}:create:1"
    table.put(report(caller.meeting_id, key, room=room("92000000002"), kind="sweep", epoch=0))
    found = (table.work(caller), second_rooms(table.meeting(caller)), table.meeting(caller).room_status)
    table.put(report(caller.meeting_id, table.key(caller, "remove"), zoom_id="92000000002"))
    assert found == (("remove:2@92000000002",), ("92000000002",), "ready")
    assert (table.work(caller), second_rooms(table.meeting(caller))) == ((), ())


def test_second_room_is_removed_once() -> None:
    """Further sights of it add nothing."""
    caller = Caller()
    table = ready(caller)
    key = f"{caller.meeting_id}:create:1"
    for epoch in range(3):
        table.put(report(caller.meeting_id, key, room=room("92000000002"), kind="sweep", epoch=epoch))
    assert table.work(caller) == ("remove:2@92000000002",)


def test_sweep_finds_the_room_of_a_pending_create() -> None:
    """It is that create's outcome; the row of the create stays until its own call answers."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    event = table.put(report(caller.meeting_id, table.key(caller, "create"), room=room(), kind="sweep", epoch=0))
    assert (event.kind, event.releases, table.work(caller)) == ("room_ready", False, ("update:2@91000000001",))


def test_outcome_of_a_create_whose_room_a_sweep_found() -> None:
    """The same room again is no news, and ends the row."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    key = table.key(caller, "create")
    table.put(report(caller.meeting_id, key, room=room(), kind="sweep", epoch=0))
    event = table.put(report(caller.meeting_id, key, room=room(), version=1))
    assert (event.kind, event.releases, second_rooms(table.meeting(caller))) == ("outcome_ignored", True, ())


def test_late_create_is_adopted_while_the_meeting_has_no_room() -> None:
    """A call that outlived its lease still brought the room; a repair makes sure of its details."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    key = table.key(caller, "create")
    event = table.put(report(caller.meeting_id, key, room=room(), kind="late_report", version=1))
    assert (event.releases, table.work(caller), table.meeting(caller).room_status) == (
        False,
        ("update:2@91000000001",),
        "ready",
    )


def test_late_update_makes_a_new_update_that_replaces_the_pending_one() -> None:
    """What the late call did may have undone a later one, so the present details are sent once more."""
    caller = Caller()
    table = ready(caller)
    table.put(caller.change(topic="Other"))
    late = f"{caller.meeting_id}:update:2"
    table.put(report(caller.meeting_id, late, "unknown", kind="late_report", epoch=3))
    replaced = table.work(caller)
    table.put(report(caller.meeting_id, late, room=room(), version=2, epoch=4))
    assert (replaced, table.work(caller)) == (("update:3@91000000001",), ("update:3@91000000001",))


def test_update_replaced_by_a_change_keeps_what_it_had_to_repair() -> None:
    """A change on top of a repair is a repair too."""
    caller = Caller()
    table = ready(caller)
    table.put(caller.change(topic="Other"))
    table.put(report(caller.meeting_id, f"{caller.meeting_id}:update:2", kind="late_report", epoch=3))
    table.put(caller.change(topic="Third"))
    assert [work.repair for work in table.meeting(caller).pending] == [True]


def test_provider_unavailable_ends_nothing() -> None:
    """The work stays, the meeting says why it waits, and the reason goes with the room."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    key = table.key(caller, "create")
    event = table.put(report(caller.meeting_id, key, "provider_unavailable"))
    waiting = (event.kind, event.releases, table.work(caller), table.meeting(caller).room_status)
    table.put(report(caller.meeting_id, key, room=room(), version=1, epoch=2))
    assert waiting == ("room_unavailable", False, ("create:1",), "provider_unavailable")
    assert (table.meeting(caller).room_status, table.meeting(caller).problem) == ("ready", None)


def test_other_host_is_another_room() -> None:
    """The new room is made first; then the old one is one too many."""
    caller = Caller()
    table = ready(caller)
    table.put(caller.change(host="host-02@example.com"))
    waiting = (table.work(caller), table.meeting(caller).room_status)
    key = table.key(caller, "create")
    table.put(report(caller.meeting_id, key, room=room("92000000002", host="host-02@example.com"), version=2))
    meeting = table.meeting(caller)
    assert meeting.room is not None
    assert waiting == (("create:2",), "ready")
    assert (meeting.room.zoom_id, second_rooms(meeting), table.work(caller)) == (
        "92000000002",
        ("91000000001",),
        ("remove:3@91000000001",),
    )


def test_host_changed_back_before_the_new_room_was_made() -> None:
    """The create is no longer wanted; should it have started, its room is one too many."""
    caller = Caller()
    table = ready(caller)
    table.put(caller.change(host="host-02@example.com"))
    key = table.key(caller, "create")
    table.put(caller.change(host="host-01@example.com"))
    back = table.work(caller)
    table.put(report(caller.meeting_id, key, room=room("92000000002", host="host-02@example.com"), version=2))
    assert (back, second_rooms(table.meeting(caller))) == (("update:3@91000000001",), ("92000000002",))


def test_host_changed_while_the_create_was_pending() -> None:
    """A create under the new host takes its place."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    table.put(caller.change(host="host-02@example.com"))
    assert [(work.action, work.n, work.host) for work in table.meeting(caller).pending] == [
        ("create", 2, "host-02@example.com")
    ]


def test_read_back_that_differs_makes_an_update() -> None:
    """A room in doubt is brought back to the meeting's details."""
    caller = Caller()
    table = ready(caller)
    table.put(
        report(
            caller.meeting_id,
            f"{caller.meeting_id}:create:1",
            kind="read_back",
            room=room(shown='{"topic":"Old"}'),
            version=1,
            differences=("topic",),
        )
    )
    assert table.work(caller) == ("update:2@91000000001",)


@pytest.mark.parametrize(
    ("shown", "version", "changed"),
    [
        ('{"topic":"Planning call"}', 1, False),  # as after the last call: Zoom will not take it
        ('{"topic":"Old"}', 7, False),  # compared with other details than today's
        ('{"topic":"Old"}', 1, True),  # something is pending already
    ],
)
def test_read_back_that_is_no_reason_to_write(shown: str, version: int, changed: bool) -> None:
    """Only news, about today's details, while nothing is pending, costs the host a call."""
    caller = Caller()
    table = ready(caller)
    if changed:
        table.put(caller.change(topic="Other"))
        version = 2
    before = table.work(caller)
    table.put(
        report(
            caller.meeting_id,
            f"{caller.meeting_id}:create:1",
            kind="read_back",
            room=room(shown=shown),
            version=version,
            differences=("topic",),
        )
    )
    assert table.work(caller) == before


def test_read_back_beside_a_removal_makes_an_update() -> None:
    """A second room that waits to be removed is no work on the meeting's own room."""
    caller = Caller()
    table = ready(caller)
    key = f"{caller.meeting_id}:create:1"
    table.put(report(caller.meeting_id, key, room=room("92000000002"), kind="sweep", epoch=0))
    found = room(shown='{"topic":"Old"}')
    table.put(report(caller.meeting_id, key, kind="read_back", room=found, version=1, differences=("topic",)))
    assert table.work(caller) == ("remove:2@92000000002", "update:3@91000000001")


def test_report_about_a_meeting_that_nobody_knows_is_answered() -> None:
    """Every outcome is answered by an event that names its key and epoch, so that its row ends."""
    table, caller = Table(), Caller()
    key = f"{caller.meeting_id}:create:1"
    event = table.put(report(caller.meeting_id, key, room=room(), epoch=7))
    assert (event.kind, event.provider_key, event.epoch, event.releases) == ("rejected", key, 7, True)


@pytest.mark.parametrize(("kind", "outcome"), [("outcome", "unknown"), ("rumour", "done"), ("outcome", "great")])
def test_report_of_no_known_kind_is_no_command(kind: str, outcome: str) -> None:
    """An outcome that is not known ends nothing, so nobody may report it as one."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    with pytest.raises(BadMessage):
        table.put(report(caller.meeting_id, table.key(caller, "create"), outcome, kind=kind))
