"""Circuit breakers that all processes share, over a real PostgreSQL (ZC47)."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from reconciler.gateway.alerts import Alerts
from reconciler.gateway.breaker import Breakers
from runtime.postgres import AsyncDatabase
from runtime.settings import RoomSettings, ZoomSettings
from schemas.ids import AccountId
from simulator.faults import Kind
from tests.command_plane import START, Plane
from tests.meeting_commands import Caller
from tests.simulated_zoom import ACCOUNT
from tests.zoom_calls import answer, calls, order
from zoom.client.client import CANCELLED, Call, Reply
from zoom.client.decisions import Decision, Ruling, rule_on
from zoom.client.endpoints import GET


def reply(status: int) -> Reply:
    """What the client makes of an answer of that status to a GET."""
    given = answer(status)
    ruling = rule_on(GET, status=status, code=given.code, message="", readable=True)
    return Reply(ruling=ruling, answer=given)


TIMEOUT = Reply(ruling=Ruling(decision=Decision.RETRY, reason="no_answer"), sent=True)


LOOK = Call(endpoint=GET, account_id=ACCOUNT.account_id, meeting="1")


def breakers(plane: Plane, database: AsyncDatabase) -> Breakers:
    """The breakers of one process."""
    alerts = Alerts(database, clock=plane.clock)
    return Breakers(database, settings=ZoomSettings(), alerts=alerts, clock=plane.clock)


async def through(gate: Breakers, *outcomes: Reply) -> None:
    """Calls that end so, one after the other."""
    for outcome in outcomes:
        assert await gate.enter(LOOK) is None
        await gate.leave(LOOK, outcome)


def state(plane: Plane) -> str:
    """State of the account's breaker."""
    return str(dict(plane.rows("SELECT account_id, state FROM zoom_breakers")).get(ACCOUNT.account_id, "closed"))


def pause_is_over(plane: Plane) -> None:
    """The pause of the breaker ends now, by the database's clock."""
    plane.connection.execute("UPDATE zoom_breakers SET until_at = clock_timestamp()")


@pytest.mark.parametrize(
    ("statuses", "then"),
    [
        ((400, 400, 400, 400, 404, 404, 404, 429, 429, 429), "closed"),
        ((503, 503, 503, 503, 404, 503), "open"),
        ((503, 503, 503, 503, 200, 503), "closed"),
        ((503, 503, 503, 503), "closed"),
    ],
)
async def test_what_opens_the_breaker(
    plane: Plane, database: AsyncDatabase, statuses: tuple[int, ...], then: str
) -> None:
    """ZC47 a, b: a 4xx or 429 neither opens it nor hides failures; only a success does away with them."""
    await through(breakers(plane, database), *map(reply, statuses))
    assert state(plane) == then


async def opened(plane: Plane, database: AsyncDatabase) -> Breakers:
    """A breaker that has opened."""
    gate = breakers(plane, database)
    await through(gate, *(reply(503) for _ in range(5)))
    return gate


async def test_open_breaker_lets_nobody_through(plane: Plane, database: AsyncDatabase) -> None:
    """Calls of all processes wait for the end of the pause, and an alert stands."""
    await opened(plane, database)
    stopped = await breakers(plane, database).enter(LOOK)
    other = await breakers(plane, database).enter(Call(endpoint=GET, account_id="another", meeting="1"))
    assert stopped is not None
    assert stopped.not_before is not None
    assert (stopped.ruling.reason, other) == ("breaker_open", None)
    assert timedelta(seconds=1) <= stopped.not_before - plane.clock.now() <= timedelta(seconds=15)
    assert plane.rows("SELECT name FROM alerts WHERE until_at IS NULL") == [("zoom_breaker_open",)]


@pytest.mark.parametrize("status", [404, 200, 429])
async def test_one_probe_closes_it(plane: Plane, database: AsyncDatabase, status: int) -> None:
    """ZC47 c: after the pause one of twenty calls goes through, and whatever Zoom answers closes the breaker."""
    await opened(plane, database)
    pause_is_over(plane)
    gates = [breakers(plane, database) for _ in range(20)]
    answers = await asyncio.gather(*(gate.enter(LOOK) for gate in gates))
    probe = gates[answers.index(None)]
    await probe.leave(LOOK, reply(status))
    assert (answers.count(None), state(plane)) == (1, "closed")
    assert plane.rows("SELECT count(*) FROM alerts WHERE until_at IS NULL") == [(0,)]


async def test_others_look_again_soon_while_one_call_tries(plane: Plane, database: AsyncDatabase) -> None:
    """They wait for its answer, not for as long as it may take at most."""
    await opened(plane, database)
    pause_is_over(plane)
    probe, other = breakers(plane, database), breakers(plane, database)
    assert await probe.enter(LOOK) is None
    stopped = await other.enter(LOOK)
    assert stopped is not None
    assert stopped.not_before == plane.clock.now() + timedelta(seconds=1)


async def test_probe_that_fails_opens_it_again(plane: Plane, database: AsyncDatabase) -> None:
    """ZC47 d: with the place free for the next."""
    await opened(plane, database)
    pause_is_over(plane)
    await through(breakers(plane, database), TIMEOUT)
    stopped = await breakers(plane, database).enter(LOOK)
    pause_is_over(plane)
    again = await breakers(plane, database).enter(LOOK)
    assert (state(plane), stopped is not None, again) == ("half_open", True, None)


async def test_probe_that_is_given_up_frees_the_place(plane: Plane, database: AsyncDatabase) -> None:
    """ZC47 e: also when the task is cancelled, or another gate stopped it."""
    await opened(plane, database)
    pause_is_over(plane)
    await through(breakers(plane, database), CANCELLED)
    await through(breakers(plane, database), Reply(ruling=Ruling(decision=Decision.PARK, reason="host_budget_used_up")))
    assert await breakers(plane, database).enter(LOOK) is None


async def test_probe_whose_process_dies_holds_the_place_for_one_call(plane: Plane, database: AsyncDatabase) -> None:
    """No longer than a call's turn and time-out last; then another call goes through."""
    await opened(plane, database)
    pause_is_over(plane)
    assert await breakers(plane, database).enter(LOOK) is None  # and never leaves
    ((held,),) = plane.rows("SELECT until_at - clock_timestamp() FROM zoom_breakers")
    pause_is_over(plane)
    longest = RoomSettings().call_timeout_seconds + ZoomSettings().rate_wait_seconds
    assert (held.total_seconds() <= longest, await breakers(plane, database).enter(LOOK)) == (True, None)


async def test_clock_that_jumps_does_not_shorten_or_lengthen_the_pause(plane: Plane, database: AsyncDatabase) -> None:
    """ZC47 f: the pause is measured by the database's clock."""
    gate = await opened(plane, database)
    plane.clock.advance(hours=-1)
    early = await gate.enter(LOOK)
    plane.clock.advance(hours=2)
    late = await gate.enter(LOOK)
    pause_is_over(plane)
    assert (early is not None, late is not None, await gate.enter(LOOK)) == (True, True, None)


async def test_zoom_that_is_down_costs_few_calls(plane: Plane) -> None:
    """The breaker opens after five failures, nothing is lost, and one call finds out when Zoom is back."""
    for number in range(20):
        caller = Caller(key=f"down-{number}", account=AccountId(ACCOUNT.account_id))
        plane.put(caller.create(start_time=START, host=f"host-0{number % 5 + 1}@example.com"))
    order(plane.zoom, Kind.ERROR, "create", "list", "get", count=None, status=503, body="")
    async with plane.worker(gated=True) as worker:
        await worker.run_once()
        down = sum(calls(plane.zoom, "create").values())
        plane.zoom.service.faults.clear()
        for _ in range(40):
            plane.clock.advance(seconds=30)
            pause_is_over(plane)
            await worker.drain()
            plane.deliver()
    assert (5 <= down <= 5 + 8, plane.requests(), len(plane.rooms())) == (True, [], 20)
