"""Faust's transport with one event per batch: aiokafka fetches, and Faust neither commits nor produces.

Membership, assignor and rebalancing stay Faust's. Offsets are committed by the lanes' transactions alone, and positions
are set by the recovery alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, cast

from aiokafka import TopicPartition
from faust import Schema
from faust.transport.drivers import aiokafka as driver
from faust.transport.producer import Producer as FaustProducer
from faust.types import TP, AppT, ConsumerMessage, Message
from faust.types.transports import ConsumerT, ProducerT, SchedulingStrategyT

from schemas.errors import Broken
from streams.engine.batch import Batch

if TYPE_CHECKING:
    from streams.engine.app import App


FETCHES_APART_SECONDS = 0.02
"""After a fetch of few records: at a thousand a second, a fetch for each would be most of what a worker does."""


class WholeBatches(SchedulingStrategyT):
    """Hands out all records of a partition at once."""

    def __init__(self) -> None:
        """Keeps nothing."""

    @classmethod
    def map_from_records(cls, records: Mapping[TP, list[Any]]) -> Any:
        """Not used."""
        raise NotImplementedError

    def iterate(self, records: Mapping[TP, list[Any]]) -> Iterator[tuple[TP, Any]]:
        """Each partition with its records."""
        return iter([(tp, found) for tp, found in records.items() if found])

    def records_iterator(self, index: Any) -> Iterator[tuple[TP, Any]]:
        """Not used."""
        raise NotImplementedError


class BatchSchema(Schema[None, Batch]):
    """Passes batches through: decoding is the fold's."""

    def loads_value(self, app: AppT, message: Message, **_: Any) -> Any:
        """The batch."""
        return message.value


class Consumer(driver.Consumer):
    """Fetches only what lanes have room for, and leaves offsets alone."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """As Faust makes it, with our scheduler."""
        super().__init__(*args, **kwargs)
        self.scheduler = WholeBatches()
        self._fetched_at = float("-inf")

    @property
    def _engine(self) -> App:
        return cast("App", self.app)

    async def _getmany(self, active_partitions: set[TP] | None, timeout: float) -> Mapping[TP, list[Any]]:
        wanted = self._engine.lanes.with_room(active_partitions or ())
        if not wanted:
            await self._engine.lanes.wait_for_room(timeout_seconds=timeout)
            return {}
        clock = self._engine.clock
        await asyncio.sleep(max(0.0, self._fetched_at + FETCHES_APART_SECONDS - clock.monotonic_seconds()))
        records = await super()._getmany(set(wanted), timeout)
        if sum(map(len, records.values())) < self._engine.settings.poll_records / 2:
            self._fetched_at = clock.monotonic_seconds()
        return records

    def _to_message(self, tp: TP, record: Any) -> ConsumerMessage:
        last = record[-1]
        return ConsumerMessage(
            tp.topic,
            tp.partition,
            last.offset,
            last.timestamp / 1000.0,
            last.timestamp_type,
            None,
            None,
            cast("bytes", Batch(tp.topic, tp.partition, record)),  # Faust passes it through to our schema
            None,
            0,
            0,
            tp,
            generation_id=self.app.consumer_generation_id,
        )

    async def _add_gap(self, tp: TP, offset_from: int, offset_to: int) -> None:
        """Nothing: between two batches there is always one."""

    def ack(self, message: Message) -> bool:
        """Nothing is committed by acknowledgement."""
        message.acked = True
        self._unacked_messages.discard(message)
        return True

    async def commit(self, topics: Any = None, start_new_transaction: bool = True) -> bool:
        """Nothing is committed by Faust."""
        return False

    async def perform_seek(self) -> None:
        """Nothing: Faust seeks when it likes, and while a transaction is open the committed offset is an old one."""

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Nothing: the watchdog looks, and by other signs."""

    async def wait_empty(self) -> None:
        """Commit what is folded and let go of the partitions."""
        await self._engine.release()

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Commit what is folded and let go of the partitions, before anybody else gets them."""
        await self._engine.release()
        await super().on_partitions_revoked(revoked)

    async def start_at(self, offsets: Mapping[TP, int]) -> None:
        """Fetch from these offsets on, and nothing of the other partitions."""
        others = {tp for tp in self.assignment() if tp not in offsets}
        await self._thread.call_thread(self._pause_fetching, others)
        if offsets:
            await self.seek_wait(offsets)
        self._read_offset.update(dict.fromkeys(offsets))

    async def _pause_fetching(self, partitions: Iterable[TP]) -> None:
        """Runs in the consumer's thread. Faust's own pause would let aiokafka fetch all the same."""
        self._thread._ensure_consumer().pause(*(TopicPartition(tp.topic, tp.partition) for tp in partitions))


class Producer(FaustProducer):
    """Sends nothing: whatever leaves a worker is part of a transaction."""

    async def send(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse.

        Raises:
            Broken: always.
        """
        raise Broken("Faust's producer is not used: outputs belong to a lane's transaction")

    send_and_wait = send

    async def create_topic(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: topics are declared in topics.yaml."""


class Transport(driver.Transport):
    """Makes our consumers and producers."""

    Consumer: ClassVar[type[ConsumerT]] = Consumer
    Producer: ClassVar[type[ProducerT]] = Producer
