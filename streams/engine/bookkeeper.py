"""A confluent-kafka consumer of the workers' group that never subscribes: it only asks and vouches.

It tells the offsets that are committed (waiting for transactions that are still open), the ends of partitions, and the
group's metadata that a transaction needs to commit offsets in its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

import structlog
from confluent_kafka import Consumer, IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from faust.types import TP

from runtime.kafka.config import admin_config, consumer_config
from runtime.kafka.errors import error_log, translate_exception
from runtime.settings import KafkaSettings
from schemas.errors import Broken, Unavailable
from streams.engine.bookmark import Bookmark, read_bookmark

CALL_SECONDS = 10.0

T = TypeVar("T")


class Committed(NamedTuple):
    """Where a partition's next owner begins."""

    offset: int
    bookmark: Bookmark


class Bookkeeper:
    """Blocks in every method; use it from threads."""

    def __init__(self, kafka: KafkaSettings, *, group: str) -> None:
        """`group` is the name without the prefix.

        Raises:
            Misconfigured: no broker is named.
        """
        config = consumer_config(kafka, client_id=f"{group}-bookkeeper", group=group)
        self._client = Consumer({**config, "error_cb": error_log(f"{group}-bookkeeper")})

    def group_metadata(self) -> Any:
        """What `send_offsets_to_transaction` wants."""
        return self._client.consumer_group_metadata()

    def committed(self, partitions: Iterable[TP]) -> dict[TP, Committed]:
        """The committed offsets; of a partition without one, its beginning.

        Raises:
            Unavailable: the broker does not answer, or a transaction is still open.
            Broken: an offset lies behind the end, so the topic is not the one it was committed for.
        """
        asked = [TopicPartition(*tp) for tp in partitions]
        found = _ask("read committed offsets", lambda: self._client.committed(asked, CALL_SECONDS))
        return {TP(each.topic, each.partition): self._begin(each) for each in found}

    def ends(self, tp: TP) -> tuple[int, int]:
        """The lowest offset and the next offset of a partition.

        Raises:
            Unavailable: the broker does not answer.
        """
        found = _ask(
            f"read the ends of {tp.topic}",
            lambda: self._client.get_watermark_offsets(TopicPartition(*tp), CALL_SECONDS, cached=False),
        )
        if found is None:
            raise Unavailable(f"read the ends of {tp.topic}: no answer in time")
        return found

    def offset_at(self, tp: TP, moment: datetime | None) -> int:
        """The first offset whose record is not older than `moment`; the beginning for None, the end if all are older.

        Raises:
            Unavailable: the broker does not answer.
        """
        low, high = self.ends(tp)
        if moment is None:
            return low
        asked = [TopicPartition(tp.topic, tp.partition, round(moment.timestamp() * 1000))]
        found = _ask(f"look up a time in {tp.topic}", lambda: self._client.offsets_for_times(asked, CALL_SECONDS))
        return high if found[0].offset < 0 else found[0].offset

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _begin(self, found: TopicPartition) -> Committed:
        tp = TP(found.topic, found.partition)
        low, high = self.ends(tp)
        if found.offset < 0:
            return Committed(low, Bookmark())
        if found.offset > high:
            raise Broken(f"{tp.topic}[{tp.partition}]: {found.offset} is committed, but the topic ends at {high}")
        if found.offset < low:
            structlog.get_logger("roomkeeper.streams").error(
                "records.expired", topic=tp.topic, partition=tp.partition, committed=found.offset, begins_at=low
            )
        return Committed(max(found.offset, low), read_bookmark(found.metadata or ""))


def stable_ends(kafka: KafkaSettings, partitions: Sequence[TP]) -> dict[TP, int]:
    """The next offset of each partition as a `read_committed` reader sees it: before the first open transaction.

    Raises:
        Unavailable: the broker does not answer.
    """
    admin = AdminClient(dict(admin_config(kafka, client_id="streams-ends")))
    asked = {TopicPartition(*tp): OffsetSpec.latest() for tp in partitions}  # type: ignore[no-untyped-call]  # it has none
    found = admin.list_offsets(asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=CALL_SECONDS)
    return {
        TP(each.topic, each.partition): _ask(f"read the end of {each.topic}", future.result).offset
        for each, future in found.items()
    }


def _ask(doing: str, question: Callable[[], T]) -> T:
    try:
        return question()
    except KafkaException as error:
        raise translate_exception(error, doing=doing) from error
