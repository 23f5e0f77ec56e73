"""The Faust app with the engine built in."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from pathlib import Path
from typing import Any, cast

import faust
from faust.types import TP, AgentT
from faust.types.transports import TransportT

from runtime.clock import Clock
from runtime.settings import KafkaSettings, StreamsSettings
from schemas.errors import Misconfigured
from streams.engine.bookkeeper import Bookkeeper
from streams.engine.lane import Lane, LaneOptions
from streams.engine.lanes import Lanes
from streams.engine.observer import Observer, Progress
from streams.engine.pace import Pace
from streams.engine.recovery import TableManager
from streams.engine.table import Table
from streams.engine.takeover import FoldTopics, TakenLane, Takeover
from streams.engine.transport import Consumer, Transport
from streams.fail_points import FailPoints
from streams.fold import Fold

THREADS = 64
"""Commits wait in threads, one for each lane at most; so does a take-over."""


class Phase(Enum):
    """What a worker is at; the text completes "work to do: …"."""

    JOINING = "it waits for partitions"
    TAKING_OVER = "it takes partitions over"
    RUNNING = "it folds"


class App(faust.App):
    """A worker: Faust's app, with lanes in place of its message path."""

    def __init__(
        self,
        *,
        kafka: KafkaSettings,
        settings: StreamsSettings,
        folds: Sequence[Fold[Any]],
        dead_letters: str,
        partitions: Mapping[str, int],
        clock: Clock,
        observer: Observer,
        **options: Any,
    ) -> None:
        """`partitions` are the counts of the topics on the cluster; `dead_letters` is a topic's logical name."""
        super().__init__(kafka.topic_prefix + settings.app_id, **options)
        self.kafka = kafka
        self.settings = settings
        self.clock = clock
        self.observer = self.progress = Progress(observer)
        self.phase = Phase.JOINING
        self.fail_points = FailPoints(settings.fail_point)
        self.executor = ThreadPoolExecutor(THREADS, thread_name_prefix="streams")
        self.lanes = Lanes()
        self.bookkeeper = Bookkeeper(kafka, group=settings.app_id)
        self.folds = [self._declare(fold, partitions) for fold in folds]
        self._options = LaneOptions(
            transaction_events=settings.transaction_events,
            pace=Pace(settings.transaction_seconds),
            backlog_records=settings.backlog_records,
            topic_prefix=kafka.topic_prefix,
            dead_letters=kafka.topic_prefix + dead_letters,
        )

    def _declare(self, fold: Fold[Any], partitions: Mapping[str, int]) -> FoldTopics:
        """Declare the fold's table to Faust; its topics must have the same partitions."""
        source = self.kafka.topic_prefix + fold.source
        changelog = f"{self.conf.id}-{fold.table}-changelog"
        if partitions[source] != partitions[changelog]:
            raise Misconfigured(
                f"{source} has {partitions[source]} partitions and {changelog} {partitions[changelog]}: "
                "a table needs as many as its source"
            )
        return FoldTopics(
            fold=fold,
            source=source,
            changelog=changelog,
            partitions=partitions[source],
            table=cast("Table", self.Table(fold.table, key_type=str, value_type=bytes)),
        )

    def take_over(self, sources: set[TP], stop: threading.Event) -> list[TakenLane]:
        """Close what is no longer ours and take the rest over. Blocks."""
        for each in self.folds:
            kept = {tp.partition for tp in sources if tp.topic == each.source}
            each.table.store.close_except(kept)
        self.phase = Phase.TAKING_OVER
        takeover = Takeover(
            folds=self.folds,
            kafka=self.kafka,
            settings=self.settings,
            bookkeeper=self.bookkeeper,
            observer=self.observer,
            fail_points=self.fail_points,
            stop=stop,
        )
        return takeover.run(sources)

    def open_lanes(self, taken: Sequence[TakenLane]) -> None:
        """Start a lane for each that was taken over."""
        self.lanes.open([self._lane(each) for each in taken])

    async def let_go(self, taken: Sequence[TakenLane]) -> None:
        """Free lanes that were taken over and never opened."""
        await asyncio.gather(*(self._lane(each).close() for each in taken))

    async def begin(self, sources: set[TP]) -> None:
        """Let the records of these partitions flow, from the committed offsets on: seek first, resume last."""
        consumer = cast("Consumer", self.consumer)
        await self.on_rebalance_complete.send()
        positions = self.lanes.positions()
        await consumer.start_at({tp: positions[tp] for tp in sources})
        consumer.resume_partitions(sources)
        self.flow_control.resume()
        consumer.resume_flow()
        await self._fetcher.maybe_start()
        tables = cast("TableManager", self.tables)
        tables.on_actives_ready()
        tables.on_standbys_ready()
        self.on_rebalance_end()
        self.phase = Phase.RUNNING
        self.progress.tick()

    def stop_flow(self) -> None:
        """Let no further record reach an agent."""
        self.consumer.stop_flow()
        self.flow_control.suspend()

    async def release(self) -> None:
        """Stop the flow, end a take-over that is under way, commit what is folded, and let go of every lane."""
        self.phase = Phase.JOINING
        self.stop_flow()
        await cast("TableManager", self.tables).recovery.cancel()
        await self.lanes.close()
        self.fail_points.reach("in-rebalance")

    def crashed_services(self) -> str:
        """Names of Faust's services that crashed; a crash in the consumer's thread does not always reach the app."""
        if self._consumer is None:
            return ""
        consumer = cast("Consumer", self._consumer)
        services = [self, consumer, consumer._thread, vars(self).get("_fetcher"), vars(self).get("topics")]
        return ", ".join(type(each).__name__ for each in services if each is not None and each.crashed)

    def _lane(self, taken: TakenLane) -> Lane:
        return Lane(
            taken.lane_id,
            sources=taken.sources,
            producer=taken.producer,
            group_metadata=taken.group_metadata,
            options=self._options,
            executor=self.executor,
            clock=self.clock,
            fail_points=self.fail_points,
            observer=self.observer,
            room_made=self.lanes.room_made,
        )

    def _new_transport(self) -> TransportT:
        return Transport(self.conf.broker_consumer, self)

    def _new_producer_transport(self) -> TransportT:
        return Transport(self.conf.broker_producer, self)

    async def _on_agent_error(self, agent: AgentT[Any], exc: BaseException) -> None:
        """An agent that failed lost a batch: the process must end."""
        self.lanes.fail(exc)

    def _create_directories(self) -> None:
        """Faust makes no parents."""
        try:
            Path(self.conf.tabledir).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Misconfigured(f"ROOMKEEPER_STREAMS__DATA_DIR: {self.conf.tabledir}: {error.strerror}") from error
