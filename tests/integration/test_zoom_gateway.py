"""What may be called in a day and in a second, for all processes together, over a real PostgreSQL (ZC37)."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from reconciler.gateway.budgets import Budgets
from runtime.postgres import AsyncDatabase
from runtime.settings import ZoomSettings
from schemas.ids import AccountId
from schemas.records.meeting_commands import CreateMeeting
from simulator.faults import Kind
from tests.command_plane import START, Plane
from tests.meeting_commands import Caller
from tests.simulated_zoom import ACCOUNT, HOST
from tests.waiting import eventually
from tests.zoom_calls import answer, calls, order
from zoom.client.client import Call, Reply
from zoom.client.decisions import Decision, Ruling
from zoom.client.endpoints import CREATE, GET, LIST
from zoom.client.limits import Scope


def budgets(plane: Plane, database: AsyncDatabase, *, plan: str = "pro", **settings: float) -> Budgets:
    """The budgets of one process."""
    chosen = ZoomSettings.model_validate(settings)
    return Budgets(database, plans={ACCOUNT.account_id: plan}, settings=chosen, clock=plane.clock)


def create(host: str = HOST, account_id: str = ACCOUNT.account_id) -> Call:
    """A create under a host."""
    return Call(endpoint=CREATE, account_id=account_id, host=host, body={})


async def test_hosts_hundred_a_day(plane: Plane, database: AsyncDatabase) -> None:
    """Creates and updates of one host end at its budget, others' go on, and midnight UTC brings it back."""
    one, two = (budgets(plane, database, host_daily=3, rate_share=1.0) for _ in range(2))
    for gate in (one, two, one):
        assert await gate.enter(create()) is None
    stopped = await two.enter(create())
    other = await two.enter(create("host-02@example.com"))
    read = await two.enter(Call(endpoint=GET, account_id=ACCOUNT.account_id, host=HOST, meeting="1"))
    plane.clock.advance(hours=9, minutes=2)
    tomorrow = await one.enter(create())
    assert stopped is not None
    assert stopped.not_before is not None
    assert (stopped.ruling.decision, stopped.scope, stopped.not_before.isoformat()) == (
        "park",
        "host",
        "2026-12-02T00:00:00+00:00",
    )
    assert (other, read, tomorrow) == (None, None, None)


async def test_call_that_waits_over_midnight_counts_on_the_new_day(plane: Plane, database: AsyncDatabase) -> None:
    """Zoom counts a call when it comes, so a turn that comes after midnight is paid for out of the new day's budget."""
    gate = budgets(plane, database, plan="free", rate_share=1.0)
    plane.clock.at = datetime(2026, 12, 1, 23, 59, 59, tzinfo=UTC)
    await gate.enter(create())
    waiting = asyncio.create_task(gate.enter(create()))
    await eventually(lambda: used(plane) == {"2026-12-01": 2}, what="reserved for today")
    plane.clock.advance(seconds=2)
    late = await waiting
    assert (late, used(plane)) == (None, {"2026-12-01": 1, "2026-12-02": 1})


def used(plane: Plane) -> dict[str, int]:
    """Creates and updates drawn on the hosts' budgets, by day."""
    return dict(plane.rows("SELECT day::text, used FROM daily_budgets WHERE scope = 'host'"))


async def test_call_that_never_left_costs_nothing(plane: Plane, database: AsyncDatabase) -> None:
    """A connection that never stood is not counted; a call that may have been made is."""
    gate = budgets(plane, database, host_daily=1, rate_share=1.0)
    await gate.enter(create())
    await gate.leave(create(), Reply(ruling=Ruling(decision=Decision.RETRY, reason="unreachable")))
    assert await gate.enter(create()) is None
    await gate.leave(create(), Reply(ruling=Ruling(decision=Decision.UNKNOWN, reason="no_answer"), sent=True))
    assert await gate.enter(create()) is not None


async def test_zoom_is_believed(plane: Plane, database: AsyncDatabase) -> None:
    """When Zoom says that a host's day is used up, it is, whoever used it."""
    one, two = (budgets(plane, database, rate_share=1.0) for _ in range(2))
    await one.enter(create())
    refusal = Ruling(decision=Decision.PARK, reason="daily_limit")
    await one.leave(create(), Reply(ruling=refusal, answer=answer(429), scope=Scope.HOST))
    stopped = await two.enter(create())
    assert (stopped is not None, await two.enter(create("host-02@example.com"))) == (True, None)


async def test_calls_of_a_label_take_turns(plane: Plane, database: AsyncDatabase) -> None:
    """Slots are spaced by the plan's rate, over all processes; labels and accounts have their own."""
    gates = [budgets(plane, database, plan="free", rate_wait_seconds=0.7) for _ in range(2)]
    light = [await gates[n % 2]._slot(create()) for n in range(4)]
    medium = await gates[0]._slot(Call(endpoint=LIST, account_id=ACCOUNT.account_id, host=HOST))
    other = await gates[0]._slot(create(account_id="another"))
    waits = [wait for wait in light if wait is not None]
    assert (light[-1], len(waits), medium, other) == (None, 3, 0.0, 0.0)
    assert waits == sorted(waits)


async def test_daily_limit_of_the_plan(plane: Plane, database: AsyncDatabase) -> None:
    """An account that has used its day is parked as a whole."""
    gate = budgets(plane, database, plan="free", rate_share=1.0)
    plane.connection.execute(
        "INSERT INTO daily_budgets VALUES (%s, 'label', 'medium', %s, 2000)",
        (ACCOUNT.account_id, plane.clock.now().date()),
    )
    stopped = await gate.enter(Call(endpoint=LIST, account_id=ACCOUNT.account_id, host=HOST))
    assert stopped is not None
    assert (stopped.ruling.decision, stopped.scope) == ("park", "account")


async def test_daily_limit_parks_that_host_only(plane: Plane) -> None:
    """ZC37: the host's requests wait for midnight without calls or attempts; another host's and its own deletes go on."""
    plane.create()
    async with plane.worker(gated=True) as worker:
        await worker.drain()
        plane.deliver()
        plane.put(plane.caller.change(topic="Other"))
        order(plane.zoom, Kind.TOO_MANY, "create", "update", count=None, host=HOST, limit="host_daily")
        await worker.drain()
        during = calls(plane.zoom, "update")
        attempts = plane.rows("SELECT attempts, started_at, outcome FROM room_requests")
        plane.put(*(_other(plane, host) for host in (HOST, "host-02@example.com")))
        await worker.drain()
        plane.deliver()
        served = sorted(room.host.email for room in plane.rooms())
        plane.zoom.service.faults.clear()
        plane.clock.advance(hours=9, minutes=2)
        await worker.drain()
        plane.deliver()
    assert (during, attempts) == ({429: 1}, [(0, None, "retry")])
    assert served == [HOST, "host-02@example.com"]
    assert (plane.requests(), plane.rooms()[0].details.topic, len(plane.rooms())) == ([], "Other", 3)
    assert all(state == "closed" for (state,) in plane.rows("SELECT state FROM zoom_breakers"))


def _other(plane: Plane, host: str) -> CreateMeeting:
    return Caller(key=f"for {host}", account=AccountId(ACCOUNT.account_id)).create(host=host, start_time=START)
