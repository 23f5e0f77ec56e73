"""Reading changelogs from outside: the newest value of each key that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from faust.types import TP

from runtime.kafka.config import consumer_config
from runtime.kafka.errors import translate, translate_exception
from runtime.settings import KafkaSettings
from streams.engine.bookkeeper import stable_ends

BATCH_RECORDS = 10_000
POLL_SECONDS = 0.5

Newest = dict[TP, dict[bytes, bytes | None]]
"""By partition and key."""


def newest(
    kafka: KafkaSettings,
    partitions: Sequence[TP],
    *,
    wanted: Callable[[bytes], bool],
    until: Mapping[TP, int] | None = None,
) -> Newest:
    """The newest value of each wanted key in committed records before the offsets `until`, or before the ends.

    Raises:
        Unavailable: the broker does not answer.
    """
    ends = dict(until or stable_ends(kafka, partitions))
    config = consumer_config(kafka, client_id="streams-state", group="streams-state")
    client = Consumer({**config, "enable.partition.eof": True})
    found: Newest = {tp: {} for tp in partitions}
    try:
        behind = {tp for tp in partitions if ends[tp] > 0}
        client.assign([TopicPartition(tp.topic, tp.partition, 0) for tp in behind])
        while behind:
            for message in client.consume(BATCH_RECORDS, POLL_SECONDS):
                tp, next_offset = _place(message)
                key = message.key()
                if message.error() is None and key is not None and next_offset <= ends[tp] and wanted(key):
                    found[tp][key] = message.value()
                if next_offset >= ends[tp]:
                    behind.discard(tp)
    except KafkaException as error:
        raise translate_exception(error, doing="read changelogs") from error
    finally:
        client.close()
    return found


def _place(message: Message) -> tuple[TP, int]:
    """Its partition, and the offset that follows."""
    error, offset = message.error(), message.offset() or 0
    if error is not None and error.code() != KafkaError._PARTITION_EOF:
        raise translate(error, doing="read changelogs")
    return TP(message.topic() or "", message.partition() or 0), offset if error else offset + 1
