"""Dead letters of projectors: the record as it was, with coordinates and cause beside it.

Guarantees: the broker has acknowledged a dead letter before its record's offset moves.
"""

from __future__ import annotations

from collections.abc import Sequence

from projectors.engine.slices import Refused
from runtime.clock import Clock
from runtime.kafka.producer import Outgoing, Producer
from runtime.topics import DEAD_LETTERS, physical
from schemas.dead_letters import Origin, dead_letter_headers
from schemas.errors import BadMessage, Broken


class Refusals:
    """Sends refused records to `dead-letters`."""

    def __init__(self, producer: Producer, *, topic_prefix: str, stage: str, clock: Clock) -> None:
        """`stage` says who could not use them."""
        self._producer = producer
        self._prefix = topic_prefix
        self._topic = physical(DEAD_LETTERS, prefix=topic_prefix)
        self._stage = stage
        self._clock = clock

    def send(self, refused: Sequence[Refused]) -> None:
        """Return when all in-sync replicas have every one of them. After a crash they may be there twice.

        Raises:
            Unavailable: not acknowledged in time.
            Broken: a record does not even fit the topic of dead letters.
        """
        try:
            self._producer.send_all([self._letter(each) for each in refused])
        except BadMessage as error:
            raise Broken(f"a dead letter cannot be kept: {error}") from error

    def _letter(self, refused: Refused) -> Outgoing:
        record = refused.consumed
        headers = dead_letter_headers(
            origin=Origin(
                topic=physical(record.topic, prefix=self._prefix),
                partition=record.partition,
                offset=record.offset,
                timestamp_ms=record.timestamp_ms,
            ),
            stage=self._stage,
            error=refused.error,
            failed_at=self._clock.now(),
            previous=record.headers,
        )
        return Outgoing(topic=self._topic, key=record.key, value=record.value, headers=headers)
