"""Whether what a replay was the last to send has reached its read model, or came back.

A message has reached its read model when the one who reads its topic has passed it, and what follows from it is
projected; it came back when the ledger knows a further attempt. Both are asked of the stored offsets, which move in the
same transactions as the work itself, so an answer is never early. What is still on its way is pending.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

from reconciler.dlq.ledger import PACKAGE
from reconciler.dlq.sending import RETURNED
from runtime.kafka.config import consumer_config
from runtime.kafka.ends import Range
from runtime.kafka.errors import translate_exception
from runtime.kafka.reader import Reader
from runtime.postgres import Connection, translated
from runtime.queries import queries
from runtime.settings import Settings
from runtime.topics import (
    DEAD_LETTERS,
    MEETING_COMMANDS,
    MEETING_EVENTS,
    ROOM_EVENTS,
    ZOOM_EVENTS,
    physical,
)

FOLLOWED_BY: Mapping[str, str] = {MEETING_COMMANDS: MEETING_EVENTS, ZOOM_EVENTS: ROOM_EVENTS}
"""What the streams make of a topic; a partition's outputs lie in the partition of the same number."""
ASK_SECONDS = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A partition that a job sent messages to."""

    topic: str
    partition: int
    """`RETURNED` stands for bodies that could still not be read, and went to the dead letters at once."""
    last_offset: int
    sent: int
    returned: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of a target's messages."""

    target: Target
    read: bool
    """Whoever reads the topic has passed the last of them."""
    projected: bool
    """What follows from them is in the read model, and what came back of them in the ledger."""

    @property
    def pending(self) -> int:
        """Messages of which it is not known yet."""
        return 0 if self.read and self.projected else self.target.sent - self.target.returned

    @property
    def reached(self) -> int:
        """Messages that reached their read model."""
        return self.target.sent - self.target.returned - self.pending


class Verifier:
    """Asks the stored offsets."""

    def __init__(self, settings: Settings, connection: Connection) -> None:
        """`connection` reads the ledger and the offsets."""
        self._settings = settings
        self._prefix = settings.kafka.topic_prefix
        self._connection = connection
        self._queries = queries(PACKAGE)

    def verify(self, job: str) -> list[Verdict]:
        """A verdict for every partition that the job sent to.

        Raises:
            Unavailable: the broker or the database is away.
        """
        verdicts = []
        for target in self._targets(job):
            read = self._is_read(target)
            verdicts.append((target, read, read and self._is_projected(target)))
        # Asked again at the end: what came back meanwhile is known now.
        now = {(each.topic, each.partition): each for each in self._targets(job)}
        return [
            Verdict(target=now.get((target.topic, target.partition), target), read=read, projected=projected)
            for target, read, projected in verdicts
        ]

    def _targets(self, job: str) -> list[Target]:
        return [Target(**row) for row in self._rows("job_targets", {"job": job})]

    def _is_read(self, target: Target) -> bool:
        if target.partition == RETURNED:
            return True
        if target.topic in FOLLOWED_BY:
            return self._committed(target.topic, target.partition) > target.last_offset
        return self._stored(target.topic).get(target.partition, 0) > target.last_offset

    def _is_projected(self, target: Target) -> bool:
        """Asked once the messages are read: their outputs and dead letters are committed, what is there now counts."""
        following = None if target.partition == RETURNED else FOLLOWED_BY.get(target.topic)
        outputs = following is None or self._nothing_left(following, self._stored(following), {target.partition})
        return outputs and self._nothing_left(DEAD_LETTERS, self._stored(DEAD_LETTERS), None)

    def _nothing_left(self, topic: str, stored: Mapping[int, int], only: set[int] | None) -> bool:
        """Whether no committed record lies behind the stored offsets."""
        with Reader(self._settings.kafka, topic=physical(topic, prefix=self._prefix)) as reader:
            ranges = [
                Range(partition=each.partition, first=max(each.first, stored.get(each.partition, 0)), end=each.end)
                for each in reader.ranges()
                if only is None or each.partition in only
            ]
            return next(iter(reader.read(ranges, batch_records=1)), None) is None

    def _stored(self, topic: str) -> Mapping[int, int]:
        name = "ledger_offsets" if topic == DEAD_LETTERS else "projected_offsets"
        rows = self._rows(name, {"topic": physical(topic, prefix=self._prefix)})
        return {row["partition"]: row["next_offset"] for row in rows}

    def _committed(self, topic: str, partition: int) -> int:
        group = self._settings.streams.app_id
        consumer = Consumer(dict(consumer_config(self._settings.kafka, client_id="dlq", group=group)))
        place = TopicPartition(physical(topic, prefix=self._prefix), partition)
        try:
            return consumer.committed([place], timeout=ASK_SECONDS)[0].offset
        except KafkaException as error:
            raise translate_exception(error, doing=f"ask how far {group} has read {topic}") from error
        finally:
            consumer.close()

    def _rows(self, name: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
        with translated("verify a replay"), self._connection.transaction():
            return self._connection.execute(self._queries[name], parameters).fetchall()
