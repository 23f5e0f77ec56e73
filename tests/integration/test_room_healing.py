"""Healing: second rooms removed, rooms in doubt read back, lists swept for rooms nobody knows of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simulator import rooms, runs
from simulator.faults import Kind
from simulator.model import Room
from tests.command_plane import Plane
from tests.simulated_zoom import ACCOUNT, HOST
from tests.zoom_calls import calls, order


def stray(plane: Plane, *, n: int = 1, agenda: str | None = None) -> Room:
    """A room that carries the meeting's key and that nobody told us of."""
    account = plane.zoom.service.world.accounts[ACCOUNT.account_id]
    key = f"[roomkeeper {plane.caller.meeting_id}:create:{n}]"
    body = {"topic": "Planning call", "type": 2, "start_time": "2027-03-20T08:00:00Z", "agenda": agenda or key}
    return rooms.create(
        plane.zoom.service.world, account=account, host=account.hosts[HOST], body=body, at=plane.clock.now()
    )


def change(room: Room, **details: Any) -> None:
    """Somebody, or a late call, changes the room in Zoom."""
    room.details = replace(room.details, **details)


async def test_stray_room_is_found_and_removed(plane: Plane) -> None:
    """A sweep finds a room that carries the key; it is one too many and goes, the meeting's own stays."""
    plane.create()
    async with plane.worker() as worker:
        await worker.drain()
        plane.deliver()
        own = plane.rooms()[0]
        stray(plane)
        found = await plane.sweep.run_once()
        plane.deliver()
        second = len(plane.meeting.second_rooms)
        await worker.drain()
        plane.deliver()
    assert (found, second, plane.rooms(), plane.meeting.second_rooms) == (1, 1, [own], ())


async def test_sweep_knows_what_is_known(plane: Plane) -> None:
    """Known rooms, rooms without a key and rooms of meetings nobody knows are not reported."""
    plane.create()
    async with plane.worker() as worker:
        await worker.drain()
        plane.deliver()
        stray(plane, agenda="Planning call")
        stray(plane, agenda="[roomkeeper 00000000-0000-5000-8000-000000000000:create:1]")
        known = await plane.sweep.run_once()
        early = await plane.sweep.run_once()
    assert (known, early, calls(plane.zoom, "list"), len(plane.rooms())) == (0, 0, {200: 1}, 3)


async def test_sweep_finds_the_room_of_a_pending_create(plane: Plane) -> None:
    """It is that create's outcome, and the create drops out without another room, or another look."""
    order(plane.zoom, Kind.ABORT, acts=True)
    plane.create()
    async with plane.worker() as worker:
        await worker.run_once()
        await plane.sweep.run_once()
        plane.deliver()
        adopted = (plane.meeting.room_status, plane.requests())
        await worker.drain()
        plane.deliver()
        await worker.drain()
        plane.deliver()
    assert adopted == ("ready", ["create:1", "update:2"])
    assert (plane.requests(), plane.zoom.service.world.rooms_made, calls(plane.zoom, "list")) == ([], 1, {200: 1})


async def test_sweep_goes_on_for_cancelled_meetings(plane: Plane) -> None:
    """A create of long ago that succeeded after all leaves nothing behind."""
    plane.create()
    plane.put(plane.caller.cancel())
    async with plane.worker() as worker:
        await worker.drain()
        plane.deliver()
        stray(plane)
        await plane.sweep.run_once()
        plane.deliver()
        await worker.drain()
        plane.deliver()
    assert (plane.rooms(), plane.meeting.room_status, plane.requests()) == ([], "removed", [])


async def test_running_second_room_is_left_until_it_ends(plane: Plane) -> None:
    """People are in it: it is removed when they have gone, and nothing else waits for that."""
    plane.create()
    async with plane.worker() as worker:
        await worker.drain()
        plane.deliver()
        second = stray(plane)
        runs.start(plane.zoom.service.world, second, at=plane.clock.now())
        await plane.sweep.run_once()
        plane.deliver()
        await worker.run_once()
        running = (plane.requests(), second.exists, plane.rows("SELECT error_code, attempts FROM room_requests"))
        plane.put(plane.caller.change(topic="Other"))
        await worker.run_once()
        plane.deliver()
        topic = plane.rooms()[0].details.topic
        runs.end(plane.zoom.service.world, second, at=plane.clock.now())
        plane.clock.advance(seconds=60)
        await worker.run_once()
        plane.deliver()
    assert running == (["remove:2"], True, [("in_progress", 0)])
    assert (topic, second.exists, plane.requests()) == ("Other", False, [])


async def test_removal_waits_for_no_other_work(plane: Plane) -> None:
    """A second room goes while the meeting's own update waits to be tried again."""
    plane.create()
    async with plane.worker() as worker:
        await worker.drain()
        plane.deliver()
        order(plane.zoom, Kind.ERROR, "update", count=None, status=503)
        plane.put(plane.caller.change(topic="Other"))
        await worker.run_once()
        second = stray(plane)
        await plane.sweep.run_once()
        plane.deliver()
        both = plane.requests()
        await worker.run_once()
        plane.deliver()
    assert (both, plane.requests(), second.exists) == (["update:2", "remove:3"], ["update:2"], False)


async def test_removal_that_waits_holds_no_read_back_up(plane: Plane) -> None:
    """A room in doubt is looked at while a second room is in progress."""
    await doubted(plane)
    async with plane.worker() as worker:
        runs.start(plane.zoom.service.world, stray(plane), at=plane.clock.now())
        await plane.sweep.run_once()
        plane.deliver()
        await worker.run_once()
        assert (plane.requests(), await plane.read_backs.run_once()) == (["remove:3"], 1)


async def test_zooms_refusal_to_delete_a_running_room_is_honoured(plane: Plane) -> None:
    """Should it begin between look and delete, the request waits."""
    plane.create()
    async with plane.worker() as worker:
        await worker.drain()
        plane.deliver()
        second = stray(plane)
        await plane.sweep.run_once()
        plane.deliver()
        order(plane.zoom, Kind.ERROR, "delete", status=400, code=3002, message="in progress")
        await worker.run_once()
        waiting = plane.rows("SELECT error_code, started_at, attempts FROM room_requests")
        plane.clock.advance(seconds=60)
        await worker.run_once()
        plane.deliver()
    assert (waiting, second.exists, plane.requests()) == ([("3002", None, 0)], False, [])


async def test_room_that_lost_its_key_is_not_ours_to_remove(plane: Plane) -> None:
    """Whoever takes the key out of the agenda takes the room over."""
    plane.create()
    async with plane.worker() as worker:
        await worker.drain()
        plane.deliver()
        second = stray(plane)
        await plane.sweep.run_once()
        plane.deliver()
        change(second, agenda="mine now")
        await worker.run_once()
        plane.deliver()
    assert (second.exists, plane.meeting.second_rooms, plane.requests()) == (True, (), [])


async def doubted(plane: Plane) -> None:
    """A meeting with its room, in doubt because its update was claimed twice."""
    plane.create()
    async with plane.worker() as worker:
        await worker.drain()
        plane.deliver()
        plane.put(plane.caller.change(topic="Other"))
        order(plane.zoom, Kind.ERROR, "update", count=4, status=503)
        await worker.run_once()
        await worker.run_once()
        plane.deliver()


async def test_room_in_doubt_is_read_back_until_nothing_can_land(plane: Plane) -> None:
    """It is looked at every minute for longer than a call can last, and then no more."""
    await doubted(plane)
    looked = 0
    async with plane.worker():
        for _ in range(30):
            looked += await plane.read_backs.run_once()
            plane.clock.advance(seconds=60)
    assert (looked, plane.rows("SELECT count(*) FROM unsure_meetings")) == (21, [(0,)])
    assert [report.kind for report in plane.sent.outcomes()] == ["outcome", "outcome"]


async def test_late_call_that_lands_is_undone(plane: Plane) -> None:
    """A room in doubt that shows other details than the last call left gets an update, whatever the drift setting."""
    await doubted(plane)
    async with plane.worker() as worker:
        change(plane.rooms()[0], topic="Planning call")
        plane.clock.advance(seconds=60)
        await plane.read_backs.run_once()
        plane.deliver()
        repair = plane.requests()
        await worker.run_once()
        plane.deliver()
        plane.clock.advance(seconds=60)
        await plane.read_backs.run_once()
        plane.deliver()
    assert (repair, plane.rooms()[0].details.topic, plane.requests()) == (["update:3"], "Other", [])


async def test_room_in_doubt_is_not_read_while_work_is_pending(plane: Plane) -> None:
    """The pending call will set it right anyway."""
    await doubted(plane)
    plane.put(plane.caller.change(topic="Third"))
    async with plane.worker():
        assert await plane.read_backs.run_once() == 0


async def test_room_in_doubt_that_is_gone_is_told(plane: Plane) -> None:
    """Somebody deleted it meanwhile: the meeting says so."""
    await doubted(plane)
    plane.rooms()[0].deleted_at = plane.clock.now()
    async with plane.worker():
        await plane.read_backs.run_once()
        plane.deliver()
    assert plane.meeting.room_status == "gone"


async def test_update_that_was_not_seen_puts_the_room_in_doubt(plane: Plane) -> None:
    """Where the read-back of an update fails, it is done later."""
    plane.create()
    async with plane.worker() as worker:
        await worker.drain()
        plane.deliver()
        plane.put(plane.caller.change(topic="Other"))
        order(plane.zoom, Kind.ERROR, "get", count=None, status=503)
        await worker.run_once()
        plane.deliver()
        plane.zoom.service.faults.clear()
        seen = await plane.read_backs.run_once()
        plane.deliver()
    assert plane.meeting.room is not None
    assert (seen, '"topic":"Other"' in plane.meeting.room.shown, plane.requests()) == (1, True, [])


async def test_update_that_was_silent_before_it_worked_puts_the_room_in_doubt(plane: Plane) -> None:
    """The try that nobody answered may land after the one that worked, and after later updates: the room is read back."""
    plane.create()
    async with plane.worker() as worker:
        await worker.drain()
        plane.deliver()
        order(plane.zoom, Kind.ABORT, "update")
        plane.put(plane.caller.change(topic="Second"))
        await worker.run_once()
        plane.deliver()
        plane.put(plane.caller.change(topic="Third"))
        await worker.run_once()
        plane.deliver()
        change(plane.rooms()[0], topic="Second")  # the silent try lands only now
        await plane.read_backs.run_once()
        plane.deliver()
        repair = plane.requests()
        await worker.run_once()
        plane.deliver()
    assert (repair, plane.rooms()[0].details.topic, plane.requests()) == (["update:4"], "Third", [])


async def test_host_is_swept_while_a_late_call_may_still_make_a_room(plane: Plane) -> None:
    """A create that nobody knows the fate of may land under a host whom the meeting has left meanwhile."""
    order(plane.zoom, Kind.ABORT)
    plane.create()
    async with plane.worker() as worker:
        await worker.run_once()
        plane.put(plane.caller.change(host="host-02@example.com"))
        for _ in range(8):
            await worker.drain()
            plane.deliver()
            plane.clock.advance(seconds=30)
        await plane.sweep.run_once()
        late = stray(plane)
        plane.clock.advance(seconds=700)
        await plane.sweep.run_once()
        plane.deliver()
        await worker.drain()
        plane.deliver()
    assert ([room.host.email for room in plane.rooms()], late.exists) == (["host-02@example.com"], False)
