"""Room work after the database was lost and made anew: nobody knows which calls were made, so everybody looks first."""

from __future__ import annotations

from simulator.faults import Kind
from tests.command_plane import Plane, stalled
from tests.zoom_calls import calls, order


async def test_room_of_a_lost_database_is_found_and_not_made_again(plane: Plane) -> None:
    """The worker that had made it died with the database; the request that comes back with a rebuild looks first."""
    plane.create()
    async with stalled(plane, "POST") as (_, _, working):
        working.cancel()
    plane.rebuild()
    async with plane.worker("heir") as heir:
        await heir.drain()
        plane.deliver()
    assert (calls(plane.zoom, "create"), plane.meeting.room_status, plane.zoom.service.world.rooms_made) == (
        {201: 1},
        "ready",
        1,
    )


async def test_claim_of_a_rebuilt_row_puts_the_room_in_doubt(plane: Plane) -> None:
    """From the claim on, for the doubt of the rebuild itself may be over by then."""
    plane.create()
    plane.rebuild()
    plane.connection.execute("DELETE FROM unsure_meetings")
    async with plane.worker() as worker:
        await worker._claim(1)
    left = plane.rows("SELECT until_at - %s >= interval '20 minutes' FROM unsure_meetings", plane.clock.now())
    assert left == [(True,)]


async def test_cancel_after_a_rebuild_finds_the_room_of_a_forgotten_create(plane: Plane) -> None:
    """The create's row is not made anew, for nobody wants it; its call may be under way, so the cancel looks as long."""
    order(plane.zoom, Kind.ABORT, acts=True)
    order(plane.zoom, Kind.UNLISTED, seconds=60)
    plane.create()
    async with plane.worker() as worker:
        await worker.run_once()
        plane.put(plane.caller.cancel())
        plane.rebuild()
        pending = plane.requests()
        for _ in range(10):
            await worker.run_once()
            plane.deliver()
            plane.clock.advance(seconds=15)
    assert (pending, plane.rooms(), plane.requests(), plane.meeting.room_status) == (["cancel:2"], [], [], "removed")
