"""The room worker, step by step, over a real PostgreSQL and a simulated Zoom's HTTP: create, update, cancel."""

from __future__ import annotations

import asyncio

from runtime.settings import RoomSettings
from simulator.faults import Kind
from tests.command_plane import START, Plane
from tests.simulated_zoom import ACCOUNT
from tests.zoom_calls import calls, order


async def test_meeting_gets_its_room(plane: Plane) -> None:
    """A claimed create makes one room that carries its key, reports it, and the row ends when that is answered."""
    plane.create()
    async with plane.worker() as worker:
        await worker.run_once()
        settled = plane.rows("SELECT outcome, settled_at IS NOT NULL, leased_by FROM room_requests")
        plane.deliver()
    (room,) = plane.rooms()
    assert settled == [("done", True, None)]
    assert room.details.agenda == f"[roomkeeper {plane.caller.meeting_id}:create:1]"
    assert plane.meeting.room is not None
    assert (plane.meeting.room.zoom_id, plane.meeting.room_status, plane.requests()) == (str(room.number), "ready", [])


async def test_change_reaches_the_room(plane: Plane) -> None:
    """An update sends the present details whole and reads back what Zoom made of them."""
    plane.create()
    async with plane.worker() as worker:
        await worker.run_once()
        plane.deliver()
        plane.put(plane.caller.change(topic="Other", settings={"waiting_room": False}))
        await worker.run_once()
        plane.deliver()
    (room,) = plane.rooms()
    assert (room.details.topic, room.details.settings["waiting_room"], plane.requests()) == ("Other", False, [])
    assert (calls(plane.zoom, "update"), plane.meeting.problem) == ({204: 1}, None)
    assert f"[roomkeeper {plane.caller.meeting_id}:create:1]" in room.details.agenda


async def test_cancel_deletes_the_room(plane: Plane) -> None:
    """A cancelled meeting's room goes; what Zoom does not know any more is gone already."""
    plane.create()
    async with plane.worker() as worker:
        await worker.run_once()
        plane.deliver()
        plane.put(plane.caller.cancel())
        await worker.run_once()
        plane.deliver()
    assert (plane.rooms(), plane.meeting.room_status, plane.requests()) == ([], "removed", [])


async def test_cancel_before_the_create_calls_for_nothing(plane: Plane) -> None:
    """A create that never started is discarded, and no room is made."""
    plane.create()
    plane.put(plane.caller.cancel())
    async with plane.worker() as worker:
        await worker.run_once()
        plane.deliver()
    assert (plane.zoom.service.world.rooms_made, plane.meeting.room_status, plane.requests()) == (0, "removed", [])


async def test_changes_before_the_create_cost_no_update(plane: Plane) -> None:
    """The create sends the newest details, so the pending update has nothing left to do."""
    plane.create()
    plane.put(plane.caller.change(topic="Other"))
    async with plane.worker() as worker:
        await worker.run_once()
        plane.deliver()
    (room,) = plane.rooms()
    assert (room.details.topic, plane.requests(), calls(plane.zoom, "update")) == ("Other", [], {})


async def test_work_of_a_meeting_is_done_in_order(plane: Plane) -> None:
    """No row is claimed while an earlier one of its meeting exists, in whatever condition."""
    plane.create()
    plane.put(plane.caller.change(topic="Other"))
    async with plane.worker() as worker:
        claimed = await worker.run_once()
        again = await worker.run_once()
    assert (claimed, again, plane.requests()) == (1, 0, ["create:1", "update:2"])


async def test_other_host_gets_a_new_room_before_the_old_one_goes(plane: Plane) -> None:
    """A change of host makes a room under the new host, then removes the old one."""
    plane.create()
    async with plane.worker() as worker:
        await worker.run_once()
        plane.deliver()
        plane.put(plane.caller.change(host="host-02@example.com"))
        await worker.run_once()
        plane.deliver()
        both = [room.host.email for room in plane.rooms()]
        await worker.run_once()
        plane.deliver()
    (room,) = plane.rooms()
    assert both == ["host-01@example.com", "host-02@example.com"]
    assert (room.host.email, plane.meeting.second_rooms, plane.requests()) == ("host-02@example.com", (), [])


async def test_refused_create_is_a_failed_room_with_zooms_reason(plane: Plane) -> None:
    """What can never work is tried once and told."""
    plane.create(host="nobody@example.com")
    async with plane.worker() as worker:
        await worker.drain()
        plane.deliver()
    problem = plane.meeting.problem
    assert problem is not None
    assert (plane.meeting.room_status, problem.code, plane.requests()) == ("failed", "1001", [])
    assert (calls(plane.zoom, "create"), "nobody@example.com" in problem.message) == ({404: 1}, True)


async def test_same_create_after_a_refusal_asks_for_nothing(plane: Plane) -> None:
    """ZC34: the stored answer again, and the room stays failed; only a change, or a retry by hand, tries anew."""
    (first,) = plane.put(plane.caller.create(start_time=START, host="nobody@example.com"))
    async with plane.worker() as worker:
        await worker.drain()
        plane.deliver()
        (again,) = plane.put(plane.caller.create(start_time=START, host="nobody@example.com"))
        await worker.drain()
    assert (first.answer, first.event_id) == (again.answer, again.event_id)
    assert (calls(plane.zoom, "create"), plane.meeting.room_status, plane.requests()) == ({404: 1}, "failed", [])


async def test_host_that_is_gone_is_no_room_that_is_gone(plane: Plane) -> None:
    """ZC44: 404 with the code of a missing user refuses the change, tells why, and leaves the room the meeting's."""
    plane.create()
    async with plane.worker() as worker:
        await worker.drain()
        plane.deliver()
        order(plane.zoom, Kind.ERROR, "update", status=404, code=1001, message="User does not exist.")
        plane.put(plane.caller.change(topic="Other"))
        await worker.drain()
        plane.deliver()
    assert plane.meeting.problem is not None
    assert (plane.meeting.problem.code, plane.meeting.room is not None, plane.requests()) == ("1001", True, [])
    assert (calls(plane.zoom, "update"), plane.meeting.room and plane.meeting.room.gone_at) == ({404: 1}, None)


async def test_start_that_has_passed_makes_no_room(plane: Plane) -> None:
    """A create that comes too late fails, and drops the updates."""
    plane.create(start_time="2026-12-01T15:00:00")
    plane.put(plane.caller.change(topic="Other"))
    plane.clock.advance(hours=1)
    async with plane.worker() as worker:
        await worker.run_once()
        plane.deliver()
    assert plane.meeting.problem is not None
    assert (plane.meeting.problem.code, plane.requests(), calls(plane.zoom, "create")) == ("too_late", [], {})


async def test_details_that_zoom_does_not_take_are_told(plane: Plane) -> None:
    """What the read-back shows otherwise is named on the meeting."""
    plane.create()
    async with plane.worker() as worker:
        await worker.run_once()
        plane.deliver()
        order(plane.zoom, Kind.IGNORE, "update", fields=("settings.waiting_room",))
        plane.put(plane.caller.change(settings={"waiting_room": False}))
        await worker.run_once()
        plane.deliver()
    assert plane.meeting.problem is not None
    assert plane.meeting.problem.message == "Zoom did not take: settings.waiting_room."


async def test_personal_room_is_flagged(plane: Plane) -> None:
    """ZC29 b: a room that turns out to be the host's personal one is told on the meeting."""
    plane.create()
    order(plane.zoom, Kind.PERSONAL)
    async with plane.worker() as worker:
        await worker.run_once()
        plane.deliver()
    assert plane.meeting.problem is not None
    assert plane.meeting.problem.message == "Zoom did not take: settings.use_pmi."


async def test_room_that_is_gone_is_not_made_again_by_itself(plane: Plane) -> None:
    """ZC44: an update of a room that somebody deleted fails for good; a delete of it is as good as done."""
    plane.create()
    async with plane.worker() as worker:
        await worker.run_once()
        plane.deliver()
        plane.rooms()[0].deleted_at = plane.clock.now()
        plane.put(plane.caller.change(topic="Other"))
        await worker.run_once()
        plane.deliver()
        gone = (plane.meeting.room_status, plane.requests(), plane.zoom.service.world.rooms_made)
        plane.put(plane.caller.cancel())
        await worker.run_once()
        plane.deliver()
    assert (gone, plane.meeting.room_status) == (("gone", [], 1), "removed")


async def test_without_a_gateway_nothing_is_lost(plane: Plane) -> None:
    """The outcome is told once, no attempt counts, and the request is due when the gateway is back."""
    plane.create()
    async with plane.worker(accounts=()) as worker:
        for _ in range(3):
            await worker.run_once()
            plane.deliver()
    told = (len(plane.sent.outcomes()), plane.meeting.room_status)
    attempts = plane.rows("SELECT attempts, outcome FROM room_requests")
    async with plane.worker() as worker:
        await worker.run_once()
        plane.deliver()
    assert (told, attempts) == ((1, "provider_unavailable"), [(0, "provider_unavailable")])
    assert (plane.meeting.room_status, plane.meeting.problem, plane.requests()) == ("ready", None, [])


async def test_failed_calls_stay_with_growing_waits(plane: Plane) -> None:
    """Each failure counts as an attempt; the next one is drawn from a step that doubles, and Zoom's words stand beside it."""
    usual = RoomSettings(call_backoff_seconds=(0.0, 0.0))
    plane.create()
    async with plane.worker(rooms=usual) as worker:
        await worker.run_once()
        plane.deliver()
        plane.put(plane.caller.change(topic="Other"))
        order(plane.zoom, Kind.ERROR, "update", count=None, status=503, message="Service unavailable.")
        kept = []
        for _ in range(4):
            await worker.run_once()
            kept += plane.rows(
                "SELECT attempts, outcome, error_message, due_at - %s FROM room_requests", plane.clock.now()
            )
            plane.clock.advance(seconds=10)
    waits = [wait.total_seconds() for *_, wait in kept]
    assert [row[:3] for row in kept] == [(number, "unknown", "Service unavailable.") for number in (1, 2, 3, 4)]
    assert all(0 <= wait <= 0.5 * 2**number for number, wait in enumerate(waits))


async def test_what_the_worker_sees_is_observed(plane: Plane) -> None:
    """The 201 and the read-back go to zoom-events as observations, without secrets, at the time they were asked for."""
    plane.create()
    async with plane.worker() as worker:
        await worker.run_once()
        plane.deliver()
        plane.put(plane.caller.change(topic="Other"))
        await worker.run_once()
    seen = plane.sent.observations()
    secrets = plane.zoom.control("GET", "/secrets")
    leaks = [secret for kind in secrets.values() for secret in kind if any(secret in each.body for each in seen)]
    assert ([each.name for each in seen], leaks) == (["observation.meeting"] * 2, [])
    assert {(each.account_id, each.happened_at, each.source) for each in seen} == {
        (ACCOUNT.account_id, plane.clock.now(), "worker")
    }


async def test_series_becomes_one_room(plane: Plane) -> None:
    """A recurring meeting is one room with its dates."""
    plane.create(recurrence={"type": 2, "end_times": 3})
    async with plane.worker() as worker:
        await worker.run_once()
        plane.deliver()
    (room,) = plane.rooms()
    assert (len(room.occurrences), plane.meeting.problem) == (3, None)


async def test_series_keeps_its_wall_time_over_the_change_of_the_clocks(plane: Plane) -> None:
    """ZC31 h: what is sent makes 17:00 in Denver of every date, an hour later by UTC once the clocks have changed."""
    plane.create(
        start_time="2027-11-01T17:00:00",
        timezone="America/Denver",
        recurrence={"type": 2, "weekly_days": "2", "end_times": 3},
    )
    async with plane.worker() as worker:
        await worker.run_once()
        plane.deliver()
    (room,) = plane.rooms()
    starts = sorted(each.start_at.isoformat() for each in room.occurrences)
    assert starts == ["2027-11-01T23:00:00+00:00", "2027-11-09T00:00:00+00:00", "2027-11-16T00:00:00+00:00"]


async def test_settled_row_that_is_never_answered_is_taken_again(plane: Plane) -> None:
    """Ten minutes after its outcome was sent a row that is still there is asked after, and its room found by its key."""
    plane.create()
    async with plane.worker() as worker:
        await worker.run_once()
        early = await worker.run_once()
        plane.clock.advance(seconds=601)
        again = await worker.run_once()
        retried = plane.rows("SELECT retried FROM room_requests")
        plane.deliver()
    assert (early, again, retried, len(plane.rooms()), plane.requests()) == (0, 1, [(True,)], 1, [])
    assert plane.rows("SELECT count(*) FROM unsure_meetings") == [(1,)]


async def test_same_create_twice_makes_one_room(plane: Plane) -> None:
    """ZC34: two creates at once under one key are one meeting, one call and one room, and both get the same answer."""
    first, second = plane.put(plane.caller.create(start_time=START), plane.caller.create(start_time=START))
    async with plane.worker("a") as a, plane.worker("b") as b:
        await asyncio.gather(a.run_once(), b.run_once())
        plane.deliver()
    (again,) = plane.put(plane.caller.create(start_time=START))
    assert (first.answer, first.event_id) == (second.answer, second.event_id) == (again.answer, again.event_id)
    assert (calls(plane.zoom, "create"), len(plane.rooms())) == ({201: 1}, 1)
