"""Claims: which rows a worker gets, for how long, and that a row of which it lost hold is none of its business."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import httpx

from reconciler.rooms.results import Concluded, Kept
from runtime.postgres import connect
from schemas.ids import AccountId
from simulator.faults import Kind
from tests.command_plane import QUICK, START, Plane, Stall, after_the_lease
from tests.meeting_commands import Caller
from tests.simulated_zoom import ACCOUNT
from tests.waiting import eventually
from tests.zoom_calls import calls, order


def several(plane: Plane, count: int) -> None:
    """So many meetings, each with a create that is due."""
    for number in range(count):
        plane.put(Caller(key=f"cmd-{number:04d}", account=AccountId(ACCOUNT.account_id)).create(start_time=START))


async def test_workers_claim_different_rows(plane: Plane) -> None:
    """Several workers at once share the due rows, none of them twice, at most fifty each."""
    several(plane, 120)
    async with plane.worker("a") as a, plane.worker("b") as b, plane.worker("c") as c:
        taken = await asyncio.gather(*(worker._claim(QUICK.claim_rows) for worker in (a, b, c)))
    keys = [each.request.provider_key for claimed in taken for each in claimed]
    epochs = {each.request.epoch for claimed in taken for each in claimed}
    assert (len(keys), len(set(keys)), len(epochs)) == (120, 120, 120)
    assert max(len(claimed) for claimed in taken) <= 50


async def test_accounts_take_turns(plane: Plane) -> None:
    """A claim takes the oldest of each account by turns: a thousand requests of one do not hold another's one up."""
    several(plane, 30)
    plane.put(Caller(key="single", account=AccountId("another")).create(start_time=START))
    async with plane.worker(accounts=(ACCOUNT.account_id, "another")) as worker:
        claimed = await worker._claim(3)
    assert sorted({each.request.account_id for each in claimed}) == sorted([ACCOUNT.account_id, "another"])


async def test_claim_passes_over_locked_rows(plane: Plane) -> None:
    """A row that somebody else has locked is left to them; nobody waits for it."""
    several(plane, 2)
    async with plane.worker() as worker:
        with connect(plane.settings.postgres, role="other") as other:
            other.execute("SELECT FROM room_requests ORDER BY due_at, provider_key LIMIT 1 FOR UPDATE")
            async with asyncio.timeout(10):
                claimed = await worker._claim(10)
            other.rollback()
    assert len(claimed) == 1


async def test_lease_lasts_two_minutes(plane: Plane) -> None:
    """Claimed and committed: a second before its end the row is nobody else's, a second after it is, also if nothing was called."""
    plane.create()
    async with plane.worker("a") as first, plane.worker("b") as second:
        await first._claim(1)
        plane.clock.advance(seconds=119)
        early = await second._claim(1)
        plane.clock.advance(seconds=2)
        late = await second._claim(1)
    assert (len(early), len(late)) == (0, 1)


def held(plane: Plane) -> int:
    """Rows whose leases have not run out."""
    ((count,),) = plane.rows("SELECT count(*) FROM room_requests WHERE due_at > %s", plane.clock.now())
    return int(count)


async def test_all_claims_are_renewed_while_calls_run(plane: Plane) -> None:
    """A running worker prolongs the leases of everything in its hands, over and over, by itself, and claims nothing anew."""
    several(plane, 3)
    stalls: list[Stall] = []
    bell, stop = asyncio.Event(), asyncio.Event()

    def wrap(inner: httpx.AsyncBaseTransport) -> Stall:
        stalls.append(Stall(inner, "POST"))
        return stalls[0]

    patient = QUICK.model_copy(update={"call_timeout_seconds": 60.0, "lease_seconds": 1.0, "poll_seconds": 600.0})
    async with plane.worker(rooms=patient, wrap=wrap) as worker:
        running = asyncio.create_task(worker.run(bell=bell, stop=stop))
        await eventually(lambda: calls(plane.zoom, "create").get(201) == 3, what="three calls in the air")
        epochs = plane.rows("SELECT epoch FROM room_requests ORDER BY epoch")
        for _ in range(3):
            plane.clock.advance(seconds=60)
            await eventually(lambda: held(plane) == 3, what="three leases renewed", within_seconds=20)
        stalls[0].go_on.set()
        stop.set()
        bell.set()
        await running
    assert plane.rows("SELECT epoch FROM room_requests WHERE settled_at IS NOT NULL ORDER BY epoch") == epochs


async def test_claims_of_a_drain_are_renewed_too(plane: Plane) -> None:
    """Fifty rows and eight places: the last ones wait for as long as the calls of the others take."""
    several(plane, 2)
    stalls: list[Stall] = []

    def wrap(inner: httpx.AsyncBaseTransport) -> Stall:
        stalls.append(Stall(inner, "POST"))
        return stalls[0]

    one = {"call_timeout_seconds": 60.0, "lease_seconds": 1.0, "concurrency": 1}
    async with plane.worker(rooms=QUICK.model_copy(update=one), wrap=wrap) as worker:
        working = asyncio.create_task(worker.run_once())
        await eventually(lambda: calls(plane.zoom, "create").get(201) == 1, what="a call in the air")
        plane.clock.advance(seconds=60)
        await eventually(lambda: held(plane) == 2, what="two leases renewed", within_seconds=20)
        stalls[0].go_on.set()
        assert await working == 2


async def test_what_a_stopped_worker_had_not_called_for_is_anothers_at_once(plane: Plane) -> None:
    """It makes no more calls, which would be cut off, and leaves no row to wait for the end of a lease."""
    several(plane, 2)
    stalls: list[Stall] = []
    bell, stop = asyncio.Event(), asyncio.Event()

    def wrap(inner: httpx.AsyncBaseTransport) -> Stall:
        stalls.append(Stall(inner, "POST"))
        return stalls[0]

    one = {"call_timeout_seconds": 60.0, "concurrency": 1}
    async with plane.worker(rooms=QUICK.model_copy(update=one), wrap=wrap) as worker:
        running = asyncio.create_task(worker.run(bell=bell, stop=stop))
        await eventually(lambda: calls(plane.zoom, "create").get(201) == 1, what="a call in the air")
        assert held(plane) == 2
        stop.set()
        bell.set()
        await eventually(lambda: held(plane) == 1, what="the other row given back")
        stalls[0].go_on.set()
        await running
    async with plane.worker("b") as other:
        (taken,) = await other._claim(10)
    assert (calls(plane.zoom, "create"), taken.request.may_have_acted) == ({201: 1}, False)


async def test_settlement_under_an_old_epoch_touches_nothing(plane: Plane) -> None:
    """The row belongs to whoever claimed it last: nobody else starts, renews, gives back or settles it."""
    plane.create()
    async with plane.worker("a") as first, plane.worker("b") as second:
        (old,) = await first._claim(1)
        after_the_lease(plane)
        (new,) = await second._claim(1)
        settled = await first._queue.settle(old.request, Concluded(outcome="done"))
        started = await first._queue.start(old.request, counted=True)
        plane.clock.advance(seconds=60)
        await first._queue.renew([old.request])
        await first._queue.keep(old.request, Kept(due_at=plane.clock.now(), code="late", message=""))
    rows = plane.rows("SELECT epoch, leased_by, settled_at, attempts FROM room_requests")
    ((left,),) = plane.rows("SELECT due_at - %s FROM room_requests", plane.clock.now())
    assert new.request.epoch > old.request.epoch
    assert (settled, started, rows) == (False, False, [(new.request.epoch, "b", None, 0)])
    assert left == timedelta(seconds=60)


async def test_worker_without_its_row_looks_for_nothing(plane: Plane) -> None:
    """Whoever has the row now does the looking, and the reporting."""
    order(plane.zoom, Kind.ABORT)
    plane.create()
    async with plane.worker("a") as first, plane.worker("b") as second:
        await first.run_once()
        (lost,) = await first._claim(1)
        after_the_lease(plane)
        await second._claim(1)
        await first._work(lost)
    assert (calls(plane.zoom, "list"), plane.sent.outcomes()) == ({}, [])
