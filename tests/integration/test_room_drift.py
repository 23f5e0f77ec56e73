"""Drift: rooms that somebody changed or deleted in Zoom, restored, accepted or reported."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from reconciler.rooms.worker import RoomWorker
from simulator import answers
from simulator.faults import Kind
from tests.command_plane import QUICK, Plane
from tests.simulated_zoom import ACCOUNT
from tests.zoom_calls import calls, order


@asynccontextmanager
async def ready(plane: Plane, drift: str) -> AsyncIterator[RoomWorker]:
    """A worker and a meeting that has its room, under a setting of what to do about drift."""
    plane.create()
    async with plane.worker(rooms=QUICK.model_copy(update={"drift": drift})) as worker:
        await work(plane, worker)
        yield worker


async def work(plane: Plane, worker: RoomWorker) -> None:
    """Whatever is due is done and projected."""
    await worker.drain()
    plane.deliver()
    await worker.drain()
    plane.deliver()


async def sweep(plane: Plane) -> None:
    """The next sweep comes and is projected."""
    plane.clock.advance(seconds=700)
    await plane.sweep.run_once()
    plane.deliver()


def change(plane: Plane, **details: Any) -> None:
    """Somebody changes the room in Zoom."""
    room = plane.rooms()[0]
    settings = details.pop("settings", {})
    room.details = replace(room.details, **details, settings={**room.details.settings, **settings})


def heard(plane: Plane) -> None:
    """A webhook told of the room as it is now."""
    room = plane.rooms()[0]
    shown = answers.whole_room(room)
    plane.connection.execute(
        "INSERT INTO room_states (account_id, zoom_id, topic, said, last_seen_event_at, shown, generation, revision)"
        " VALUES (%s, %s, %s, 'created', %s, %s, 0, 0)"
        " ON CONFLICT (account_id, zoom_id) DO UPDATE SET shown = excluded.shown",
        (ACCOUNT.account_id, str(room.number), room.details.topic, plane.clock.now(), Jsonb(shown)),
    )


async def test_changed_room_is_restored(plane: Plane) -> None:
    """What the list shows otherwise is sent again."""
    async with ready(plane, "restore") as worker:
        change(plane, topic="Theirs", duration_minutes=15)
        await sweep(plane)
        await work(plane, worker)
    room = plane.rooms()[0]
    assert (room.details.topic, room.details.duration_minutes, plane.meeting.problem) == ("Planning call", 60, None)


async def test_setting_that_only_a_webhook_tells_is_restored(plane: Plane) -> None:
    """Lists know no settings; what webhooks say of them is compared too."""
    async with ready(plane, "restore") as worker:
        change(plane, settings={"waiting_room": False})
        await sweep(plane)
        unheard = plane.requests()
        heard(plane)
        await sweep(plane)
        await work(plane, worker)
    assert (unheard, plane.rooms()[0].details.settings["waiting_room"]) == ([], True)


async def test_deleted_room_is_made_anew(plane: Plane) -> None:
    """A room that is missing in a whole list, and that Zoom does not know, is restored by another."""
    async with ready(plane, "restore") as worker:
        first = plane.rooms()[0]
        first.deleted_at = plane.clock.now()
        await sweep(plane)
        await work(plane, worker)
    (room,) = plane.rooms()
    assert (room.number != first.number, plane.meeting.room_status) == (True, "ready")


async def test_room_is_restored_at_most_twice_a_day(plane: Plane) -> None:
    """Whoever insists wins for the day, and the host's budget is not used up."""
    async with ready(plane, "restore") as worker:
        for _ in range(4):
            change(plane, topic="Theirs")
            await sweep(plane)
            await work(plane, worker)
    assert plane.meeting.problem is not None
    assert (calls(plane.zoom, "update"), plane.rooms()[0].details.topic, plane.meeting.problem.code) == (
        {204: 2},
        "Theirs",
        "drifted",
    )


@pytest.mark.parametrize(("setting", "problem"), [("report", "drifted"), ("accept", None)])
async def test_changed_room_is_left(plane: Plane, setting: str, problem: str | None) -> None:
    """It is told once, or not at all, and nothing is written."""
    async with ready(plane, setting) as worker:
        change(plane, topic="Theirs")
        for _ in range(3):
            await sweep(plane)
            await work(plane, worker)
    reports = [each.kind for each in plane.sent.outcomes() if each.kind.startswith("drift")]
    assert (calls(plane.zoom, "update"), len(reports), plane.rooms()[0].details.topic) == ({}, 1, "Theirs")
    assert (plane.meeting.problem.code if plane.meeting.problem else None) == problem


async def test_recovered_room_is_ready_again(plane: Plane) -> None:
    """ZC44: a room that was gone and that a list shows again is the meeting's, whatever the setting; nothing is written."""
    async with ready(plane, "report") as worker:
        plane.rooms()[0].deleted_at = plane.clock.now()
        await sweep(plane)
        gone = plane.meeting.room_status
        plane.rooms(exist=False)[0].deleted_at = None
        await sweep(plane)
        await work(plane, worker)
    assert (gone, plane.meeting.room_status, plane.meeting.problem) == ("gone", "ready", None)
    assert (calls(plane.zoom, "update"), len(plane.rooms())) == ({}, 1)


async def test_deleted_room_is_told(plane: Plane) -> None:
    """The default writes nothing: the meeting says that its room is gone."""
    async with ready(plane, "report") as worker:
        plane.rooms()[0].deleted_at = plane.clock.now()
        await sweep(plane)
        await work(plane, worker)
    assert (plane.meeting.room_status, plane.requests(), plane.zoom.service.world.rooms_made) == ("gone", [], 1)


async def test_our_own_changes_are_no_drift(plane: Plane) -> None:
    """Neither their echoes, nor details that Zoom would not take, nor work that is pending cost a call."""
    async with ready(plane, "restore") as worker:
        order(plane.zoom, Kind.IGNORE, "update", count=None, fields=("settings.waiting_room",))
        plane.put(plane.caller.change(topic="Other", settings={"waiting_room": False}))
        await work(plane, worker)
        heard(plane)
        await sweep(plane)
        idle = (calls(plane.zoom, "get"), plane.requests())
        plane.put(plane.caller.change(topic="Third"))
        await sweep(plane)
        pending = calls(plane.zoom, "get")
    assert idle == ({200: 1}, [])
    assert pending == {200: 1}


async def test_old_news_is_no_drift(plane: Plane) -> None:
    """A webhook of before our last change costs one look, and no more than that."""
    async with ready(plane, "restore") as worker:
        heard(plane)
        plane.put(plane.caller.change(topic="Other"))
        await work(plane, worker)
        await sweep(plane)
        await work(plane, worker)
    assert (calls(plane.zoom, "update"), plane.rooms()[0].details.topic) == ({204: 1}, "Other")


async def test_list_that_is_not_whole_proves_no_deletion(plane: Plane) -> None:
    """Rooms that a broken list does not show are not looked for."""
    async with ready(plane, "restore"):
        order(plane.zoom, Kind.ERROR, "list", count=None, status=502)
        await sweep(plane)
    assert calls(plane.zoom, "get") == {}
