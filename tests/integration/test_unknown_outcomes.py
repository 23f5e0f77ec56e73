"""Creates whose outcome nobody knows: one room per key in every case, found by its key and never by its looks (ZC36)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from schemas.ids import AccountId
from simulator.faults import Kind
from tests.command_plane import START, Plane, decoy
from tests.meeting_commands import Caller
from tests.simulated_zoom import ACCOUNT
from tests.waiting import eventually
from tests.zoom_calls import app_of, calls, order


async def work_until_settled(plane: Plane) -> None:
    """Workers come and go while time passes, until nothing is to be done; at most twenty minutes."""
    async with plane.worker("later") as worker:
        for _ in range(40):
            if not plane.requests():
                return
            await worker.run_once()
            plane.deliver()
            plane.clock.advance(seconds=30)
    raise AssertionError(f"still to be done: {plane.requests()}")


FAULTS: dict[str, tuple[Kind, dict[str, Any]]] = {
    "F2 reply lost after commit": (Kind.ABORT, {"acts": True}),
    "F2 no reply in time": (Kind.HANG, {"acts": True, "seconds": 5}),
    "F3 504 after commit": (Kind.ERROR, {"status": 504, "acts": True, "body": "<html>gateway</html>"}),
    "F3 500 after commit": (Kind.ERROR, {"status": 500, "acts": True}),
    "F5 truncated JSON": (Kind.TRUNCATE, {}),
    "F5 cut connection": (Kind.CUT, {}),
}
NEVER_MADE: dict[str, tuple[Kind, dict[str, Any]]] = {
    "F2 reply lost before": (Kind.ABORT, {}),
    "F3 502 before": (Kind.ERROR, {"status": 502, "body": ""}),
    "404 of a proxy": (Kind.ERROR, {"status": 404, "body": "<html>not found</html>"}),
    "200 of a login page": (Kind.ERROR, {"status": 200, "body": "<html>login</html>"}),
}


@pytest.mark.parametrize("unlisted_seconds", [0, 10, 110], ids=["listed at once", "on the second look", "after long"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_room_that_was_made_is_found(plane: Plane, fault: str, unlisted_seconds: int) -> None:
    """One room per key, whenever lists show it; a room with the same topic and time is left alone."""
    other = decoy(plane)
    kind, details = FAULTS[fault]
    order(plane.zoom, kind, **details)
    if unlisted_seconds:
        order(plane.zoom, Kind.UNLISTED, seconds=unlisted_seconds)
    plane.create()
    async with plane.worker() as worker:
        await worker.run_once()
        plane.deliver()
    await work_until_settled(plane)
    made = [room for room in plane.rooms(exist=False) if room is not other]
    assert plane.meeting.room is not None
    assert ([str(room.number) for room in made], plane.meeting.room_status) == ([plane.meeting.room.zoom_id], "ready")
    assert (sum(calls(plane.zoom, "create").values()), other.exists, other.details.topic) == (1, True, "Planning call")


@pytest.mark.parametrize("fault", NEVER_MADE)
async def test_room_that_was_not_made_is_made_after_looking(plane: Plane, fault: str) -> None:
    """A second create comes only after look-ups over the whole time have found nothing, and uses the same key."""
    kind, details = NEVER_MADE[fault]
    order(plane.zoom, kind, **details)
    plane.create()
    async with plane.worker() as worker:
        await worker.run_once()
        for _ in range(11):
            plane.clock.advance(seconds=10)
            await worker.run_once()
        early = sum(calls(plane.zoom, "create").values())
        plane.clock.advance(seconds=20)
        await worker.drain()
        plane.deliver()
    (room,) = plane.rooms()
    looks = sum(calls(plane.zoom, "list").values())
    assert (early, calls(plane.zoom, "create")[201], looks, plane.requests()) == (1, 1, 5, [])
    assert room.details.agenda == f"[roomkeeper {plane.caller.meeting_id}:create:1]"


async def test_nothing_sent_is_tried_again_at_once(plane: Plane) -> None:
    """ZC36 F1: a connection that never stood needs no look-up, and leaves the request as if it had not been tried."""
    plane.create()
    async with plane.worker(app=app_of(plane.zoom, api_url="http://127.0.0.1:1")) as unlucky:
        await unlucky.run_once()
        kept = plane.rows("SELECT started_at, unknown_at, attempts, error_code FROM room_requests")
    async with plane.worker() as worker:
        await worker.run_once()
        plane.deliver()
    assert kept == [(None, None, 1, "unreachable")]
    assert (calls(plane.zoom, "list"), calls(plane.zoom, "create"), plane.requests()) == ({}, {201: 1}, [])


async def test_look_up_reads_every_page(plane: Plane) -> None:
    """ZC36 c: the room may stand on a later page of its host's list."""
    for _ in range(301):
        decoy(plane)
    order(plane.zoom, Kind.ABORT, acts=True)
    plane.create(start_time="2027-06-20T09:00:00")
    async with plane.worker() as worker:
        await worker.run_once()
        await worker.run_once()
        plane.deliver()
    assert plane.meeting.room is not None
    assert (calls(plane.zoom, "list"), plane.meeting.room_status, plane.zoom.service.world.rooms_made) == (
        {200: 2},
        "ready",
        302,
    )


async def test_list_that_cannot_be_read_proves_nothing(plane: Plane) -> None:
    """While the list is not to be had, nobody creates again, however long that is."""
    order(plane.zoom, Kind.ABORT, acts=True)
    order(plane.zoom, Kind.ERROR, "list", count=None, status=503, body="")
    plane.create()
    async with plane.worker() as worker:
        for _ in range(20):
            await worker.run_once()
            plane.clock.advance(seconds=60)
        during = (sum(calls(plane.zoom, "create").values()), plane.requests())
        plane.zoom.service.faults.clear()
        await worker.drain()
        plane.deliver()
    assert (during, len(plane.rooms()), plane.requests()) == ((1, ["create:1"]), 1, [])


async def test_announced_room_is_looked_at(plane: Plane) -> None:
    """ZC32: a webhook announced the room before any list showed it; its own agenda proves it."""
    order(plane.zoom, Kind.ABORT, acts=True)
    order(plane.zoom, Kind.UNLISTED, seconds=3600)
    plane.create()
    async with plane.worker() as worker:
        await worker.run_once()
        announce(plane)
        await worker.run_once()
        plane.deliver()
    assert (plane.meeting.room_status, sum(calls(plane.zoom, "create").values())) == ("ready", 1)


async def test_room_announced_under_an_earlier_topic_is_looked_at(plane: Plane) -> None:
    """The meeting's topic has changed since the call whose outcome is unknown: the host is the same."""
    async with plane.worker(gated=True) as worker:
        plane.put(Caller(key="earlier", account=AccountId(ACCOUNT.account_id)).create(start_time=START))
        await worker.run_once()
        plane.deliver()
        order(plane.zoom, Kind.ABORT, acts=True)
        order(plane.zoom, Kind.UNLISTED, seconds=3600)
        plane.create()
        await worker.run_once()
        announce(plane)
        plane.put(plane.caller.change(topic="Other"))
        await worker.run_once()
        plane.deliver()
    assert (plane.meeting.room_status, sum(calls(plane.zoom, "create").values())) == ("ready", 2)


async def test_announced_room_is_looked_at_among_many_of_its_topic(plane: Plane) -> None:
    """Others of the account call theirs the same, and were heard of later: the host's are looked at first."""
    async with plane.worker(gated=True) as worker:
        plane.put(Caller(key="earlier", account=AccountId(ACCOUNT.account_id)).create(start_time=START))
        await worker.run_once()
        plane.deliver()
        order(plane.zoom, Kind.ABORT, acts=True)
        order(plane.zoom, Kind.UNLISTED, seconds=3600)
        plane.create()
        await worker.run_once()
        announce(plane)
        plane.connection.execute(
            "INSERT INTO room_states (account_id, zoom_id, topic, host_id, last_seen_event_at, generation, revision)"
            " SELECT r.account_id, 'other ' || n, r.topic, 'somebody', r.last_seen_event_at + interval '1 second', 0, 0"
            " FROM (SELECT * FROM room_states ORDER BY last_seen_event_at DESC LIMIT 1) AS r, generate_series(1, 25) AS n"
        )
        await worker.run_once()
        plane.deliver()
    assert (plane.meeting.room_status, sum(calls(plane.zoom, "create").values())) == ("ready", 2)


async def test_room_of_another_create_is_not_this_ones(plane: Plane) -> None:
    """A room that carries another key of the same meeting is no proof of what became of this call."""
    order(plane.zoom, Kind.ABORT)
    plane.create()
    other = decoy(plane)
    other.details = replace(other.details, agenda=f"[roomkeeper {plane.caller.meeting_id}:create:7]")
    async with plane.worker() as worker:
        await worker.run_once()
    await work_until_settled(plane)
    assert plane.meeting.room is not None
    assert (plane.meeting.room.provider_key, len(plane.rooms())) == (f"{plane.caller.meeting_id}:create:1", 2)


def announce(plane: Plane) -> None:
    """What a `meeting.created` webhook leaves in the rooms table, for every room."""
    for room in plane.rooms():
        plane.connection.execute(
            "INSERT INTO room_states (account_id, zoom_id, topic, host_id, said, last_seen_event_at, generation, revision)"
            " VALUES (%s, %s, %s, %s, 'created', %s, 0, 0)",
            (room.account.account_id, str(room.number), room.details.topic, room.host.host_id, plane.clock.now()),
        )


async def test_announced_decoy_is_not_taken(plane: Plane) -> None:
    """A person's room of the same topic is announced too; without the key it is nothing to us."""
    order(plane.zoom, Kind.ABORT)
    plane.create()
    other = decoy(plane)
    async with plane.worker() as worker:
        await worker.run_once()
        announce(plane)
        await worker.run_once()
        plane.clock.advance(seconds=200)
        await worker.drain()
        plane.deliver()
    assert plane.meeting.room is not None
    assert (plane.meeting.room.zoom_id != str(other.number), other.exists, len(plane.rooms())) == (True, True, 2)


async def test_found_room_with_other_details_is_updated(plane: Plane) -> None:
    """What the lost call had sent is not what is wanted now."""
    order(plane.zoom, Kind.ABORT, acts=True)
    plane.create()
    async with plane.worker() as worker:
        await worker.run_once()
        plane.put(plane.caller.change(topic="Other"))
        await worker.run_once()
        plane.deliver()
        await worker.run_once()
        plane.deliver()
    (room,) = plane.rooms()
    assert (room.details.topic, plane.requests()) == ("Other", [])


async def test_cancelled_while_its_create_is_in_doubt(plane: Plane) -> None:
    """The room that the lost call made is found and removed."""
    order(plane.zoom, Kind.ABORT, acts=True)
    plane.create()
    async with plane.worker() as worker:
        await worker.run_once()
        plane.put(plane.caller.cancel())
        pending = plane.requests()
    await work_until_settled(plane)
    assert (pending, plane.rooms(), plane.meeting.room_status) == (["create:1", "cancel:2"], [], "removed")


async def test_cancelled_create_that_made_nothing(plane: Plane) -> None:
    """No room is made for a cancelled meeting, however the look-ups end."""
    order(plane.zoom, Kind.ABORT)
    plane.create()
    async with plane.worker() as worker:
        await worker.run_once()
        plane.put(plane.caller.cancel())
    await work_until_settled(plane)
    assert (plane.zoom.service.world.rooms_made, plane.meeting.room_status) == (0, "removed")


async def test_broker_that_is_away_delays_the_outcome_only(plane: Plane) -> None:
    """The outcome is sent when the broker is back; the room is made once, and the row is settled after that."""
    plane.create()
    plane.sent.down = True
    async with plane.worker() as worker:
        working = asyncio.create_task(worker.run_once())
        await eventually(lambda: plane.sent.offered, what="the outcome was offered to the broker")
        unsettled = plane.rows("SELECT settled_at FROM room_requests")
        plane.sent.down = False
        await working
        plane.deliver()
    assert (unsettled, calls(plane.zoom, "create"), plane.requests()) == ([(None,)], {201: 1}, [])
