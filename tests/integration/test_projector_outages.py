"""A database, a broker or a topic that is away holds the projectors, fills no dead letters, and loses nothing (ZC52)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any

import pytest
from psycopg import Cursor

from projectors.assembly import Surroundings, assemble
from projectors.projection import Decoded
from projectors.service import Stalled
from runtime.clock import SystemClock
from runtime.kafka.producer import Producer
from runtime.metrics.catalogue.projectors import PROJECTOR_HOLDS
from runtime.metrics.registry import Metrics
from runtime.randomness import seeded
from runtime.settings import Settings
from tests.projecting import Running, Tally, dead_letters, prepare, produce, running, stored_offsets, tally
from tests.stack import Stack
from tests.waiting import wait_for


@pytest.fixture
def breakable(private_stack: Stack) -> Iterator[Settings]:
    """Settings of a stack that may be broken, ready for the tally."""
    with private_stack.corner() as settings:
        yield prepare(settings)


def holds(projector: Running) -> float:
    """How often the tally was held."""
    return projector.metrics.value(PROJECTOR_HOLDS, projection="tally")


def test_a_database_that_is_away_holds_the_records(breakable: Settings, private_stack: Stack) -> None:
    """The database is killed under load and comes back: every row is there once, and nothing became a dead letter."""
    database = private_stack.backing.database
    assert database is not None
    with running(breakable) as projector:
        produce(breakable, range(500))
        wait_for(lambda: len(tally(breakable)) >= 500, what="the first rows")
        database.kill()
        produce(breakable, range(500, 1_000))
        wait_for(lambda: holds(projector) >= 3, what="holds")
        database.start()
        wait_for(lambda: len(tally(breakable)) >= 1_000, what="all rows")
    assert (tally(breakable), dead_letters(breakable)) == (list(range(1_000)), [])


def test_a_broker_that_is_away_is_waited_for(breakable: Settings, private_stack: Stack) -> None:
    """The broker is killed under load and comes back: every row is there once, and the process never ended."""
    broker = private_stack.backing.broker
    assert broker is not None
    with running(breakable):
        produce(breakable, range(500))
        wait_for(lambda: len(tally(breakable)) >= 200, what="the first rows")
        broker.kill()
        broker.start()
        produce(breakable, range(500, 1_000))
        wait_for(lambda: len(tally(breakable)) >= 1_000, what="all rows")
    assert (tally(breakable), dead_letters(breakable)) == (list(range(1_000)), [])


def test_a_poison_record_waits_for_the_topic_of_dead_letters(settings: Settings) -> None:
    """While no dead letter can be kept, the offset stays before the poison: the record is neither skipped nor lost."""
    ready = prepare(settings)
    produce(ready, [b"{bad"])
    nowhere = ready.kafka.model_copy(update={"bootstrap_servers": "127.0.0.1:9"})
    with Producer(nowhere, client_id="tests", timeout_seconds=1.0) as producer, alone(ready, producer) as metrics:
        wait_for(lambda: metrics.value(PROJECTOR_HOLDS, projection="tally") >= 2, what="holds")
    held = sum(stored_offsets(ready).values())
    with running(ready):
        wait_for(lambda: sum(stored_offsets(ready).values()) == 1, what="the offset behind the poison")
    assert (held, [value for _, value, _ in dead_letters(ready)]) == (0, [b"{bad"])


@contextmanager
def alone(settings: Settings, producer: Producer) -> Iterator[Metrics]:
    """A projector whose dead letters go to this producer."""
    metrics, stop = Metrics(), Event()
    around = Surroundings(settings=settings, producer=producer, metrics=metrics, clock=SystemClock(), random=seeded(7))
    with ThreadPoolExecutor(1) as executor:
        projector = executor.submit(assemble(Tally(), around).run, stop)
        yield metrics
        stop.set()
        projector.result(60)


class NeverReady(Tally):
    """A projection whose statement never ends in time."""

    def apply(self, cursor: Cursor[Any], batch: Sequence[Decoded[int]]) -> None:
        """Take longer than the server lets it."""
        cursor.execute("SELECT pg_sleep(30)")


def test_a_projector_that_does_not_get_on_ends_with_a_reason(settings: Settings) -> None:
    """With the database there and work to do, standing still is a fault of ours: the process ends, and says which it was."""
    ready = prepare(settings)
    hasty = ready.model_copy(
        update={
            "postgres": ready.postgres.model_copy(update={"statement_timeout_seconds": 0.2}),
            "projectors": ready.projectors.model_copy(update={"stall_seconds": 4.0}),
        }
    )
    produce(ready, [1])
    projector = Running(hasty, [NeverReady()])
    wait_for(lambda: projector.ended, what="the end of the process")
    with pytest.raises(Stalled, match="tally: no progress for"):
        projector.close()
