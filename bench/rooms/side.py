"""One room worker in a process of its own, before a provider that answers at once.

Prints `begin` when it starts to work and `end` when nothing is left; with `--hang`, `called` at the first call. With
`--empty` there is nothing to do for a request, and what is left is the queue with its guarantees.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

import uvloop
from rich.console import Console

from bench.rooms.provider import Provider
from bench.rooms.requests import ACCOUNT
from reconciler.bell import ring
from reconciler.rooms.actions import Actions
from reconciler.rooms.queue import Queue
from reconciler.rooms.reporting import Reporter
from reconciler.rooms.results import Concluded, Result
from reconciler.rooms.service import MOST_IN_FLIGHT, OUTCOME_LINGER_MS
from reconciler.rooms.worker import RoomWorker
from reconciler.rooms.zoom import Job, RoomCalls
from runtime.clock import SystemClock
from runtime.garbage import collect_seldom
from runtime.kafka.async_producer import AsyncProducer
from runtime.logs import configure
from runtime.postgres import AsyncDatabase
from runtime.queries import queries
from runtime.randomness import unseeded
from runtime.settings import Settings, load
from tests.waiting import eventually
from zoom.client.client import Call, ZoomClient

_ROLE = "bench-rooms"
_PATIENCE_SECONDS = 600.0
_LEFT = "SELECT 1 FROM room_requests WHERE settled_at IS NULL LIMIT 1"


class Calls:
    """When each meeting's call would have left, in monotonic seconds, by the first line of the room's agenda."""

    def __init__(self, clock: SystemClock, *, tell: bool) -> None:
        """`tell` prints the first."""
        self._clock = clock
        self._tell = tell
        self.moments: dict[str, float] = {}

    def note(self, call: Call) -> None:
        """One call."""
        if self._tell and not self.moments:
            say("called")
        agenda = str((call.body or {}).get("agenda"))
        self.moments[agenda] = self._clock.monotonic_seconds()


class Nothing:
    """Stands in for the actions: asks for the permit to call, and has the outcome."""

    async def work(self, job: Job) -> Result:
        """Done."""
        await job.lease.to_write()
        return Concluded(outcome="done")


def say(mark: str) -> None:
    """A mark for the benchmark."""
    Console(soft_wrap=True).out(mark, highlight=False)


@asynccontextmanager
async def worker_of(
    settings: Settings, calls: Calls, *, answers: bool = True, empty: bool = False
) -> AsyncIterator[RoomWorker]:
    """A room worker as `roomkeeper rooms run` has it, but for the way to Zoom."""
    clock, random = SystemClock(), unseeded()
    producing = AsyncProducer(
        settings.kafka,
        client_id=_ROLE,
        timeout_seconds=10.0,
        max_in_flight=MOST_IN_FLIGHT,
        linger_ms=OUTCOME_LINGER_MS,
    )
    async with AsyncDatabase(settings.postgres, role=_ROLE) as database, producing as producer:
        provider = cast("ZoomClient", Provider(clock=clock, called=calls.note, answers=answers))
        queue = Queue(database, worker=f"bench:{os.getpid()}", clock=clock, settings=settings.rooms)
        parts: dict[str, Any] = {"settings": settings.rooms, "clock": clock, "random": random}
        rooms = RoomCalls(provider, clock=clock, tracking_fields={ACCOUNT: None})
        reporter = Reporter(producer, worker=_ROLE, clock=clock, topic_prefix=settings.kafka.topic_prefix)
        actions = cast("Actions", Nothing()) if empty else Actions(calls=rooms, queue=queue, **parts)
        yield RoomWorker(queue=queue, actions=actions, reporter=reporter, accounts=(ACCOUNT,), **parts)


@asynccontextmanager
async def working(worker: RoomWorker, settings: Settings) -> AsyncIterator[None]:
    """The worker's own loop, woken by PostgreSQL, while the context lasts."""
    bell, stop = asyncio.Event(), asyncio.Event()
    listen = queries("reconciler")["listen"]
    ringing = asyncio.create_task(ring(bell, settings.postgres, listen=listen, role=_ROLE))
    running = asyncio.create_task(worker.run(bell=bell, stop=stop))
    try:
        yield
    finally:
        stop.set()
        bell.set()
        ringing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


async def main(*, hang: bool, empty: bool) -> None:
    """Work until nothing is left."""
    settings, clock = load(), SystemClock()
    configure(settings.log, role="rooms", clock=clock)
    calls, looking = Calls(clock, tell=hang), AsyncDatabase(settings.postgres, role=_ROLE)
    made = worker_of(settings, calls, answers=not hang, empty=empty)
    async with made as worker, looking, working(worker, settings):
        collect_seldom()
        is_done: Callable[[], Awaitable[bool]] = partial(_is_done, worker, looking)
        say("begin")
        await eventually(is_done, what="nothing is left", within_seconds=_PATIENCE_SECONDS)
        say("end")


async def _is_done(worker: RoomWorker, database: AsyncDatabase) -> bool:
    """Whether nothing is left; the database is not asked while the worker has something in hand."""
    if worker.in_hand:
        return False
    async with database.connection("look for work") as connection:
        return await (await connection.execute(_LEFT)).fetchone() is None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hang", action="store_true", help="the provider never answers")
    parser.add_argument("--empty", action="store_true", help="nothing is to be done for a request")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(**vars(parser.parse_args())))
