"""One projection's side towards Kafka: the partitions that its group gave to this process, read from stored offsets.

Group membership decides who reads a partition, the database decides from where. After each rebalance, and after any
trouble, nothing is fetched until `start_from` is told the stored offsets; meanwhile `wait` keeps the membership alive.
Guarantees: records of a partition come in order and without a gap from the given offset, committed ones only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from projectors.engine.slices import Slice
from projectors.projection import Consumed
from runtime.kafka.config import consumer_config
from runtime.kafka.ends import Ends, Range
from runtime.kafka.errors import translate, translate_exception
from runtime.settings import KafkaSettings
from runtime.topics import physical
from schemas.errors import Unavailable

SESSION_SECONDS = 10
"""A process that vanished is replaced within so long."""
IDLE_SECONDS = 0.5
"""The longest wait for a first record: how soon a stop is noticed."""
ASK_SECONDS = 5.0
"""The broker's time to answer a question about a partition's ends."""
# librdkafka's own codes begin with an underscore; they are public all the same.
_AT_END = KafkaError._PARTITION_EOF  # noqa: SLF001
_TOPIC_UNKNOWN = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001
        KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
        KafkaError._NOENT,  # noqa: SLF001
    }
)
_STARTS_OVER = frozenset({KafkaError._AUTO_OFFSET_RESET, KafkaError._MAX_POLL_EXCEEDED})  # noqa: SLF001


class TopicUnknown(Unavailable):
    """The broker does not know the topic: for a moment after its restart, or for good when the topic was deleted."""


class Source:
    """The consumer of one topic."""

    def __init__(self, kafka: KafkaSettings, *, topic: str, group: str) -> None:
        """`topic` is the logical name. Nothing connects before the context is entered.

        Raises:
            Misconfigured: no broker is named.
        """
        self.topic = topic
        self.owned: frozenset[int] = frozenset()
        """What the group gave to this process."""
        self._physical = physical(topic, prefix=kafka.topic_prefix)
        self._positions: dict[int, int] | None = None
        self._reached: dict[int, int] = {}
        self._ends = Ends(kafka, topic=self._physical)
        self._consumer = Consumer({**consumer_config(kafka, client_id=group, group=group), **_OWN_CONFIG})

    def __enter__(self) -> Self:
        """Join the group."""
        self._consumer.subscribe([self._physical], on_assign=self._on_assign, on_revoke=self._on_revoke)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the group."""
        self._consumer.close()

    @property
    def reading(self) -> bool:
        """Whether records flow; false after a rebalance or `suspend`, until `start_from`."""
        return self._positions is not None

    def start_from(self, positions: Mapping[int, int], ends: Mapping[int, Range]) -> None:
        """Let these partitions flow from the stored offsets, or from the first that is still there."""
        self._positions = dict(positions)
        self._reached = {each: ends[each].first for each in positions}
        self._consumer.assign(
            [TopicPartition(self._physical, each, max(at, ends[each].first)) for each, at in positions.items()]
        )

    def suspend(self) -> None:
        """Fetch nothing and forget what was fetched; the partitions stay owned."""
        if self._positions is not None:
            self._positions = None
            self._consumer.assign([])

    def wait(self, seconds: float) -> None:
        """Let time pass as a live member of the group, fetching nothing."""
        self.suspend()
        for message in self._consumer.consume(1, seconds):
            self._check(message)

    def take(self, limit: int, linger_seconds: float) -> list[Slice]:
        """The next records of the owned partitions, at most `limit`; none when there are none, or a rebalance came.

        Raises:
            Misconfigured: the topic or the right to read it is missing.
        """
        messages = self._consumer.consume(1, IDLE_SECONDS)
        if messages and limit > 1:
            messages += self._consumer.consume(limit - 1, linger_seconds)
        found: dict[int, list[Consumed]] = {}
        for message in messages:
            if self._check(message) and self._positions is not None:
                record = self._consumed(message)
                if record.partition in self._positions:
                    found.setdefault(record.partition, []).append(record)
        positions = self._positions or {}
        return [
            Slice(partition=each, held=positions[each], records=tuple(records))
            for each, records in found.items()
            if each in positions
        ]

    def settle(self, slices: Sequence[Slice]) -> None:
        """These slices are being written: the next ones follow them. If that fails, `suspend`."""
        if self._positions is not None:
            self._positions.update((each.partition, each.next_offset) for each in slices)

    def show_progress(self) -> None:
        """Tell the group's stored offsets to Kafka too, where operators look for lag; nobody waits or relies on it."""
        if self._positions:
            offsets = [TopicPartition(self._physical, each, offset) for each, offset in self._positions.items()]
            with suppress(KafkaException):
                self._consumer.commit(offsets=offsets, asynchronous=True)

    def ends(self) -> dict[int, Range]:
        """What each owned partition holds of committed records.

        Raises:
            Unavailable: the broker does not say.
        """
        try:
            return self._ends.ranges(self.owned, timeout_seconds=ASK_SECONDS)
        except KafkaException as error:
            doing = f"ask for the ends of {self._physical}"
            if error.args[0].code() in _TOPIC_UNKNOWN:
                raise TopicUnknown(f"{doing}: {error.args[0].str()}") from error
            raise translate_exception(error, doing=doing) from error

    def lag(self) -> dict[int, int]:
        """How many records each partition is behind; markers of transactions behind the last record do not count.

        Raises:
            Unavailable: the broker does not say.
        """
        positions = self._positions or {}
        return {
            each: max(0, ends.end - max(positions[each], self._reached[each]))
            for each, ends in self.ends().items()
            if each in positions
        }

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.owned = frozenset(each.partition for each in partitions)
        self._positions = None
        consumer.assign([])

    def _on_revoke(self, consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        self.owned = frozenset()
        self._positions = None
        consumer.unassign()

    def _check(self, message: Message) -> bool:
        """Whether this is a record; ends are noted, and errors that librdkafka mends by itself are passed over."""
        error = message.error()
        if error is None:
            return True
        if error.code() == _AT_END:
            self._reached[message.partition() or 0] = message.offset() or 0
            return False
        if error.code() in _STARTS_OVER:
            self.suspend()
        elif error.code() not in _TOPIC_UNKNOWN:
            translated = translate(error, doing=f"read {self._physical}")
            if not isinstance(translated, Unavailable):
                raise translated
        return False

    def _consumed(self, message: Message) -> Consumed:
        return Consumed(
            topic=self.topic,
            partition=message.partition() or 0,
            offset=message.offset() or 0,
            timestamp_ms=message.timestamp()[1],
            key=message.key(),
            value=message.value(),
            headers=tuple(cast("list[tuple[str, bytes | None]]", message.headers() or [])),
        )


_OWN_CONFIG: dict[str, str | int | bool] = {
    "partition.assignment.strategy": "range",  # the offsets come from the database, so each rebalance starts over
    "auto.offset.reset": "error",  # an offset that is gone must be seen, never skipped
    "enable.partition.eof": True,
    "session.timeout.ms": SESSION_SECONDS * 1000,
    "heartbeat.interval.ms": SESSION_SECONDS * 200,
    "queued.max.messages.kbytes": 32_768,
}
