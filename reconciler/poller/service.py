"""The poller as a process: a candidate for the lead, and passes while it leads."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import structlog
import uvloop
from psycopg.types.json import Jsonb

from reconciler.bell import ring
from reconciler.gateway.client import apps_of, zoom_client
from reconciler.poller.assembly import PACKAGE, pass_over
from reconciler.poller.leader import BEATS, Leader, LeadershipLost, open_leader
from reconciler.poller.passes import Pass, PassReport
from reconciler.poller.share import Share
from reconciler.statements import Statements
from runtime.backoff import Backoff
from runtime.clock import Clock
from runtime.kafka.async_producer import AsyncProducer
from runtime.metrics.catalogue.poller import POLLER_LEADS, POLLER_PASS_SECONDS
from runtime.metrics.registry import Metrics
from runtime.metrics.server import serving
from runtime.postgres import AsyncDatabase
from runtime.queries import queries
from runtime.randomness import unseeded
from runtime.settings import Settings
from runtime.topic_admin import require_topics
from runtime.topics import Role
from schemas.errors import Broken, Unavailable

ROLE: Role = "poller"
MOST_IN_FLIGHT = 1_000
CANDIDATE_SECONDS = 5.0
"""How often a process that does not lead tries to."""
KEPT_PERIODS = 2
"""Visits are remembered for so many horizons."""


def run(settings: Settings, *, clock: Clock) -> None:
    """Be a candidate, and lead when it can be, until SIGTERM or SIGINT.

    Raises:
        Misconfigured: a setting or a topic does not hold.
        Unavailable: no broker answers at the start.
        Broken: the producer can never send again.
    """
    require_topics(settings, ROLE)
    metrics = Metrics()
    with serving(metrics, settings.metrics), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, clock=clock, metrics=metrics))


def run_once(settings: Settings, *, clock: Clock) -> dict[str, object]:
    """Have one pass made, by this process or by the one that leads, and give its report; raises like `run`."""
    require_topics(settings, ROLE)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_once(settings, clock=clock))


class Poller:
    """Passes of one process, and their record."""

    def __init__(self, passes: Pass, *, statements: Statements, producer: AsyncProducer, settings: Settings) -> None:
        """`passes` makes them."""
        self.producer = producer
        self.statements = statements
        self._pass = passes
        self._settings = settings.poller
        self._clock = passes.clock
        self._metrics = passes.metrics

    async def poll(self, leader: Leader) -> PassReport:
        """Make a pass under this lead.

        Raises:
            LeadershipLost: the lead is gone; no call was begun since.
            Unavailable: the database or the broker is away.
        """
        began = self._clock.monotonic_seconds()
        row = await self.statements.one("begin_pass", now=self._clock.now())
        report = await self._pass.run(leader.permit)
        now = self._clock.now()
        if row is not None:
            await self.statements.run("end_pass", pass_id=row["pass_id"], now=now, report=Jsonb(report.as_plain()))
        kept = KEPT_PERIODS * self._settings.horizon_seconds
        await self.statements.run("forget_visits", before=now - timedelta(seconds=kept))
        self._metrics.histogram(POLLER_PASS_SECONDS).observe(self._clock.monotonic_seconds() - began)
        return report


@asynccontextmanager
async def open_poller(settings: Settings, *, clock: Clock, metrics: Metrics) -> AsyncIterator[Poller]:
    """Everything that passes need."""
    apps, random = apps_of(settings), unseeded()
    async with (
        # A leader that is frozen in a transaction must not keep its successor from the rows that it has locked.
        AsyncDatabase(settings.postgres, role=ROLE, idle_seconds=settings.poller.succession_seconds) as database,
        AsyncProducer(
            settings.kafka,
            client_id=ROLE,
            timeout_seconds=settings.poller.produce_timeout_seconds,
            max_in_flight=MOST_IN_FLIGHT,
        ) as producer,
        zoom_client(
            settings,
            apps,
            database=database,
            clock=clock,
            random=random,
            metrics=metrics,
            gates=[Share(database, settings=settings, clock=clock)],
        ) as client,
    ):
        made = pass_over(
            database,
            client=client,
            sender=producer,
            accounts=sorted(apps),
            settings=settings,
            clock=clock,
            metrics=metrics,
        )
        yield Poller(made, statements=made.statements, producer=producer, settings=settings)


async def _serve(settings: Settings, *, clock: Clock, metrics: Metrics) -> None:
    bell, stop = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with open_poller(settings, clock=clock, metrics=metrics) as poller:
        listen = queries(PACKAGE)["listen_for_passes"]
        work: list[asyncio.Future[object]] = [
            asyncio.ensure_future(ring(bell, settings.postgres, listen=listen, role=ROLE)),
            asyncio.ensure_future(_lead_again_and_again(poller, settings, bell=bell, metrics=metrics)),
            asyncio.ensure_future(stop.wait()),
            asyncio.ensure_future(_broken(poller.producer)),
        ]
        try:
            done, _ = await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
        finally:
            for each in work:
                each.cancel()
            await asyncio.gather(*work, return_exceptions=True)


async def _lead_again_and_again(poller: Poller, settings: Settings, *, bell: asyncio.Event, metrics: Metrics) -> None:
    log, random = structlog.get_logger("roomkeeper.poller"), unseeded()
    trouble = Backoff(0.5, 30.0, random)
    while True:
        try:
            async with open_leader(settings.postgres, succession_seconds=settings.poller.succession_seconds) as leader:
                await leader.lead(try_every_seconds=min(CANDIDATE_SECONDS, settings.poller.succession_seconds / BEATS))
                trouble.reset()
                log.info("poller.leads")
                metrics.gauge(POLLER_LEADS).set(1)
                await _led(poller, leader, settings, bell=bell)
        except LeadershipLost as error:
            log.warning("poller.lead_lost", error=str(error))
        except Unavailable as error:
            log.warning("poller.waiting", error=str(error))
        metrics.gauge(POLLER_LEADS).set(0)
        await asyncio.sleep(trouble.next_seconds(at_least=0.5))


async def _led(poller: Poller, leader: Leader, settings: Settings, *, bell: asyncio.Event) -> None:
    """Pass after pass, with signs of life, until the lead is lost. Raises `LeadershipLost`, `Unavailable`."""
    beating = asyncio.ensure_future(leader.beat(settings.poller.succession_seconds / BEATS))
    passing = asyncio.ensure_future(_passes(poller, leader, settings, bell=bell))
    try:
        done, _ = await asyncio.wait([beating, passing], return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            each.result()
    finally:
        for each in (beating, passing):
            each.cancel()
        await asyncio.gather(beating, passing, return_exceptions=True)


async def _passes(poller: Poller, leader: Leader, settings: Settings, *, bell: asyncio.Event) -> None:
    while True:
        bell.clear()
        began = asyncio.get_running_loop().time()
        await poller.poll(leader)
        pause = began + settings.poller.interval_seconds - asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(max(pause, 1.0)):
                await bell.wait()
        except TimeoutError:
            continue


async def _once(settings: Settings, *, clock: Clock) -> dict[str, object]:
    """A pass of this process if it can lead, else one that the leader is asked for."""
    async with (
        open_poller(settings, clock=clock, metrics=Metrics()) as poller,
        open_leader(settings.postgres, succession_seconds=settings.poller.succession_seconds) as leader,
    ):
        row = await poller.statements.one("newest_pass")
        newest = row["pass_id"] if row else 0
        asked = False
        while True:
            if await leader.try_to_lead():
                beating = asyncio.ensure_future(leader.beat(settings.poller.succession_seconds / BEATS))
                try:
                    return (await poller.poll(leader)).as_plain()
                finally:
                    beating.cancel()
            if not asked:
                await poller.statements.run("ask_for_a_pass")
                asked = True
            found = await poller.statements.one("find_pass_after", pass_id=newest)
            if found is not None:
                report = found["report"] or {}
                return {name: report[name] for name in PassReport().as_plain() if name in report}
            await asyncio.sleep(1.0)


async def _broken(producer: AsyncProducer) -> None:
    """Raises `Broken` when the producer can never send again."""
    error: Broken = await asyncio.shield(producer.broken)
    raise error
