"""The room worker as a process: everything it needs, put together from the settings."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import structlog
import uvloop

from reconciler.bell import ring
from reconciler.gateway.client import apps_of, tracking_fields_of, zoom_client
from reconciler.gateway.gauges import Gauges
from reconciler.rooms.actions import Actions
from reconciler.rooms.moving import Moves
from reconciler.rooms.queue import Queue
from reconciler.rooms.readback import ReadBacks
from reconciler.rooms.reporting import Reporter
from reconciler.rooms.sweeping import Sweep
from reconciler.rooms.upkeep import Chore, repeat
from reconciler.rooms.worker import RoomWorker
from reconciler.rooms.zoom import RoomCalls
from runtime.clock import Clock
from runtime.garbage import collect_seldom
from runtime.kafka.async_producer import AsyncProducer
from runtime.metrics.registry import Metrics
from runtime.metrics.server import serving
from runtime.postgres import AsyncDatabase
from runtime.queries import queries
from runtime.randomness import unseeded
from runtime.settings import Settings
from runtime.topic_admin import require_topics
from runtime.topics import Role

ROLE: Role = "room-worker"
MOST_IN_FLIGHT = 1_000
OUTCOME_LINGER_MS = 20
"""An outcome waits so long for others of its partition: a broker's work is in requests, of which each partition has its
own, more than in records; and the call to Zoom took longer."""
CHORE_SECONDS = 5.0
"""How often a process looks whether a chore is due."""


def run(settings: Settings, *, clock: Clock) -> None:
    """Work until SIGTERM or SIGINT.

    Raises:
        Misconfigured: a setting or a topic does not hold.
        Unavailable: no broker answers at the start.
        Broken: the producer can never send again.
    """
    require_topics(settings, ROLE)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, clock=clock))


def drain(settings: Settings, *, clock: Clock, tell: Callable[[int], None]) -> int:
    """Work until nothing is due any more, and say how many requests that were; raises like `run`.

    `tell` hears after each round how many they are so far.
    """
    require_topics(settings, ROLE)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_drain(settings, clock=clock, tell=tell))


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomService:
    """A worker with its chores and its producer."""

    worker: RoomWorker
    chores: Mapping[str, Chore]
    producer: AsyncProducer


@asynccontextmanager
async def room_service(settings: Settings, *, clock: Clock, metrics: Metrics) -> AsyncIterator[RoomService]:
    """Everything that works on rooms in one process."""
    random, name = unseeded(), f"{socket.gethostname()}:{os.getpid()}"
    apps = apps_of(settings)
    async with (
        AsyncDatabase(settings.postgres, role=ROLE) as database,
        AsyncProducer(
            settings.kafka,
            client_id=ROLE,
            timeout_seconds=settings.rooms.produce_timeout_seconds,
            max_in_flight=MOST_IN_FLIGHT,
            linger_ms=OUTCOME_LINGER_MS,
        ) as producer,
        zoom_client(settings, apps, database=database, clock=clock, random=random, metrics=metrics) as client,
    ):
        queue = Queue(database, worker=name, clock=clock, settings=settings.rooms)
        calls = RoomCalls(client, clock=clock, tracking_fields=tracking_fields_of(settings))
        reporter = Reporter(producer, worker=name, clock=clock, topic_prefix=settings.kafka.topic_prefix)
        worker = RoomWorker(
            queue=queue,
            actions=Actions(calls=calls, queue=queue, settings=settings.rooms, clock=clock, random=random),
            reporter=reporter,
            accounts=sorted(apps),
            settings=settings.rooms,
            clock=clock,
            random=random,
            metrics=metrics,
        )
        parts: Any = {
            "calls": calls,
            "reporter": reporter,
            "accounts": sorted(apps),
            "settings": settings.rooms,
            "clock": clock,
        }
        chores: dict[str, Chore] = {
            "read_backs": ReadBacks(database, **parts),
            "sweep": Sweep(database, **parts, random=random),
            "gauges": Gauges(database, settings=settings, metrics=metrics, clock=clock),
            "moves": Moves(database, reporter=reporter, accounts=sorted(apps), clock=clock),
        }
        yield RoomService(worker=worker, chores=chores, producer=producer)


async def _serve(settings: Settings, *, clock: Clock) -> None:
    bell, stop = asyncio.Event(), asyncio.Event()

    def end(*_: object) -> None:
        stop.set()
        bell.set()

    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, end)
    metrics = Metrics()
    collect_seldom()
    with serving(metrics, settings.metrics) as port:
        async with room_service(settings, clock=clock, metrics=metrics) as service:
            service.producer.broken.add_done_callback(end)
            log = structlog.get_logger("roomkeeper.rooms")
            log.info("rooms.working", accounts=sorted(apps_of(settings)), metrics_port=port)
            await _work(service, settings, bell=bell, stop=stop)
            if service.producer.broken.done():
                raise service.producer.broken.result()


async def _work(service: RoomService, settings: Settings, *, bell: asyncio.Event, stop: asyncio.Event) -> None:
    """The worker with its chores beside it, until `stop` is set."""
    async with asyncio.TaskGroup() as group:
        listen = queries("reconciler")["listen"]
        beside = [group.create_task(ring(bell, settings.postgres, listen=listen, role=ROLE))]
        for name, chore in service.chores.items():
            beside.append(group.create_task(repeat(chore, name=name, every_seconds=CHORE_SECONDS, random=unseeded())))
        await service.worker.run(bell=bell, stop=stop)
        for task in beside:
            task.cancel()


async def _drain(settings: Settings, *, clock: Clock, tell: Callable[[int], None]) -> int:
    async with room_service(settings, clock=clock, metrics=Metrics()) as service:
        done = 0
        for _ in range(2):  # chores may find more to do
            while worked := await service.worker.run_once():
                done += worked
                tell(done)
            for chore in service.chores.values():
                while await chore.run_once():
                    pass
        return done
