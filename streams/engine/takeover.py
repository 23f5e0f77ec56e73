"""Taking partitions over: fence, open, restore, and only then ask where to begin. The order is the guarantee.

1. New producers initialise their transactional ids: what an earlier owner left open is aborted, and it can write no
   more.
2. The changelogs are restored: nobody adds to them now.
3. The committed offsets are read: nobody moves them now.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import structlog
from faust.types import TP

from runtime.kafka.config import producer_config
from runtime.settings import KafkaSettings, StreamsSettings
from schemas.errors import Broken, Unavailable
from streams.engine.bookkeeper import Bookkeeper, Committed
from streams.engine.dead_letter_limit import DeadLetterLimit
from streams.engine.lane_id import LaneId
from streams.engine.observer import Observer
from streams.engine.overlay import Overlay
from streams.engine.producer import TransactionalProducer
from streams.engine.restore import BulkRestore, Stopped, Target
from streams.engine.source import Source
from streams.engine.store import PartitionStore
from streams.engine.table import Table
from streams.fail_points import FailPoints
from streams.fold import Fold

FENCE_THREADS = 16
PAUSE_SECONDS = 0.5

T = TypeVar("T")
Stores = Mapping[tuple[str, int], PartitionStore]
"""By source topic and partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldTopics:
    """A fold with the names of its topics on the cluster."""

    fold: Fold[Any]
    source: str
    changelog: str
    partitions: int
    table: Table


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenLane:
    """A lane ready to run: nobody else can write for it, and its state is complete."""

    lane_id: LaneId
    producer: TransactionalProducer
    sources: Sequence[Source]
    group_metadata: Any


class Takeover:
    """Takes partitions over, once. Blocks; run it in a thread."""

    def __init__(
        self,
        *,
        folds: Sequence[FoldTopics],
        kafka: KafkaSettings,
        settings: StreamsSettings,
        bookkeeper: Bookkeeper,
        observer: Observer,
        fail_points: FailPoints,
        stop: threading.Event,
    ) -> None:
        """`stop` ends it between two steps, when a further rebalance makes it void."""
        self._folds = folds
        self._kafka = kafka
        self._settings = settings
        self._bookkeeper = bookkeeper
        self._observer = observer
        self._fail_points = fail_points
        self._stop = stop
        self._app_id = kafka.topic_prefix + settings.app_id

    def run(self, assigned: Collection[TP]) -> list[TakenLane]:
        """The lanes of the assigned source partitions.

        Raises:
            Stopped: as told; what was fenced is let go of.
            Fenced, Broken, Misconfigured: the process must end.
        """
        lanes = self._group(assigned)
        producers = self._fence(list(lanes))
        try:
            self._fail_points.reach("in-recovery")
            stores = {
                (each.source, lane.partition): self._open(each, lane.partition)
                for lane, folds in lanes.items()
                for each in folds
            }
            self._restore(stores)
            begins = self._patiently(lambda: self._bookkeeper.committed(assigned)) if assigned else {}
            return [self._taken(lane, producers[lane], folds, stores, begins) for lane, folds in lanes.items()]
        except BaseException:
            _close(producers.values())
            raise

    def _group(self, assigned: Collection[TP]) -> dict[LaneId, list[FoldTopics]]:
        lanes: dict[LaneId, list[FoldTopics]] = {}
        for each in self._folds:
            for tp in assigned:
                if tp.topic == each.source:
                    lanes.setdefault(LaneId(partitions=each.partitions, partition=tp.partition), []).append(each)
        for lane, folds in lanes.items():
            wanted = {each.source for each in self._folds if each.partitions == lane.partitions}
            if missing := wanted - {each.source for each in folds}:
                raise Broken(f"partition {lane.partition} was assigned without that of {', '.join(sorted(missing))}")
        return lanes

    def _fence(self, lanes: Sequence[LaneId]) -> dict[LaneId, TransactionalProducer]:
        if not lanes:
            return {}
        with ThreadPoolExecutor(min(len(lanes), FENCE_THREADS), thread_name_prefix="fence") as pool:
            futures = {lane: pool.submit(self._patiently, partial(self._fenced, lane)) for lane in lanes}
        errors = [error for future in futures.values() if (error := future.exception()) is not None]
        if errors:
            _close(future.result() for future in futures.values() if future.exception() is None)
            raise errors[0]
        return {lane: future.result() for lane, future in futures.items()}

    def _fenced(self, lane: LaneId) -> TransactionalProducer:
        name = lane.transactional_id(self._app_id)
        timeout_seconds = self._settings.transaction_timeout_seconds
        producer = TransactionalProducer(
            producer_config(
                self._kafka, client_id=f"{self._settings.app_id}-{lane.partition}", timeout_seconds=timeout_seconds
            ),
            transactional_id=name,
            transaction_timeout_seconds=timeout_seconds,
        )
        try:
            producer.fence()
        except BaseException:
            producer.close()
            raise
        return producer

    def _open(self, topics: FoldTopics, partition: int) -> PartitionStore:
        return self._patiently(lambda: topics.table.store.open(partition))

    def _restore(self, stores: Stores) -> None:
        restore = BulkRestore(
            self._kafka,
            client_id=f"{self._settings.app_id}-restore",
            stop=self._stop,
            observer=self._observer,
            fail_points=self._fail_points,
        )
        targets = [
            Target(TP(each.changelog, partition), each.fold.table, store)
            for each in self._folds
            for (source, partition), store in stores.items()
            if source == each.source
        ]
        records = self._patiently(lambda: restore.run(targets)) if targets else 0
        structlog.get_logger("roomkeeper.streams").info("streams.restored", partitions=len(targets), records=records)

    def _taken(
        self,
        lane: LaneId,
        producer: TransactionalProducer,
        folds: Sequence[FoldTopics],
        stores: Stores,
        begins: Mapping[TP, Committed],
    ) -> TakenLane:
        sources = [
            self._source(
                each,
                lane.partition,
                store=stores[each.source, lane.partition],
                begin=begins[TP(each.source, lane.partition)],
            )
            for each in folds
        ]
        return TakenLane(
            lane_id=lane, producer=producer, sources=sources, group_metadata=self._bookkeeper.group_metadata()
        )

    def _source(self, topics: FoldTopics, partition: int, *, store: PartitionStore, begin: Committed) -> Source:
        settings = self._settings
        bookmark = begin.bookmark.at_least(settings.generation)
        limit = DeadLetterLimit(
            run=settings.dead_letter_run, share=settings.dead_letter_share, window=settings.dead_letter_window
        )
        return Source(
            fold=topics.fold,
            topic=topics.source,
            changelog=topics.changelog,
            partition=partition,
            overlay=Overlay(fold=topics.fold, store=store, bookmark=bookmark, cache_entries=settings.cache_entries),
            position=begin.offset,
            bookmark=bookmark,
            limit=limit,
        )

    def _patiently(self, step: Callable[[], T]) -> T:
        """The step's result, repeating it while something is unavailable."""
        while True:
            if self._stop.is_set():
                raise Stopped
            try:
                return step()
            except Unavailable as error:
                structlog.get_logger("roomkeeper.streams").warning("streams.takeover_waits", cause=str(error))
                self._stop.wait(PAUSE_SECONDS)


def _close(producers: Iterable[TransactionalProducer]) -> None:
    for producer in producers:
        producer.close()
