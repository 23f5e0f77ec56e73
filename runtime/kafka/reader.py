"""Reading what a topic holds now, from one offset to another, and then no more: for rebuilds, replays and checks.

Guarantees: every committed record of the asked ranges that the topic still has is given once, each partition in its
order, in memory for one batch only; records that come after the ranges were fixed are not given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from runtime.kafka.config import consumer_config
from runtime.kafka.ends import Ends, Range
from runtime.kafka.errors import translate, translate_exception
from runtime.settings import KafkaSettings
from schemas.errors import Unavailable

ASK_SECONDS = 15.0
SILENCE_SECONDS = 60.0
"""A broker that gives nothing for so long, before the end of a range, is unavailable."""
_WAIT_SECONDS = 1.0
_LINGER_SECONDS = 0.02
_AT_END = KafkaError._PARTITION_EOF  # noqa: SLF001 - librdkafka's own codes begin with _


class Reader:
    """Reads one topic, outside any consumer group. Use it as a context manager."""

    def __init__(self, kafka: KafkaSettings, *, topic: str) -> None:
        """`topic` is the name on the cluster.

        Raises:
            Misconfigured: no broker is named.
        """
        self._topic = topic
        self._ends = Ends(kafka, topic=topic)
        config = consumer_config(kafka, client_id="reader", group="reader")
        self._consumer = Consumer({**config, "enable.partition.eof": True, "queued.max.messages.kbytes": 65_536})

    def __enter__(self) -> Self:
        """The reader itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnect."""
        self._consumer.close()

    def ranges(self) -> list[Range]:
        """What each partition holds now of committed records.

        Raises:
            Unavailable: the broker does not say.
        """
        try:
            metadata = self._consumer.list_topics(self._topic, timeout=ASK_SECONDS).topics[self._topic]
            if metadata.error is not None:
                raise translate(metadata.error, doing=f"look up {self._topic}")
        except KafkaException as error:
            raise translate_exception(error, doing=f"look up {self._topic}") from error
        return list(self._ends.translated_ranges(metadata.partitions).values())

    def read(self, ranges: Sequence[Range], *, batch_records: int) -> Iterator[list[Message]]:
        """The records of these ranges, in batches of at most so many.

        Raises:
            Unavailable: the broker fell silent before the end.
        """
        left = {each.partition: each.end for each in ranges if each.first < each.end}
        self._consumer.assign(
            [TopicPartition(self._topic, each.partition, each.first) for each in ranges if each.partition in left]
        )
        silent_seconds = 0.0
        while left:
            messages = self._consumer.consume(1, _WAIT_SECONDS)
            if messages and batch_records > 1:
                messages += self._consumer.consume(batch_records - 1, _LINGER_SECONDS)
            silent_seconds = 0.0 if messages else silent_seconds + _WAIT_SECONDS
            if silent_seconds >= SILENCE_SECONDS:
                raise Unavailable(f"read {self._topic}: nothing for {SILENCE_SECONDS:.0f} s, partitions {sorted(left)}")
            if found := self._within(messages, left):
                yield found
        self._consumer.unassign()

    def _within(self, messages: Sequence[Message], left: dict[int, int]) -> list[Message]:
        """Those that belong to what is left; partitions that reached their end are taken out of it."""
        found = []
        for message in messages:
            partition, offset = message.partition() or 0, message.offset() or 0
            error = message.error()
            if error is not None and error.code() != _AT_END:
                self._judge(error)
                continue
            end = left.get(partition)
            if end is None:
                continue
            if error is None and offset < end:
                found.append(message)
            if offset >= (end - 1 if error is None else end):
                del left[partition]
                self._consumer.pause([TopicPartition(self._topic, partition)])
        return found

    def _judge(self, error: KafkaError) -> None:
        translated = translate(error, doing=f"read {self._topic}")
        if not isinstance(translated, Unavailable):
            raise translated
