"""Messages of dead letters by their coordinates: read along the topic where they lie close, else skipped to."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Self

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from reconciler.dlq.letters import Letter
from runtime.kafka.config import consumer_config
from runtime.kafka.ends import Ends
from runtime.kafka.errors import translate
from runtime.settings import KafkaSettings
from runtime.topics import DEAD_LETTERS, physical
from schemas.errors import Unavailable

Place = tuple[int, int]
"""Partition and offset in `dead-letters`."""

NEAR_RECORDS = 2_000
"""Reading over so many records costs less than asking the broker anew."""
SILENCE_SECONDS = 30.0
_WAIT_SECONDS = 1.0
_LINGER_SECONDS = 0.002
_BATCH_RECORDS = 5_000
_AT_END = KafkaError._PARTITION_EOF  # noqa: SLF001 - librdkafka's own codes begin with _
_GONE = KafkaError._AUTO_OFFSET_RESET  # noqa: SLF001


class Fetcher:
    """Reads single messages of `dead-letters`. Use it as a context manager."""

    def __init__(self, kafka: KafkaSettings) -> None:
        """Nothing is read before it is asked for."""
        self._topic = physical(DEAD_LETTERS, prefix=kafka.topic_prefix)
        self._ends = Ends(kafka, topic=self._topic)
        config = consumer_config(kafka, client_id="dlq", group="dlq")
        self._consumer = Consumer({**config, "enable.partition.eof": True, "auto.offset.reset": "error"})
        self._partition = -1
        self._position = 0
        self._seen_end = 0
        self._ahead: list[Message] = []

    def __enter__(self) -> Self:
        """The fetcher itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnect."""
        self._consumer.close()

    def fetch(self, places: Iterable[Place]) -> dict[Place, Message]:
        """The messages at these places; those that retention has removed are left out.

        Raises:
            Unavailable: the broker fell silent.
        """
        found: dict[Place, Message] = {}
        wanted: dict[int, list[int]] = {}
        for partition, offset in places:
            wanted.setdefault(partition, []).append(offset)
        ends = self._ends.translated_ranges(wanted)
        for partition, offsets in wanted.items():
            there = sorted(offset for offset in offsets if ends[partition].first <= offset < ends[partition].end)
            for message in self._along(partition, there, end=ends[partition].end):
                found[partition, message.offset() or 0] = message
        return found

    def message_of(self, letter: Letter) -> Message | None:
        """A letter's newest copy; None when retention has removed it."""
        place = (letter.letter_partition, letter.letter_offset)
        return self.fetch([place]).get(place)

    def _along(self, partition: int, offsets: list[int], *, end: int) -> Iterable[Message]:
        """The messages at these offsets, which are sorted."""
        left = iter(offsets)
        target = next(left, None)
        while target is not None:
            if partition != self._partition or not self._position <= target <= self._position + NEAR_RECORDS:
                self._seek(partition, target)
            message = self._next(end)
            if message is None:
                return
            while target is not None and target < (message.offset() or 0):
                target = next(left, None)  # between two records there may be none: a marker, or one that was removed
            if target == message.offset():
                yield message
                target = next(left, None)

    def _seek(self, partition: int, offset: int) -> None:
        self._ahead = []
        self._partition, self._position, self._seen_end = partition, offset, 0
        self._consumer.assign([TopicPartition(self._topic, partition, offset)])

    def _next(self, end: int) -> Message | None:
        """The next record of the partition; None past its end."""
        silent_seconds = 0.0
        while not self._ahead:
            if max(self._position, self._seen_end) >= end:
                return None
            messages = self._consumer.consume(1, _WAIT_SECONDS)
            messages += self._consumer.consume(_BATCH_RECORDS, _LINGER_SECONDS) if messages else []
            silent_seconds = 0.0 if messages else silent_seconds + _WAIT_SECONDS
            if silent_seconds > SILENCE_SECONDS:
                raise Unavailable(f"read {self._topic}: nothing for {SILENCE_SECONDS:.0f} s")
            self._ahead = [message for message in messages if self._is_record(message)]
            self._ahead.reverse()
        message = self._ahead.pop()
        self._position = (message.offset() or 0) + 1
        return message

    def _is_record(self, message: Message) -> bool:
        error = message.error()
        if error is None:
            return True
        if error.code() == _AT_END:
            self._seen_end = message.offset() or 0
            return False
        if error.code() == _GONE:
            raise Unavailable(f"read {self._topic}: retention removed what was being read; run it again")
        translated = translate(error, doing=f"read {self._topic}")
        if not isinstance(translated, Unavailable):
            raise translated
        return False
