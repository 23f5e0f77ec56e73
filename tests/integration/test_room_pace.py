"""The room worker's loop: how much it takes in hand while calls are slow, or outcomes wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
import pytest

from reconciler.rooms.worker import MOST_REPORTING, RoomWorker
from runtime.kafka.producer import Delivery, Outgoing
from runtime.settings import Settings
from schemas.ids import AccountId
from tests.command_plane import QUICK, Plane, Sent, command_plane
from tests.meeting_commands import Caller
from tests.simulated_zoom import ACCOUNT
from tests.waiting import eventually


@pytest.fixture
def plane(settings: Settings) -> Iterator[Plane]:
    """A command plane of the test's own."""
    with command_plane(settings) as made:
        yield made


class Gate(httpx.AsyncBaseTransport):
    """Holds creates back until it is opened, and counts them."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        """Around a real transport."""
        self._inner = inner
        self._opened = asyncio.Event()
        self.now = self.most = 0

    def open(self) -> None:
        """Let everything through."""
        self._opened.set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a create when it may."""
        if request.method != "POST" or "/v2/" not in str(request.url):
            return await self._inner.handle_async_request(request)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await self._opened.wait()
            return await self._inner.handle_async_request(request)
        finally:
            self.now -= 1


@dataclass
class Watched(Sent):
    """Notes how many requests a worker has in hand whenever it reports."""

    worker: RoomWorker | None = None
    in_hand: list[int] = field(default_factory=list)

    async def deliver(self, record: Outgoing) -> Delivery:
        """Takes the record, or not."""
        self.in_hand.append(len(self.worker.in_hand) if self.worker else 0)
        return await super().deliver(record)


def meetings(plane: Plane, count: int, **details: str) -> None:
    """So many meetings want a room."""
    callers = [Caller(key=f"many-{number}", account=AccountId(ACCOUNT.account_id)) for number in range(count)]
    plane.put(*(caller.create(**{"start_time": "2027-03-20T09:00:00", **details}) for caller in callers))


@asynccontextmanager
async def running(worker: RoomWorker) -> AsyncIterator[asyncio.Event]:
    """The worker's own loop; gives its bell."""
    bell, stop = asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(worker.run(bell=bell, stop=stop))
    try:
        yield bell
    finally:
        stop.set()
        bell.set()
        await task


async def test_no_more_are_called_for_at_once_than_may_be(plane: Plane) -> None:
    """As many again wait in hand for a place; the rest is left to other workers."""
    meetings(plane, 7)
    gates: list[Gate] = []

    def gated(inner: httpx.AsyncBaseTransport) -> Gate:
        gates.append(Gate(inner))
        return gates[0]

    slow = QUICK.model_copy(update={"concurrency": 2, "call_timeout_seconds": 60.0})
    async with plane.worker(rooms=slow, wrap=gated) as worker, running(worker), plane.worker("other") as other:
        await eventually(lambda: (len(worker.in_hand), gates[0].now) == (4, 2), what="its places are taken")
        left = await other.run_once()
        gates[0].open()
        await eventually(lambda: not worker.in_hand, what="all calls are over")
    assert (left, gates[0].most, len(plane.rooms())) == (3, 2, 7)


async def test_outcomes_that_wait_for_the_broker_are_bounded(plane: Plane) -> None:
    """A request whose call is over takes nobody's place, but while the broker is away no endless number of them is claimed."""
    plane.sent = sent = Watched(down=True)
    meetings(plane, MOST_REPORTING + 9)
    plane.clock.advance(seconds=400 * 86_400)  # every start has passed: nobody is called
    one = QUICK.model_copy(update={"concurrency": 1})
    async with plane.worker(rooms=one) as worker:
        sent.worker = worker
        async with running(worker):
            await eventually(lambda: len(worker.in_hand) == MOST_REPORTING + 2, what="as many wait as may")
            sent.down = False
            await eventually(lambda: len(sent.outcomes()) == MOST_REPORTING + 9, what="all are told")
    assert max(sent.in_hand) == MOST_REPORTING + 2
