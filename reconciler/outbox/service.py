"""The outbox relay as a process: one relay for each outbox of the settings, woken by the inserting transaction."""

from __future__ import annotations

import asyncio
import signal
from importlib.resources import files

import structlog
import uvloop
from psycopg.sql import SQL

from reconciler.bell import ring
from reconciler.outbox.relay import Relay
from reconciler.rooms.reporting import Sender
from runtime.backoff import Backoff
from runtime.clock import Clock
from runtime.kafka.async_producer import AsyncProducer
from runtime.metrics.registry import Metrics
from runtime.metrics.server import serving
from runtime.postgres import AsyncDatabase, connect, translated
from runtime.queries import queries
from runtime.randomness import unseeded
from runtime.settings import Outbox, PostgresSettings, Settings
from runtime.topic_admin import require_topics
from runtime.topics import Role
from schemas.errors import Misconfigured, Unavailable

ROLE: Role = "outbox-relay"
LOOK_SECONDS = 5.0
"""How long a relay relies on notifications alone."""
_CURE = "the outbox's table, trigger and rights are as docs/outbox.md says under Set up"
MOST_IN_FLIGHT = 2_000
PRODUCE_SECONDS = 10.0


def run(settings: Settings, *, clock: Clock) -> None:
    """Relay until SIGTERM or SIGINT.

    Raises:
        Misconfigured: there is no outbox to relay, or a topic does not hold.
        Unavailable: no broker answers at the start.
    """
    if not settings.outboxes:
        raise Misconfigured("ROOMKEEPER_OUTBOXES: not set; there is nothing to relay")
    require_topics(settings, ROLE)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, clock=clock))


def install(postgres: PostgresSettings) -> None:
    """Put the table, its index and its trigger into a caller's database, and nothing else. Again is harmless.

    Raises:
        Misconfigured: the database may not be changed by this user.
        Unavailable: it is away.
    """
    script = files("reconciler.outbox").joinpath("install.sql").read_text(encoding="utf-8")
    with connect(postgres, role="outbox-install") as connection, translated("install the outbox"):
        # The file ships with the package: its text is as trusted as a literal.
        connection.execute(SQL(script))


def caller_database(outbox: Outbox) -> PostgresSettings:
    """How to reach the database of an outbox."""
    return PostgresSettings(dsn=outbox.dsn, pool_size=2)


async def _serve(settings: Settings, *, clock: Clock) -> None:
    stop = asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, stop.set)
    async with AsyncProducer(
        settings.kafka, client_id=ROLE, timeout_seconds=PRODUCE_SECONDS, max_in_flight=MOST_IN_FLIGHT
    ) as producer:
        producer.broken.add_done_callback(lambda _: stop.set())
        metrics = Metrics()
        with serving(metrics, settings.metrics):
            async with asyncio.TaskGroup() as group:
                relays = [
                    group.create_task(_relay(outbox, settings, producer=producer, clock=clock, metrics=metrics))
                    for outbox in settings.outboxes
                ]
                await stop.wait()
                for relay in relays:
                    relay.cancel()
        if producer.broken.done():
            raise producer.broken.result()


async def _relay(outbox: Outbox, settings: Settings, *, producer: Sender, clock: Clock, metrics: Metrics) -> None:
    """One outbox, for ever. Trouble with one caller's database, or a table that is not there, is none of the others."""
    log = structlog.get_logger("roomkeeper.outbox")
    postgres, bell = caller_database(outbox), asyncio.Event()
    trouble = Backoff(0.5, 30.0, unseeded())
    listen = queries("reconciler")["listen_outbox"]
    async with AsyncDatabase(postgres, role=ROLE) as database, asyncio.TaskGroup() as group:
        group.create_task(ring(bell, postgres, listen=listen, role=ROLE))
        relay = Relay(
            database,
            sender=producer,
            name=outbox.name,
            account_id=outbox.account_id,
            clock=clock,
            topic_prefix=settings.kafka.topic_prefix,
            metrics=metrics,
        )
        log.info("outbox.relaying", outbox=outbox.name, account=outbox.account_id)
        while True:
            bell.clear()
            try:
                moved = await relay.run_once()
                trouble.reset()
            except Unavailable as error:
                log.warning("outbox.waiting", outbox=outbox.name, error=str(error))
                await asyncio.sleep(trouble.next_seconds(at_least=0.5))
                continue
            except Misconfigured as error:
                log.warning("outbox.unusable", outbox=outbox.name, error=str(error), cure=_CURE)
                await asyncio.sleep(trouble.next_seconds(at_least=0.5))
                continue
            if not moved:
                await _wait(bell)


async def _wait(bell: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            await bell.wait()
    except TimeoutError:
        return
