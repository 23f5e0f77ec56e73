"""Where the partitions of a topic begin and end, asked over a connection of its own.

A consumer's own connection answers such questions only after the fetch that waits on it, half a second for each; this
one answers all partitions at once, and at once.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from runtime.kafka.config import admin_config
from runtime.kafka.errors import translate_exception
from runtime.settings import KafkaSettings

ASK_SECONDS = 15.0
_EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]  # the library leaves it untyped
_LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Offsets of one partition: from `first` up to, and not including, `end`."""

    partition: int
    first: int
    end: int


class Ends:
    """Asks about one topic."""

    def __init__(self, kafka: KafkaSettings, *, topic: str) -> None:
        """`topic` is the name on the cluster.

        Raises:
            Misconfigured: no broker is named.
        """
        self._topic = topic
        self._config = admin_config(kafka, client_id="ends")
        self._client: AdminClient | None = None

    def ranges(self, partitions: Collection[int], *, timeout_seconds: float = ASK_SECONDS) -> dict[int, Range]:
        """What each of these partitions holds now of committed records.

        Raises:
            KafkaException: translated by none, for the caller knows what an unknown topic means to it.
        """
        try:
            first = self._ask(partitions, _EARLIEST, timeout_seconds)
            end = self._ask(partitions, _LATEST, timeout_seconds)
        except KafkaException:
            # After a broker's restart librdkafka (2.16) goes on asking with the leader's old epoch, for ever.
            self._client = None
            raise
        return {each: Range(partition=each, first=first[each], end=end[each]) for each in sorted(partitions)}

    def translated_ranges(self, partitions: Collection[int]) -> dict[int, Range]:
        """The same.

        Raises:
            Unavailable: the broker does not say.
            Misconfigured: there is no such topic.
        """
        try:
            return self.ranges(partitions)
        except KafkaException as error:
            raise translate_exception(error, doing=f"ask for the ends of {self._topic}") from error

    def _ask(self, partitions: Collection[int], spec: OffsetSpec, timeout_seconds: float) -> dict[int, int]:
        wanted = {TopicPartition(self._topic, each): spec for each in partitions}
        if self._client is None:
            self._client = AdminClient(dict(self._config))
        answers = self._client.list_offsets(
            wanted, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=timeout_seconds
        )
        return {place.partition: answer.result(timeout_seconds + 5.0).offset for place, answer in answers.items()}
