"""Putting dead letters back: in the original order of each partition, once, and as far as a job's bound.

Guarantees: a message is marked as replayed in the ledger only when the broker has acknowledged it; of two replays at
once one waits for the other at each partition, and then finds nothing left; what arrives or comes back after a job was
made is not taken by it. A replay that dies, resumed under its job, sends again what was acknowledged and not yet
marked: at most two batches, under their old event ids, which is harmless to those who read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import Any

from reconciler.dlq.batches import FIRST, Batch, Place, Summary
from reconciler.dlq.courier import Courier
from reconciler.dlq.jobs import Job, Jobs
from reconciler.dlq.ledger import PACKAGE
from reconciler.dlq.letters import Status
from reconciler.dlq.sending import Packing
from runtime.clock import Clock
from runtime.postgres import Connection, translated
from runtime.queries import queries

BATCH_LETTERS = 4_000
LOCK_WAIT_SECONDS = 0.5
"""How often a partition that another replay is at is asked for again."""

Advance = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to replay."""

    statuses: tuple[Status, ...] = ("open",)
    """With `held`, messages that came back too often go too."""
    rate: float | None = None
    """Messages a second, at most."""
    limit: int | None = None
    """Messages in all, at most."""


class Replay:
    """One run of a job."""

    def __init__(
        self,
        connection: Connection,
        *,
        job: Job,
        jobs: Jobs,
        courier: Courier,
        packing: Packing,
        options: Options,
        clock: Clock,
    ) -> None:
        """The parts; `connection` is this replay's own, for it holds locks."""
        self._connection = connection
        self._job = job
        self._jobs = jobs
        self._courier = courier
        self._packing = packing
        self._options = options
        self._clock = clock
        self._queries = queries(PACKAGE)
        self._pause = Event()
        self._done = Summary()

    def run(self, advance: Advance) -> Summary:
        """Send what the job is to send, until nothing is left, the limit is reached or the job is cancelled.

        Raises:
            Unavailable: the broker or the database is away; the job can be resumed.
        """
        began = self._clock.monotonic_seconds()
        for topic, partition, count in self._partitions():
            if self._packing.refusal(topic) is not None:
                self._done = self._done.plus(Summary(refused=count))
                continue
            with self._alone(topic, partition):
                self._carry(topic, partition, advance=advance, began=began)
        if self._jobs.is_cancelled(self._job.job):
            return self._done.plus(Summary(cancelled=True))
        if self._options.limit is None or self._done.sent < self._options.limit:
            self._jobs.end(self._job.job, "done")
        return self._done

    def _partitions(self) -> Sequence[tuple[str, int, int]]:
        """Where the messages came from, and how many from each place."""
        which = {"filters": self._job.filters, "bound": self._job.bound, "statuses": list(self._options.statuses)}
        with translated("replay dead letters"), self._connection.transaction():
            rows = self._connection.execute(self._queries["replay_partitions"], which).fetchall()
        return [(row["topic"], row["partition"], row["count"]) for row in rows]

    def _carry(self, topic: str, partition: int, *, advance: Advance, began: float) -> None:
        """Send a partition's letters, until there are no more, no room, or no wish; each batch is made ready ahead."""
        ready = self._prepare(topic, partition, after=FIRST)
        while ready is not None and (batch := ready.result()) is not None:
            if self._jobs.is_cancelled(self._job.job):
                self._courier.drop(batch)
                break
            ready = (
                self._prepare(topic, partition, after=batch.last, on_its_way=batch.count)
                if self._ahead(batch)
                else None
            )
            done = self._courier.send(batch)
            self._done = self._done.plus(done)
            advance(done.taken)
            self._slow_down(began)
            if ready is None and batch.more:
                ready = self._prepare(topic, partition, after=batch.last)
        self._courier.wait()

    def _prepare(self, topic: str, partition: int, *, after: Place, on_its_way: int = 0) -> Future[Batch | None] | None:
        """The next batch, in the making; None while there is no room beside so many that are on their way."""
        left = BATCH_LETTERS if self._options.limit is None else self._options.limit - self._done.sent - on_its_way
        smooth = BATCH_LETTERS if self._options.rate is None else max(1, round(self._options.rate / 4))
        limit = min(BATCH_LETTERS, left, smooth)
        return self._courier.prepare(topic, partition, after=after, limit=limit) if limit > 0 else None

    def _ahead(self, batch: Batch) -> bool:
        """Whether to make the next batch ready meanwhile; a slow replay locks nothing for longer than it must."""
        return batch.more and self._options.rate is None

    def _slow_down(self, began_seconds: float) -> None:
        if self._options.rate is not None:
            due_seconds = began_seconds + self._done.sent / self._options.rate
            self._pause.wait(max(0.0, due_seconds - self._clock.monotonic_seconds()))

    @contextmanager
    def _alone(self, topic: str, partition: int) -> Iterator[None]:
        """Be the only replay at this partition; wait while another is."""
        place = {"topic": topic, "partition": partition}
        while not self._try_lock(place):
            self._pause.wait(LOCK_WAIT_SECONDS)
        try:
            yield
        finally:
            if not self._connection.broken:
                with translated("replay dead letters"):
                    self._connection.execute(self._queries["unlock_partition"], place)

    def _try_lock(self, place: dict[str, Any]) -> bool:
        with translated("replay dead letters"), self._connection.transaction():
            row = self._connection.execute(self._queries["lock_partition"], place).fetchone()
        return bool(row and row["locked"])
