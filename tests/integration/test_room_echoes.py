"""Webhooks about rooms of our own, beside the calls that cause them: before our answer, and as an echo after it.

Zoom's HTTP, its webhooks and PostgreSQL are real; webhooks are folded when a test hears them, and then twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import pytest

from projectors.rooms import RoomsProjection
from runtime.settings import Settings
from schemas.codec import decode
from schemas.records.zoom_events import ZoomEvent
from simulator.faults import Kind
from tests.command_plane import Plane, Stall, command_plane
from tests.rooms import Rooms, decoded
from tests.simulated_zoom import ACCOUNT, Endpoint, webhook_endpoint
from tests.zoom_calls import calls, order
from zoom.webhooks import parse


@dataclass(kw_only=True)
class Listening:
    """A command plane whose Zoom sends webhooks."""

    plane: Plane
    endpoint: Endpoint
    rooms: Rooms = field(default_factory=Rooms)

    def hear(self) -> None:
        """Fold and project all webhooks that have come, the old ones again, and what the workers saw."""
        assert self.plane.zoom.control("GET", "/settled", params={"wait": 20})["settled"]
        known = len(self.rooms.outputs)
        self.rooms.hear(*[_event(each, self.plane) for each in self.endpoint.received] * 2)
        self.rooms.hear(*(decode(each.value, ZoomEvent) for each in self._observed()))
        with self.plane.connection.transaction(), self.plane.connection.cursor() as cursor:
            RoomsProjection().apply(cursor, decoded(self.rooms.outputs[known:]))

    def happens(self, what: str) -> None:
        """Something is done to the newest room in Zoom; without a name it is deleted."""
        where = f"/meetings/{self.number}"
        if what:
            self.plane.zoom.control("POST", f"{where}/{what}")
        else:
            self.plane.zoom.control("DELETE", where)

    @property
    def number(self) -> int:
        """Of the newest room."""
        return self.plane.rooms(exist=False)[-1].number

    def room(self) -> tuple[Any, ...]:
        """Existence and link of the one room that the read model has; it fails when there are two."""
        (row,) = self.plane.rows("SELECT existence, shown ->> 'join_url' FROM rooms")
        return row

    def runs(self) -> list[str]:
        """Status of each run that the read model has."""
        return [status for (status,) in self.plane.rows("SELECT status FROM instances")]

    def _observed(self) -> list[Any]:
        return [each for each in self.plane.sent.records if each.topic == "zoom-events"]


@pytest.fixture
def zoom(settings: Settings) -> Iterator[Listening]:
    """A plane of the test's own."""
    with webhook_endpoint() as endpoint:
        subscribed = replace(ACCOUNT, webhook_url=endpoint.url)
        with command_plane(settings, accounts=(subscribed,)) as plane:
            yield Listening(plane=plane, endpoint=endpoint)


async def test_echo_of_our_own_deletion_and_what_follows_it(zoom: Listening) -> None:
    """ZC27: our deletion is told twice, then the room is recovered and deleted for good: no work, no error, one room."""
    plane, existences = zoom.plane, []
    plane.create()
    async with plane.worker() as worker:
        await worker.run_once()
        plane.deliver()
        zoom.hear()
        link = zoom.room()[1]
        plane.put(plane.caller.cancel())
        await worker.run_once()
        plane.deliver()
        for done in ((), ("recover",), ("", "purge")):
            for what in done:
                plane.clock.advance(seconds=60)
                zoom.happens(what)
            zoom.hear()
            existences.append(zoom.room())
        await worker.run_once()
    assert existences == [("deleted", link), ("exists", link), ("permanently_deleted", link)]
    assert (plane.meeting.room_status, plane.requests(), calls(plane.zoom, "delete")) == ("removed", [], {204: 1})


async def test_series_whose_answer_is_lost_is_one_room(zoom: Listening) -> None:
    """ZC28: one create for all dates, and none again when nobody heard the answer."""
    plane = zoom.plane
    order(plane.zoom, Kind.ABORT, acts=True)
    plane.create(recurrence={"type": 1, "end_times": 4})
    async with plane.worker() as worker:
        await worker.run_once()
        zoom.hear()
        plane.clock.advance(seconds=30)
        await worker.drain()
        plane.deliver()
    (room,) = plane.rooms()
    assert (len(room.occurrences), plane.meeting.room_status, plane.zoom.service.world.rooms_made) == (4, "ready", 1)
    assert sum(calls(plane.zoom, "create").values()) == 1


async def test_webhooks_that_come_before_our_answer(zoom: Listening) -> None:
    """ZC32: created and started come while the create is still under way; afterwards all is of one room."""
    plane, stall = zoom.plane, Stall(httpx.AsyncHTTPTransport(), "POST")
    plane.create()
    async with plane.worker(wrap=lambda _: stall) as worker:
        working = asyncio.create_task(worker.run_once())
        await asyncio.wait_for(stall.reached.wait(), 60)
        zoom.happens("start")
        zoom.hear()
        early = (zoom.room()[0], zoom.runs(), plane.meeting.room_status)
        stall.go_on.set()
        await working
        plane.deliver()
        zoom.hear()
    assert early == ("exists", ["started"], "pending")
    _check_one_room(zoom)


async def test_webhooks_that_come_and_the_worker_dies_before_the_answer(zoom: Listening) -> None:
    """ZC32: the room that the webhook announced is adopted, although no list shows it; nobody creates another."""
    plane, stall = zoom.plane, Stall(httpx.AsyncHTTPTransport(), "POST")
    order(plane.zoom, Kind.UNLISTED, seconds=3600)
    plane.create()
    async with plane.worker(wrap=lambda _: stall) as worker:
        working = asyncio.create_task(worker.run_once())
        await asyncio.wait_for(stall.reached.wait(), 60)
        zoom.happens("start")
        working.cancel()
    zoom.hear()
    plane.clock.advance(minutes=3)
    async with plane.worker("successor") as worker:
        await worker.drain()
        plane.deliver()
        zoom.hear()
    _check_one_room(zoom)


def _check_one_room(zoom: Listening) -> None:
    plane = zoom.plane
    assert plane.meeting.room is not None
    found = (plane.meeting.room.zoom_id, plane.meeting.room_status, plane.meeting.room.join_url)
    assert (*found, zoom.runs()) == (str(zoom.number), "ready", zoom.room()[1], ["started"])
    assert (plane.zoom.service.world.rooms_made, plane.requests()) == (1, [])
    assert plane.rows("SELECT DISTINCT status FROM commands") == [("accepted",)]


def _event(delivered: Any, plane: Plane) -> ZoomEvent:
    return parse(
        delivered.body,
        account_id=ACCOUNT.account_id,
        request_id=delivered.headers.get("x-zm-request-id"),
        received_at=plane.clock.now(),
        source="webhook",
    )
