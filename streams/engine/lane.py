"""A lane: one partition number of the co-partitioned source topics, and one transaction after another.

A transaction takes batches until it holds `transaction_events` records or is `transaction_seconds` old, and waits for
more no longer than other lanes do: they commit together. Lanes take turns to fold; a commit runs in a thread while
other lanes fold. Aborted, its records are folded again, from the same batches; nothing is sought. What is not yet
folded when the lane closes is dropped, for it is not committed and will be fetched again.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

import structlog

from runtime.clock import Clock
from runtime.kafka.config import MESSAGE_MAX_BYTES
from schemas.dead_letters import Origin, dead_letter_headers
from schemas.errors import BadMessage, Broken, Unavailable
from streams.engine.batch import Batch, Record
from streams.engine.lane_id import LaneId
from streams.engine.observer import Observer, Tally
from streams.engine.outbox import Outbox
from streams.engine.pace import Pace
from streams.engine.producer import TransactionalProducer
from streams.engine.source import Source
from streams.fail_points import FailPoints
from streams.fold import Folded

SLICE_RECORDS = 200
"""So many records are folded between two turns of the event loop."""
OUTPUT_BYTES = MESSAGE_MAX_BYTES - 10_000
"""With room for the key and the record's own fields."""
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneOptions:
    """What all lanes of a worker share."""

    transaction_events: int
    pace: Pace
    backlog_records: int
    topic_prefix: str
    dead_letters: str
    """The topic's name on the cluster."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by the lane that folds. Each folds all that it has in one turn, so that under load transactions are few and
    large: when all fold a little by turns, each grows old with little in it, and every commit costs the same.
    """


class Lane:
    """Folds what `put` brings it. Runs from `start` until `close`, or until it fails."""

    def __init__(
        self,
        lane_id: LaneId,
        *,
        sources: Sequence[Source],
        producer: TransactionalProducer,
        group_metadata: Any,
        options: LaneOptions,
        executor: Executor,
        clock: Clock,
        fail_points: FailPoints,
        observer: Observer,
        room_made: Callable[[], None],
    ) -> None:
        """`producer` holds the lane's transactional id, fenced; `sources` stand at the offsets committed after that."""
        self.lane_id = lane_id
        self.sources = {source.topic: source for source in sources}
        self._producer = producer
        self._outbox = Outbox(producer, topic_prefix=options.topic_prefix)
        self._group_metadata = group_metadata
        self._options = options
        self._executor = executor
        self._clock = clock
        self._fail_points = fail_points
        self._observer = observer
        self._room_made = room_made
        self._tally = Tally()
        self._began = self._ends_at = 0.0
        self.committing_since: float | None = None
        """When the commit that is under way began, by the monotonic clock."""
        self._backlog: deque[Batch] = deque()
        self._backlog_records = 0
        self._arrived = asyncio.Event()
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> asyncio.Task[None]:
        """Begin to fold; the task ends when the lane is closed, or fails with the reason."""
        self._task = asyncio.create_task(self._run(), name=f"lane {self.lane_id.partition}")
        return self._task

    @property
    def has_room(self) -> bool:
        """Whether more records may be fetched for it."""
        return self._backlog_records < self._options.backlog_records and not self._closing.is_set()

    def put(self, batch: Batch) -> None:
        """Hand a batch over; a closed lane drops it."""
        if not self._closing.is_set():
            self._backlog.append(batch)
            self._backlog_records += len(batch.records)
            self._arrived.set()

    async def close(self) -> None:
        """Commit what is folded, drop the rest, and free the producer. A failed lane only frees it."""
        self._closing.set()
        self._arrived.set()
        if self._task is not None:
            await asyncio.wait({self._task})
        await asyncio.get_running_loop().run_in_executor(self._executor, self._producer.close)

    async def _run(self) -> None:
        while not self._closing.is_set():
            if self._backlog:
                await self._transaction()
            else:
                self._arrived.clear()
                await self._arrived.wait()

    async def _transaction(self) -> None:
        """One transaction, repeated until it is committed, or until the lane closes while it cannot be."""
        kept: list[Batch] = []
        pause_seconds = FIRST_PAUSE_SECONDS
        while True:
            try:
                if await self._fold_batches(kept):
                    await self._commit()
                return
            except Unavailable as error:
                await self._abort(error)
            try:
                await asyncio.wait_for(self._closing.wait(), pause_seconds)
                return
            except TimeoutError:
                pause_seconds = min(2 * pause_seconds, LONGEST_PAUSE_SECONDS)

    async def _fold_batches(self, kept: list[Batch]) -> bool:
        """Fold the kept batches, then what arrives, until the transaction is to end; False when none was begun."""
        async with self._options.turn:
            if self._closing.is_set() and not kept:
                return False
            self._began = self._clock.monotonic_seconds()
            self._ends_at = self._options.pace.end_of(self._began)
            self._producer.begin()
            for batch in kept:
                await self._fold_batch(batch)
            await self._fold_backlog(kept)
        while not self._is_full() and await self._another():
            async with self._options.turn:
                await self._fold_backlog(kept)
        return True

    async def _fold_backlog(self, kept: list[Batch]) -> None:
        """Fold what has arrived, as far as the transaction takes it, and keep it."""
        while self._backlog and (not kept or not self._is_full()):
            kept.append(self._next_batch())
            await self._fold_batch(kept[-1])

    def _is_full(self) -> bool:
        """Whether the transaction takes no more records: it is large enough or too old, or the lane closes."""
        if self._tally.events >= self._options.transaction_events or self._closing.is_set():
            return True
        return self._clock.monotonic_seconds() - self._began >= self._options.pace.seconds

    def _next_batch(self) -> Batch:
        batch = self._backlog.popleft()
        self._backlog_records -= len(batch.records)
        self._room_made()
        return batch

    async def _another(self) -> bool:
        """Whether another batch is there, or arrives before all lanes end their transactions."""
        if self._backlog:
            return True
        self._arrived.clear()
        try:
            await asyncio.wait_for(self._arrived.wait(), self._ends_at - self._clock.monotonic_seconds())
        except TimeoutError:
            return False
        return True

    async def _fold_batch(self, batch: Batch) -> None:
        source = self.sources[batch.topic]
        self._tally.oldest_ms.setdefault(source.fold.table, batch.records[0].timestamp)
        for at in range(0, len(batch.records), SLICE_RECORDS):
            self._fold_slice(source, batch.records[at : at + SLICE_RECORDS])
            self._outbox.send_many()
            self._producer.serve()
            await asyncio.sleep(0)

    def _fold_slice(self, source: Source, records: Sequence[Record]) -> None:
        """Fold records one after the other; those below the position were folded before."""
        fold, read, generation = source.fold.fold, source.overlay.read, source.generation
        outcomes, watched, began_at = list[str](), self._fail_points.wanted, source.position
        position = began_at
        for record in records:
            if record.offset != position:
                if record.offset < position:
                    continue
                raise Broken(f"{source}: wanted offset {position}, got {record.offset}: records were lost")
            try:
                item = source.input(record)
                if watched:
                    self._fail_points.reach("after-decode")
                folded = fold(item, read, generation=generation)
                self._take(source, folded, revision=position)
            except BadMessage as error:
                self._dead_letter(source, record, error)
                source.count.bad(position, error)
            else:
                outcomes.append(folded.outcome)
                source.count.good()
            position += 1
            source.position = position
        self._tally.events += position - began_at
        for outcome, count in Counter(outcomes).items():
            self._tally.outcomes[source.fold.table, outcome] += count

    def _take(self, source: Source, folded: Folded[Any], *, revision: int) -> None:
        """Take over what a record did.

        Raises:
            BadMessage: an output is larger than the broker takes: no repetition could get it through.
        """
        if self._fail_points.wanted:
            self._fail_points.reach("after-fold")
        for output in folded.outputs:
            if len(output.value) > OUTPUT_BYTES:
                raise BadMessage(
                    f"its output to {output.topic} has {len(output.value)} bytes, more than {OUTPUT_BYTES}"
                )
        source.overlay.change(folded.entries, revision=revision)
        for output in folded.outputs:
            self._outbox.put(output)
        if self._fail_points.wanted:
            self._outbox.send()
            self._fail_points.reach("after-outputs")

    def _dead_letter(self, source: Source, record: Record, error: BadMessage) -> None:
        origin = Origin(
            topic=source.topic, partition=source.partition, offset=record.offset, timestamp_ms=record.timestamp
        )
        headers = dead_letter_headers(
            origin=origin, stage=source.stage, error=error, failed_at=self._clock.now(), previous=record.headers
        )
        self._producer.produce(self._options.dead_letters, key=record.key, value=record.value, headers=headers)
        self._tally.dead_letters[source.stage, type(error).__name__] += 1

    async def _commit(self) -> None:
        began = self._clock.monotonic_seconds()
        loop = asyncio.get_running_loop()
        committing = loop.run_in_executor(self._executor, self._commit_blocking)
        self.committing_since = began
        try:
            await committing
        finally:
            self.committing_since = None
        ended = self._clock.monotonic_seconds()
        self._observer.committed(self._tally, seconds=ended - self._began, commit_seconds=ended - began)
        self._tally = Tally()

    def _commit_blocking(self) -> None:
        """Produce what waits and the changelogs, commit, and write RocksDB. Runs in a thread while the lane waits."""
        self._outbox.send()
        for source in self.sources.values():
            source.produce_changelog(self._producer)
        self._fail_points.reach("before-commit")
        offsets = [each.offset() for each in self.sources.values() if each.position != each.committed]
        self._producer.commit(offsets, self._group_metadata)
        self._fail_points.reach("after-commit")
        for source in self.sources.values():
            source.settle()
        self._fail_points.reach("after-rocksdb")

    async def _abort(self, cause: Unavailable) -> None:
        log = structlog.get_logger("roomkeeper.streams")
        log.warning("transaction.aborted", lane=self._producer.transactional_id, cause=str(cause))
        self._observer.aborted(seconds=self._clock.monotonic_seconds() - self._began)
        self._tally = Tally()
        self._outbox.clear()
        for source in self.sources.values():
            source.rollback()
        loop = asyncio.get_running_loop()
        while not self._closing.is_set():
            try:
                await loop.run_in_executor(self._executor, self._producer.abort)
                return
            except Unavailable as error:
                log.warning("transaction.abort_waits", lane=self._producer.transactional_id, cause=str(error))
