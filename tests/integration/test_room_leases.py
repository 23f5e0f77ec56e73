"""Leases and epochs: workers that stall, die or overlap leave one room and one result (ZC48, ZC49)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace

import pytest

from runtime.kafka.producer import Delivery, Outgoing
from runtime.settings import RoomSettings
from schemas.errors import Unavailable
from simulator.faults import Kind
from tests.command_plane import QUICK, Plane, after_the_lease, stalled
from tests.waiting import eventually
from tests.zoom_calls import calls, order
from zoom.client.client import Call, Reply


async def test_renewed_lease_is_nobody_elses(plane: Plane) -> None:
    """ZC48 3: while a slow worker renews its lease, no other gets the row."""
    plane.create()
    async with stalled(plane, "POST") as (slow, _, _), plane.worker("b") as other:
        for _ in range(4):
            plane.clock.advance(seconds=60)
            await slow.renew()
            assert await other.run_once() == 0
    plane.deliver()
    assert (len(plane.rooms()), plane.requests(), plane.meeting.room_status) == (1, [], "ready")


async def test_late_create_while_another_looks(plane: Plane) -> None:
    """ZC48 1: the second worker finds the first one's room by its key; the first one reports late and settles nothing."""
    plane.create()
    async with stalled(plane, "POST") as (_, stall, slow):
        after_the_lease(plane)
        async with plane.worker("b") as other:
            await other.run_once()
            stall.go_on.set()
            await slow
            plane.deliver()
            kinds = [(report.kind, report.outcome) for report in plane.sent.outcomes()]
            repaired = plane.requests()
            await other.run_once()
            plane.deliver()
    assert kinds == [("outcome", "done"), ("late_report", "done")]
    assert (repaired, plane.requests(), len(plane.rooms(exist=False))) == (["update:2"], [], 1)


async def test_late_create_before_any_list_shows_it(plane: Plane) -> None:
    """ZC48 1: the late 201 itself tells which room it was, so that nobody makes a second one."""
    plane.create()
    async with stalled(plane, "POST") as (_, stall, slow):
        plane.rooms()[0].listed_at = plane.clock.now().replace(year=2028)
        after_the_lease(plane)
        async with plane.worker("b") as other:
            await other.run_once()
            stall.go_on.set()
            await slow
            plane.deliver()
            adopted = (plane.meeting.room_status, plane.requests())
            for _ in range(4):
                plane.clock.advance(seconds=60)
                await other.run_once()
                plane.deliver()
    assert adopted == ("ready", ["create:1", "update:2"])
    assert (plane.requests(), calls(plane.zoom, "create"), len(plane.rooms())) == ([], {201: 1}, 1)


async def test_second_room_of_a_slow_call_is_removed(plane: Plane) -> None:
    """A call that outlived every look-up made a second room; its late report leads to its removal."""
    plane.create()
    async with stalled(plane, "POST") as (_, stall, slow):
        first = plane.rooms()[0]
        first.listed_at = plane.clock.now().replace(year=2028)
        async with plane.worker("b") as other:
            for _ in range(6):
                after_the_lease(plane)
                await other.run_once()
                plane.deliver()
            second = plane.meeting.room
            stall.go_on.set()
            await slow
            plane.deliver()
            doomed = [room.zoom_id for room in plane.meeting.second_rooms]
            await other.drain()
            plane.deliver()
    assert second is not None
    assert doomed == [str(first.number)]
    assert ([str(room.number) for room in plane.rooms()], plane.meeting.second_rooms) == ([second.zoom_id], ())


async def test_late_update_is_repaired(plane: Plane) -> None:
    """What a late update may have undone is sent again, under a fresh key."""
    plane.create()
    async with plane.worker() as worker:
        await worker.drain()
        plane.deliver()
    plane.put(plane.caller.change(topic="Second"))
    async with stalled(plane, "PATCH") as (_, stall, slow), plane.worker("b") as other:
        after_the_lease(plane)
        plane.put(plane.caller.change(topic="Third"))
        await other.run_once()
        plane.deliver()
        await other.run_once()
        plane.deliver()
        plane.rooms()[0].details = replace(plane.rooms()[0].details, topic="Second")  # the slow call lands only now
        stall.go_on.set()
        await slow
        plane.deliver()
        repair = plane.requests()
        await other.run_once()
        plane.deliver()
    assert (repair, plane.rooms()[0].details.topic, plane.requests()) == (["update:4"], "Third", [])


async def test_late_update_without_an_answer_is_repaired(plane: Plane) -> None:
    """Nobody knows what the late call did, or may still do: that alone is a reason to send the details again."""
    plane.create()
    async with plane.worker() as worker:
        await worker.drain()
        plane.deliver()
    plane.put(plane.caller.change(topic="Second"))
    async with stalled(plane, "PATCH", loses=True) as (_, stall, slow), plane.worker("b") as other:
        after_the_lease(plane)
        await other.run_once()
        plane.deliver()
        stall.go_on.set()
        await slow
        plane.deliver()
        repair = plane.requests()
        await other.run_once()
        plane.deliver()
    late = [report.outcome for report in plane.sent.outcomes() if report.kind == "late_report"]
    assert (late, repair, plane.requests()) == (["unknown"], ["update:3"], [])


async def test_claim_of_a_started_row_puts_the_room_in_doubt(plane: Plane) -> None:
    """The meeting is read back for a while when another worker's call may still be under way."""
    plane.create()
    async with stalled(plane, "POST") as (_, _, _):
        before = plane.rows("SELECT count(*) FROM unsure_meetings")
        after_the_lease(plane)
        async with plane.worker("b") as other:
            await other.run_once()
        after = plane.rows("SELECT until_at - since_at >= interval '20 minutes' FROM unsure_meetings")
    assert (before, after) == ([(0,)], [(True,)])


async def test_outcome_answered_before_it_is_settled_is_no_late_call(plane: Plane) -> None:
    """The stream may be quicker than the worker: a settle that finds its row gone reports nothing more."""
    plane.create()
    async with plane.worker() as worker:
        (claimed,) = await worker._claim(1)
        deliver = plane.sent.deliver

        async def answered_at_once(record: Outgoing) -> Delivery:
            delivery = await deliver(record)
            plane.deliver()
            return delivery

        setattr(plane.sent, "deliver", answered_at_once)  # noqa: B010 - the stream does not wait for the worker
        await worker._work(claimed)
    assert ([report.kind for report in plane.sent.outcomes()], plane.requests()) == (["outcome"], [])


@pytest.mark.parametrize("acted", [False, True], ids=["before the call", "after it"])
async def test_database_that_goes_away_in_mid_work_ends_no_worker(plane: Plane, acted: bool) -> None:
    """The row waits, its room is looked for where a call may have been made, and there is one room in the end."""
    plane.create()
    async with plane.worker(gates=(_Outage(after=acted),)) as worker:
        await worker.run_once()
        kept = plane.rows("SELECT error_code, attempts, leased_by, unknown_at IS NOT NULL FROM room_requests")
    async with plane.worker("b") as heir:
        await heir.drain()
        plane.deliver()
    assert kept == [("unavailable", int(acted), None, acted)]
    assert (len(plane.rooms(exist=False)), plane.requests(), plane.meeting.room_status) == (1, [], "ready")


class _Outage:
    """A gate whose database is away, before a call or after it."""

    def __init__(self, *, after: bool) -> None:
        self._after = after

    async def enter(self, _call: Call) -> Reply | None:
        if not self._after:
            raise Unavailable("the database is away")
        return None

    async def leave(self, _call: Call, _reply: Reply) -> None:
        raise Unavailable("the database is away")


async def test_row_that_was_taken_away_is_not_called_for(plane: Plane) -> None:
    """A cancel discards a create that was claimed but not called; the worker finds that out before it calls."""
    plane.create()
    async with plane.worker() as worker:
        (claimed,) = await worker._claim(1)
        plane.put(plane.caller.cancel())
        await worker._work(claimed)
    assert (calls(plane.zoom, "create"), plane.requests(), plane.sent.outcomes()) == ({}, ["cancel:2"], [])


@pytest.mark.parametrize("action", ["create", "update", "cancel"])
@pytest.mark.parametrize("point", ["claimed", "marked", "called", "reported", "settled"])
async def test_death_at_any_point(plane: Plane, point: str, action: str) -> None:
    """ZC49: whoever takes a dead worker's row over leaves one room as the meeting wants it, or none, and one result."""
    plane.create()
    async with plane.worker() as first:
        if action != "create":
            await first.drain()
            plane.deliver()
            plane.put(plane.caller.change(topic="Other") if action == "update" else plane.caller.cancel())
    await _die(plane, point, method={"create": "POST", "update": "PATCH", "cancel": "DELETE"}[action])
    after_the_lease(plane)
    async with plane.worker("b") as heir:
        await heir.drain()
        plane.deliver()
        plane.clock.advance(seconds=130)
        await heir.drain()
        plane.deliver()
    assert (plane.requests(), len(plane.rooms())) == ([], 0 if action == "cancel" else 1)
    if action == "update":
        assert plane.rooms()[0].details.topic == "Other"
    assert plane.meeting.room_status == ("removed" if action == "cancel" else "ready")
    assert plane.rows("SELECT count(*) FROM room_requests WHERE leased_by IS NOT NULL") == [(0,)]


async def _die(plane: Plane, point: str, *, method: str) -> None:
    """A worker that ends in the middle of its work, without a word."""
    if point == "claimed":
        async with plane.worker("dead") as worker:
            await worker._claim(1)
        return
    if point == "marked":
        async with plane.worker("dead") as worker:
            (claimed,) = await worker._claim(1)
            await worker._queue.start(claimed.request, counted=True)
        return
    if point == "settled":
        async with plane.worker("dead") as worker:
            await worker.run_once()
        return
    if point == "called":
        async with stalled(plane, method) as (_, _, working):
            working.cancel()
        return
    async with plane.worker("dead") as worker:
        setattr(worker._queue, "settle", _never)  # noqa: B010 - it dies before it can settle
        working = asyncio.create_task(worker.run_once())
        sent = len(plane.sent.outcomes())
        await eventually(lambda: len(plane.sent.outcomes()) > sent, what="the outcome was sent")
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
    # The outcome was sent, and the stream is slow: nothing of it is projected before the heir works.


async def test_each_claim_that_called_counts_as_an_attempt(plane: Plane) -> None:
    """ZC48 4: a request whose workers die one after the other shows it, and is done by the first that lives."""
    plane.create()
    async with plane.worker("mortal") as mortal:
        for _ in range(5):
            (claimed,) = await mortal._claim(1)
            await mortal._queue.start(claimed.request, counted=True)
            after_the_lease(plane)
    attempts = plane.rows("SELECT attempts FROM room_requests")
    async with plane.worker("b") as heir:
        for _ in range(2):
            await heir.drain()
            plane.deliver()
            plane.clock.advance(seconds=130)
    assert (attempts, plane.requests(), plane.meeting.room_status, len(plane.rooms())) == ([(5,)], [], "ready", 1)


@pytest.mark.parametrize("unlisted_seconds", [0, 10, 110], ids=["listed at once", "on the second look", "after long"])
async def test_room_of_a_dead_worker_is_found(plane: Plane, unlisted_seconds: int) -> None:
    """ZC36 F4: killed after the 201 and before it could tell: whenever lists show the room, there is no other."""
    if unlisted_seconds:
        order(plane.zoom, Kind.UNLISTED, seconds=unlisted_seconds + 121)  # the lease runs out first
    plane.create()
    await _die(plane, "called", method="POST")
    after_the_lease(plane)
    async with plane.worker("b") as heir:
        for _ in range(10):
            await heir.drain()
            plane.deliver()
            plane.clock.advance(seconds=15)
    assert (calls(plane.zoom, "create"), plane.requests(), plane.meeting.room_status) == ({201: 1}, [], "ready")


async def _never(*_: object) -> bool:
    await asyncio.Event().wait()
    return False


async def test_worker_runs_until_it_is_stopped(plane: Plane) -> None:
    """The loop takes work at once when the bell rings, and ends when what is in hand is done."""
    bell, stop = asyncio.Event(), asyncio.Event()
    async with plane.worker(rooms=QUICK.model_copy(update={"poll_seconds": 600.0})) as worker:
        running = asyncio.create_task(worker.run(bell=bell, stop=stop))
        await asyncio.sleep(0)
        plane.create()
        bell.set()
        await eventually(lambda: plane.rows("SELECT 1 FROM room_requests WHERE settled_at IS NOT NULL"), what="settled")
        stop.set()
        bell.set()
        await asyncio.wait_for(running, timeout=10)
    assert (len(plane.rooms()), len(worker.in_hand)) == (1, 0)


def test_lease_settings_leave_room_for_a_call() -> None:
    """A lease outlasts a whole call with all its tries, so that a healthy worker never loses one."""
    rooms = RoomSettings()
    longest = rooms.call_attempts * (rooms.call_timeout_seconds + rooms.call_backoff_seconds[1])
    assert (longest < rooms.lease_seconds, rooms.lease_seconds * 5 <= rooms.unsure_seconds) == (True, True)
