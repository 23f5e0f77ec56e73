"""Messages of dead letters by their coordinates: read along the topic where they lie close, else skipped to."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
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
AHEAD_KIB = 32_768
"""What the client fetches ahead at most: some batches."""
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
        own = {"enable.partition.eof": True, "auto.offset.reset": "error", "queued.max.messages.kbytes": AHEAD_KIB}
        self._consumer = Consumer({**config, **own})
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
            found.update(self._along(partition, there, end=ends[partition].end))
        return found

    def message_of(self, letter: Letter) -> Message | None:
        """A letter's newest copy; None when retention has removed it."""
        place = (letter.letter_partition, letter.letter_offset)
        return self.fetch([place]).get(place)

    def _along(self, partition: int, offsets: Sequence[int], *, end: int) -> Iterator[tuple[Place, Message]]:
        """The messages at these offsets, which are sorted. Between two records there may be none at some offsets."""
        left = deque(offsets)
        while left:
            if partition != self._partition or not self._position <= left[0] <= self._position + NEAR_RECORDS:
                self._seek(partition, left[0])
            block = self._block(end)
            if not block:
                return
            there = {message.offset() or 0: message for message in block}
            last = next(reversed(there))
            while left and left[0] <= last:
                offset = left.popleft()
                if offset in there:
                    yield (partition, offset), there[offset]
            self._ahead = [] if left else block[bisect_right(list(there), offsets[-1]) :]
            self._position = (self._ahead[0].offset() or 0) if self._ahead else last + 1

    def _seek(self, partition: int, offset: int) -> None:
        self._ahead = []
        self._partition, self._position, self._seen_end = partition, offset, 0
        self._consumer.assign([TopicPartition(self._topic, partition, offset)])

    def _block(self, end: int) -> list[Message]:
        """The next records of the partition: what is left of the last block, or else new ones; none past its end."""
        silent_seconds = 0.0
        while not self._ahead:
            if max(self._position, self._seen_end) >= end:
                return []
            messages = self._consumer.consume(1, _WAIT_SECONDS)
            messages += self._consumer.consume(_BATCH_RECORDS, _LINGER_SECONDS) if messages else []
            silent_seconds = 0.0 if messages else silent_seconds + _WAIT_SECONDS
            if silent_seconds > SILENCE_SECONDS:
                raise Unavailable(f"read {self._topic}: nothing for {SILENCE_SECONDS:.0f} s")
            self._ahead = [message for message in messages if self._is_record(message)]
        return self._ahead

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
