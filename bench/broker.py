"""The broker of a benchmark: one of its own, started for the run and gone after it, or one that is named."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from roomkeeper.embedded.kafka.broker import EmbeddedKafka
from runtime.settings import EmbeddedSettings
from schemas.errors import Broken, Unavailable

CACHE_DIR = EmbeddedSettings().cache_dir.expanduser()
HEAP_MB = 1024
"""Twice the embedded broker's usual heap: the broker is not what is measured."""

_TIMEOUT_SECONDS = 30.0
_AGAIN_SECONDS = 0.2
_NOT_YET_THERE = (
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.UNKNOWN_LEADER_EPOCH,
)
_READ_BATCH = 10_000
_SILENT_SECONDS = 60.0

Record = tuple[bytes, bytes | None]
"""Key and value."""


@contextmanager
def bench_broker(bootstrap_servers: str | None = None) -> Iterator[Broker]:
    """The broker under test, for the length of the block."""
    if bootstrap_servers:
        yield Broker(bootstrap_servers)
        return
    with tempfile.TemporaryDirectory(prefix="roomkeeper-bench-kafka-") as folder:
        kafka = EmbeddedKafka(Path(folder), cache_dir=CACHE_DIR, heap_mb=HEAP_MB, lasting=True)
        kafka.start()
        try:
            yield Broker(kafka.bootstrap_servers)
        finally:
            kafka.stop()


class Broker:
    """What a benchmark does with topics: make, fill, watch, read and remove them."""

    def __init__(self, bootstrap_servers: str) -> None:
        """Connect."""
        self.bootstrap_servers = bootstrap_servers
        self._admin = AdminClient(self._client())

    def create(self, topic: str, *, partitions: int, config: Mapping[str, str] | None = None) -> None:
        """Make a topic with one replica, and see that it answers; wait for one of this name that is on its way out."""
        made = NewTopic(topic, num_partitions=partitions, replication_factor=1, config=dict(config or {}))
        _again(
            lambda: self._admin.create_topics([made])[topic].result(_TIMEOUT_SECONDS),
            while_error=(KafkaError.TOPIC_ALREADY_EXISTS,),
        )
        _again(lambda: self.end_offsets(topic), while_error=_NOT_YET_THERE)

    def remove(self, topics: Collection[str]) -> None:
        """Delete topics with all that is in them."""
        if topics:
            for done in self._admin.delete_topics(list(topics)).values():
                done.result(_TIMEOUT_SECONDS)

    def forget_group(self, group: str) -> None:
        """Delete what a consumer group has committed; its members must be gone, or go while this waits."""
        _again(
            lambda: self._admin.delete_consumer_groups([group])[group].result(_TIMEOUT_SECONDS),
            while_error=(KafkaError.NON_EMPTY_GROUP,),
        )

    def topics_with(self, part: str) -> list[str]:
        """Names of the topics that contain `part`."""
        return sorted(name for name in self._admin.list_topics(timeout=_TIMEOUT_SECONDS).topics if part in name)

    def fill(self, topic: str, records: Iterator[tuple[bytes, bytes]]) -> int:
        """Write records of key and value, all acknowledged, without transactions; how many there were."""
        return self.place(topic, ((-1, key, value) for key, value in records))

    def place(self, topic: str, records: Iterator[tuple[int, bytes, bytes]]) -> int:
        """The same, with the partition before each key; -1 leaves it to the key."""
        producer = Producer(
            {
                **self._client(),
                "enable.idempotence": True,
                "partitioner": "murmur2_random",
                "linger.ms": 50,
                "queue.buffering.max.messages": 200_000,
            }
        )
        count = 0
        for partition, key, value in records:
            count += 1
            while True:
                try:
                    producer.produce(topic, value, key, partition)
                    break
                except BufferError:
                    producer.poll(0.1)
            producer.poll(0)
        if producer.flush(_TIMEOUT_SECONDS * 4) > 0:
            raise Unavailable(f"the broker did not acknowledge all records for {topic}")
        return count

    def stable_offsets(self, topic: str) -> Mapping[int, int]:
        """By partition, the offset up to which a `read_committed` reader can read now."""
        return self._ends(topic, IsolationLevel.READ_COMMITTED)

    def end_offsets(self, topic: str) -> Mapping[int, int]:
        """By partition, the offset that the next record would have."""
        return self._ends(topic, IsolationLevel.READ_UNCOMMITTED)

    def read(self, topic: str) -> Iterator[Record]:
        """Key and value of all committed records that lie in the topic now, each partition in its order."""
        for message in self.messages(topic):
            yield message.key() or b"", message.value()

    def messages(self, topic: str) -> Iterator[Message]:
        """All committed records that lie in the topic now, each partition in its order."""
        ends = {partition: end for partition, end in self.stable_offsets(topic).items() if end > 0}
        consumer = Consumer(
            {
                **self._client(),
                "group.id": "roomkeeper-bench-reader",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
            }
        )
        consumer.assign([TopicPartition(topic, partition, 0) for partition in ends])
        heard_at = time.monotonic()
        try:
            while ends:
                for message in consumer.consume(_READ_BATCH, timeout=_AGAIN_SECONDS):
                    heard_at = time.monotonic()
                    error = message.error()
                    if error is None:
                        yield message
                    elif error.name() == "_PARTITION_EOF":
                        ends.pop(message.partition() or 0, None)
                    else:
                        raise KafkaException(error)
                if time.monotonic() - heard_at > _SILENT_SECONDS:
                    raise Broken(f"partitions {sorted(ends)} of {topic} went silent before their end")
        finally:
            consumer.close()

    def _ends(self, topic: str, isolation: IsolationLevel) -> Mapping[int, int]:
        partitions = self._admin.list_topics(topic, timeout=_TIMEOUT_SECONDS).topics[topic].partitions
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # comes without annotations
        asked = {TopicPartition(topic, partition): latest for partition in partitions}
        answers = self._admin.list_offsets(asked, isolation_level=isolation, request_timeout=_TIMEOUT_SECONDS)
        return {where.partition: answer.result(_TIMEOUT_SECONDS).offset for where, answer in answers.items()}

    def _client(self) -> dict[str, str | int | float | bool]:
        return {"bootstrap.servers": self.bootstrap_servers, "log_level": 2}


def _again(step: Callable[[], object], *, while_error: Collection[int]) -> None:
    """Take a step, again and again while the broker answers with one of these errors, for a minute at most."""
    deadline = time.monotonic() + 2 * _TIMEOUT_SECONDS
    while True:
        try:
            step()
        except KafkaException as error:
            if error.args[0].code() not in while_error or time.monotonic() > deadline:
                raise
            time.sleep(_AGAIN_SECONDS)
        else:
            return
