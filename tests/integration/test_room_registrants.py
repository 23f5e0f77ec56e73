"""Registrants at Zoom: added once, decided about, parked one by one (ZC39)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from reconciler.rooms.worker import RoomWorker
from schemas.records.meeting_events import RegistrantState
from simulator.faults import Kind
from simulator.model import Registrant
from tests.command_plane import Plane
from tests.zoom_calls import calls, order


@asynccontextmanager
async def ready(plane: Plane, *, approval_type: int = 0) -> AsyncIterator[RoomWorker]:
    """A worker, and a meeting with its room that takes registrations."""
    plane.create(settings={"approval_type": approval_type})
    async with plane.worker(gated=True) as worker:
        await work(plane, worker)
        yield worker


async def work(plane: Plane, worker: RoomWorker) -> None:
    """Whatever is due is done and projected."""
    for _ in range(3):
        await worker.drain()
        plane.deliver()


def people(plane: Plane) -> list[Registrant]:
    """Registrants at Zoom."""
    return list(plane.rooms()[0].registrants.values())


def person(plane: Plane, email: str = "guest.one@example.com") -> RegistrantState:
    """The person as the meeting knows it."""
    return plane.table.registrant(plane.caller, email)


async def test_person_is_added_once(plane: Plane) -> None:
    """ZC39 a: however often and in whatever case it is asked for, Zoom is asked once, and the link is known."""
    async with ready(plane) as worker:
        plane.put(*(plane.caller.add(email) for email in ("guest.one@example.com", "Guest.One@example.com") * 3))
        await work(plane, worker)
        plane.put(plane.caller.add())
        await work(plane, worker)
    (known,) = people(plane)
    assert (calls(plane.zoom, "register"), person(plane).registrant_id) == ({201: 1}, known.registrant_id)
    assert (person(plane).status, person(plane).join_url, plane.requests()) == ("approved", known.join_url, [])
    assert plane.rows("SELECT status, registrant_id FROM registrants") == [("approved", known.registrant_id)]


async def test_registrant_waits_for_the_room(plane: Plane) -> None:
    """Nobody is registered before there is a room."""
    plane.create(settings={"approval_type": 0})
    plane.put(plane.caller.add())
    async with plane.worker() as worker:
        first = await worker.run_once()
        early = calls(plane.zoom, "register")
        plane.deliver()
        await work(plane, worker)
    assert (first, early, person(plane).status) == (1, {}, "approved")


async def test_only_that_person_is_parked(plane: Plane) -> None:
    """ZC39 b: a person's daily limit parks that person until midnight, without an attempt; the others go on."""
    async with ready(plane) as worker:
        order(plane.zoom, Kind.TOO_MANY, "register", limit="registrant_daily")
        plane.put(plane.caller.add())
        await work(plane, worker)
        plane.put(plane.caller.add("guest.two@example.com"))
        await work(plane, worker)
        waiting = plane.rows("SELECT attempts, due_at::date::text FROM room_requests")
        parked = plane.rows("SELECT count(*) FROM parked")
        plane.clock.advance(hours=9, minutes=2)
        await work(plane, worker)
    assert (waiting, parked, person(plane, "guest.two@example.com").status) == ([(0, "2026-12-02")], [(0,)], "approved")
    assert person(plane).status == "approved"


async def test_outcomes_are_kept_for_each_person(plane: Plane) -> None:
    """ZC39 c, f: one who is refused fails with Zoom's reason, once; the others are registered."""
    async with ready(plane) as worker:
        emails = [f"guest-{number}@example.com" for number in range(5)]
        plane.put(plane.caller.add(emails[0]))
        order(plane.zoom, Kind.ERROR, "register", status=400, code=3000, message="You have reached the limit.")
        await work(plane, worker)
        plane.put(*(plane.caller.add(email) for email in emails[1:]))
        await work(plane, worker)
        plane.put(*(plane.caller.add(email) for email in emails[1:]))
        await work(plane, worker)
    failed = person(plane, emails[0])
    assert failed.problem is not None
    assert (failed.status, failed.problem.code, plane.requests()) == ("failed", "3000", [])
    assert {person(plane, email).status for email in emails[1:]} == {"approved"}
    assert calls(plane.zoom, "register") == {400: 1, 201: 4}


async def test_lost_answer_costs_no_second_add(plane: Plane) -> None:
    """A person whose add may have worked is looked for first."""
    async with ready(plane) as worker:
        order(plane.zoom, Kind.ABORT, "register", acts=True)
        plane.put(plane.caller.add())
        await work(plane, worker)
    (known,) = people(plane)
    assert (sum(calls(plane.zoom, "register").values()), person(plane).registrant_id) == (1, known.registrant_id)
    assert person(plane).join_url == known.join_url


async def test_manual_approval(plane: Plane) -> None:
    """A person who waits has no link; an approved one has, and a denied one has none again."""
    async with ready(plane, approval_type=1) as worker:
        plane.put(plane.caller.add())
        await work(plane, worker)
        waiting = (person(plane).status, person(plane).join_url)
        plane.put(plane.caller.set("approve"))
        await work(plane, worker)
        approved = (person(plane).status, person(plane).join_url)
        plane.put(plane.caller.set("deny"))
        await work(plane, worker)
    (known,) = people(plane)
    assert (waiting, approved) == (("pending", None), ("approved", known.join_url))
    assert (known.status, person(plane).status, person(plane).join_url) == ("denied", "denied", None)


async def test_cancelled_and_registered_again(plane: Plane) -> None:
    """ZC39 e: only then Zoom is asked anew."""
    async with ready(plane) as worker:
        plane.put(plane.caller.add())
        await work(plane, worker)
        plane.put(plane.caller.set("cancel"))
        await work(plane, worker)
        cancelled = person(plane).status
        plane.put(plane.caller.add())
        await work(plane, worker)
    assert (cancelled, person(plane).status, calls(plane.zoom, "register")) == ("cancelled", "approved", {201: 2})


async def test_meeting_without_a_room_registers_nobody(plane: Plane) -> None:
    """The registrant fails with the reason, and can be added again later."""
    plane.create(host="nobody@example.com", settings={"approval_type": 0})
    async with plane.worker() as worker:
        await work(plane, worker)
        plane.put(plane.caller.add())
        await work(plane, worker)
    problem = person(plane).problem
    assert problem is not None
    assert (person(plane).status, problem.code, plane.requests()) == ("failed", "no_room", [])


async def test_registrant_without_a_gateway_waits(plane: Plane) -> None:
    """The person is told so once, and registered when the gateway is back."""
    async with ready(plane):
        plane.put(plane.caller.add())
    async with plane.worker("b", accounts=()) as off:
        await off.run_once()
        plane.deliver()
        await off.run_once()
        plane.deliver()
    told = person(plane).problem
    async with plane.worker("c") as worker:
        await work(plane, worker)
    assert told is not None
    assert (told.code, person(plane).status, person(plane).problem) == ("provider_unavailable", "approved", None)


async def test_registrants_do_not_hold_the_meeting_up(plane: Plane) -> None:
    """A change of the meeting is done while people wait to be registered."""
    async with ready(plane) as worker:
        order(plane.zoom, Kind.ERROR, "register", count=None, status=503)
        plane.put(plane.caller.add())
        await worker.run_once()
        plane.put(plane.caller.change(topic="Other"))
        await worker.run_once()
        plane.deliver()
    assert plane.rooms()[0].details.topic == "Other"


async def test_decisions_that_are_due_together_go_together(plane: Plane) -> None:
    """Forty people are approved in two calls, of the ten that a meeting has a day; each outcome is the person's own."""
    emails = [f"guest-{number:02d}@example.com" for number in range(40)]
    async with ready(plane, approval_type=1) as worker:
        plane.put(*(plane.caller.add(email) for email in emails))
        await work(plane, worker)
        plane.put(*(plane.caller.set("approve", email) for email in emails))
        await worker.run_once()
        plane.deliver()
        await work(plane, worker)
    approved = {person(plane, email).status for email in emails}
    links = {person(plane, email).join_url for email in emails}
    assert (approved, len(links), None in links, plane.requests()) == ({"approved"}, 40, False, [])
    assert sum(calls(plane.zoom, "registrant_status").values()) <= 4


@pytest.mark.parametrize("approval_type", [0, 1])
async def test_people_follow_their_meeting_to_another_room(plane: Plane, approval_type: int) -> None:
    """After a change of the host each link is one to the new room, also for who was approved by hand; nobody is asked twice."""
    emails = ["guest.one@example.com", "guest.two@example.com"]
    async with ready(plane, approval_type=approval_type) as worker:
        plane.put(*(plane.caller.add(email) for email in emails))
        await work(plane, worker)
        plane.put(*(plane.caller.set("approve", email) for email in emails))
        await work(plane, worker)
        plane.put(plane.caller.change(host="host-02@example.com"))
        await work(plane, worker)
        moved = [await plane.moves.run_once()]
        plane.deliver()
        await work(plane, worker)
        moved.append(await plane.moves.run_once())
    (room,) = plane.rooms()
    links = {each.email: each.join_url for each in room.registrants.values()}
    assert (moved, room.host.email, plane.requests()) == ([2, 0], "host-02@example.com", [])
    assert {email: (person(plane, email).status, person(plane, email).join_url) for email in emails} == {
        email: ("approved", links[email]) for email in emails
    }


async def test_nobody_follows_to_a_meeting_that_takes_none(plane: Plane) -> None:
    """The refusal is final: it is not asked over and over."""
    async with ready(plane) as worker:
        plane.put(plane.caller.add())
        await work(plane, worker)
        plane.put(plane.caller.change(host="host-02@example.com", settings={"approval_type": 2}))
        await work(plane, worker)
        first = await plane.moves.run_once()
        plane.deliver()
    assert (first, plane.rows("SELECT moved FROM registrants")) == (1, [(False,)])
