"""`refold`: fold history again after a bug, under a higher generation.

The committed offsets of a fold's source go back, and the bookmark beside them raises the generation; workers find both
when they take the partitions over. Readers keep the greatest (generation, offset), so what is folded again wins over
what the bug had left. Entries that history no longer reaches stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from runtime.kafka.config import admin_config
from runtime.kafka.errors import translate_exception
from runtime.settings import Settings
from schemas.errors import Misconfigured
from streams.engine.bookkeeper import Bookkeeper
from streams.engine.bookmark import Bookmark
from streams.state.tables import TablePartition

CALL_SECONDS = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Refold:
    """What will be folded again, per partition."""

    partition: TablePartition
    committed: int
    begin: int
    bookmark: Bookmark

    @property
    def records(self) -> int:
        """How many records come again."""
        return max(0, self.committed - self.begin)


def plan(
    settings: Settings, partitions: Sequence[TablePartition], *, since: datetime | None, anew: bool
) -> list[Refold]:
    """What a refold would do: from `since` (by the broker's time) or the beginning, to where workers are now.

    The present entries are folded onto, which suits a fold that had left something out. With `anew` they count as
    absent until they are touched, which suits one that had put something wrong in; what history no longer tells is then
    lost.

    Raises:
        Unavailable: the broker does not answer.
    """
    bookkeeper = Bookkeeper(settings.kafka, group=settings.streams.app_id)
    try:
        committed = bookkeeper.committed([each.source for each in partitions])
        generation = 1 + max((each.bookmark.generation for each in committed.values()), default=0)
        generation = max(generation, settings.streams.generation)
        return [
            Refold(
                partition=each,
                committed=committed[each.source].offset,
                begin=min(committed[each.source].offset, bookkeeper.offset_at(each.source, since)),
                bookmark=replace(
                    committed[each.source].bookmark,
                    generation=generation,
                    base=generation if anew else committed[each.source].bookmark.base,
                ),
            )
            for each in partitions
        ]
    finally:
        bookkeeper.close()


def apply(settings: Settings, refolds: Sequence[Refold]) -> None:
    """Put the offsets back. No worker may run.

    Raises:
        Misconfigured: a worker runs.
        Unavailable: the broker does not answer.
    """
    group = settings.kafka.topic_prefix + settings.streams.app_id
    admin = AdminClient(dict(admin_config(settings.kafka, client_id="streams-refold")))
    offsets = [
        TopicPartition(each.partition.source.topic, each.partition.source.partition, each.begin, each.bookmark.text())
        for each in refolds
    ]
    try:
        described = admin.describe_consumer_groups([group], request_timeout=CALL_SECONDS)[group].result()
        if described.members:
            raise Misconfigured(f"{len(described.members)} workers of {group} run: stop them first")
        request = [ConsumerGroupTopicPartitions(group, offsets)]
        for future in admin.alter_consumer_group_offsets(request, request_timeout=CALL_SECONDS).values():
            future.result()
    except KafkaException as error:
        raise translate_exception(error, doing="put offsets back") from error
