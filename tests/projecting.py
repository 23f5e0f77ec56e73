"""A projection that remembers every record it was given, and ways to run it: in this process or in one to be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from confluent_kafka import Consumer, TopicPartition
from psycopg import Cursor

from projectors.projection import Consumed, Decoded, Projection
from projectors.service import run
from runtime.clock import SystemClock
from runtime.environment import environment_for_children
from runtime.kafka.config import consumer_config
from runtime.kafka.producer import Outgoing, Producer
from runtime.metrics.registry import Metrics
from runtime.postgres import connect
from runtime.randomness import seeded
from runtime.settings import Settings, load
from runtime.topic_admin import TopicAdmin
from runtime.topics import DEAD_LETTERS, ROOM_EVENTS
from runtime.topics import load as load_topics
from schemas.dead_letters import DeadLetterHeaders, parse_dead_letter
from schemas.errors import BadMessage

PARTITIONS = 4
TABLE = "CREATE TABLE tally (written_by integer, partition integer, at bigint, value smallint)"


class Tally:
    """Adds a row for every record, with no guard at all: what is written twice shows."""

    name = "tally"
    topic = ROOM_EVENTS

    def decode(self, consumed: Consumed) -> int:
        """The number in the value."""
        try:
            return int(consumed.value or b"")
        except ValueError as error:
            raise BadMessage("not a number") from error

    def apply(self, cursor: Cursor[Any], batch: Sequence[Decoded[int]]) -> None:
        """Add the rows; the column takes no number beyond 32,767."""
        cursor.execute(
            "INSERT INTO tally SELECT %s, * FROM unnest(%s::integer[], %s::bigint[], %s::bigint[])",
            (
                os.getpid(),
                [each.consumed.partition for each in batch],
                [each.consumed.offset for each in batch],
                [each.record for each in batch],
            ),
        )


class DiesInMidTransaction(Tally):
    """Kills its process once rows are written and before they are committed, when it meets the number 13."""

    def apply(self, cursor: Cursor[Any], batch: Sequence[Decoded[int]]) -> None:
        """Add the rows, and die."""
        super().apply(cursor, batch)
        if any(each.record == 13 for each in batch):
            os.kill(os.getpid(), signal.SIGKILL)


class StopsInMidTransaction(Tally):
    """Freezes its process in the same place, until somebody wakes it."""

    def apply(self, cursor: Cursor[Any], batch: Sequence[Decoded[int]]) -> None:
        """Add the rows, and stand still."""
        super().apply(cursor, batch)
        if any(each.record == 13 for each in batch):
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)  # at once, and not when the main thread hears it


class Slow(Tally):
    """Takes two seconds for every batch."""

    def apply(self, cursor: Cursor[Any], batch: Sequence[Decoded[int]]) -> None:
        """Add the rows, slowly."""
        super().apply(cursor, batch)
        cursor.execute("SELECT pg_sleep(2)")


def prepare(settings: Settings) -> Settings:
    """Topics and the table for a tally; gives the settings to use."""
    kafka = settings.kafka.model_copy(update={"partitions": PARTITIONS})
    projectors = settings.projectors.model_copy(update={"hold_backoff_seconds": (0.1, 0.5)})
    prepared = settings.model_copy(update={"kafka": kafka, "projectors": projectors})
    catalogue, admin = load_topics(), TopicAdmin(kafka)
    admin.apply(admin.plan(catalogue, catalogue.used_by("projectors")))
    with connect(prepared.postgres, role="tests") as connection:
        connection.execute(TABLE)
    return prepared


def produce(settings: Settings, values: Sequence[bytes | int], *, topic: str = ROOM_EVENTS) -> None:
    """Put these values on the topic under their own texts as keys, and return when they are there."""
    texts = [each if isinstance(each, bytes) else str(each).encode() for each in values]
    with Producer(settings.kafka, client_id="tests") as producer:
        producer.send_all([Outgoing(topic=settings.kafka.topic_prefix + topic, key=text, value=text) for text in texts])


def tally(settings: Settings) -> list[int]:
    """The numbers that are written, sorted; one that was written twice is there twice."""
    with connect(settings.postgres, role="tests") as connection:
        return sorted(row["value"] for row in connection.execute("SELECT value FROM tally"))


def writers(settings: Settings) -> set[int]:
    """The ids of the processes that have written rows."""
    with connect(settings.postgres, role="tests") as connection:
        return {row["written_by"] for row in connection.execute("SELECT DISTINCT written_by FROM tally")}


def stored_offsets(settings: Settings) -> dict[int, int]:
    """Where the tally stands, by partition."""
    with connect(settings.postgres, role="tests") as connection:
        rows = connection.execute("SELECT partition, next_offset FROM projector_offsets WHERE projection = 'tally'")
        return {row["partition"]: row["next_offset"] for row in rows}


def dead_letters(settings: Settings) -> list[tuple[bytes | None, bytes | None, DeadLetterHeaders]]:
    """Key, value and meaning of everything in `dead-letters`."""
    topic = settings.kafka.topic_prefix + DEAD_LETTERS
    consumer = Consumer(
        {**consumer_config(settings.kafka, client_id="tests", group="tests"), "enable.partition.eof": True}
    )
    try:
        consumer.assign([TopicPartition(topic, each, 0) for each in range(PARTITIONS)])
        found, ended = [], 0
        while ended < PARTITIONS:
            for message in consumer.consume(1_000, 1.0):
                if message.error() is not None:
                    ended += 1
                else:
                    headers: Any = message.headers() or []
                    found.append((message.key(), message.value(), parse_dead_letter(headers)))
        return found
    finally:
        consumer.close()


class Running:
    """A projector in a thread of this process."""

    def __init__(self, settings: Settings, projections: Sequence[Projection[Any]]) -> None:
        """Starts at once."""
        self.stop = threading.Event()
        self.metrics = Metrics()
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(settings, projections), daemon=True)
        self._thread.start()

    @property
    def ended(self) -> bool:
        """Whether it stopped, by itself or told to."""
        return not self._thread.is_alive()

    def close(self) -> None:
        """Stop it in order, and raise what ended it, if something did."""
        self.stop.set()
        self._thread.join(60)
        if self.error is not None:
            raise self.error

    def _run(self, settings: Settings, projections: Sequence[Projection[Any]]) -> None:
        try:
            run(settings, projections, stop=self.stop, metrics=self.metrics, clock=SystemClock(), random=seeded(7))
        except BaseException as error:  # noqa: BLE001 - handed to the test
            self.error = error


@contextmanager
def running(settings: Settings, projection: Projection[Any] | None = None) -> Iterator[Running]:
    """A projector that runs while the context lasts, and must then have ended well."""
    projector = Running(settings, [projection or Tally()])
    try:
        yield projector
    finally:
        projector.close()


@contextmanager
def process(settings: Settings, kind: type[Tally] = Tally) -> Iterator[subprocess.Popen[bytes]]:
    """A projector in a process of its own, killed at the end of the context if it still lives."""
    command = [sys.executable, "-m", "tests.projecting", kind.__name__]
    child = subprocess.Popen(command, env=environment_for_children(settings))
    try:
        yield child
    finally:
        with suppress(ProcessLookupError):
            child.kill()
        child.wait()


def main() -> None:
    """The process: a projection by name, with settings from the environment."""
    kinds = {each.__name__: each for each in (Tally, Slow, DiesInMidTransaction, StopsInMidTransaction)}
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    run(load(), [kinds[sys.argv[1]]()], stop=stop, metrics=Metrics(), clock=SystemClock(), random=seeded(7))


if __name__ == "__main__":
    main()
