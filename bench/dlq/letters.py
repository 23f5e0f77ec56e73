"""Dead letters by the million, as a stream worker would have written them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from confluent_kafka import Producer as Client

from runtime.kafka.config import producer_config
from runtime.settings import Settings
from runtime.topics import DEAD_LETTERS, ZOOM_EVENTS, physical
from runtime.topics import load as load_topics
from schemas.dead_letters import Origin, dead_letter_headers
from schemas.errors import BadMessage, Unavailable

KEYS = 2_000
_FAILED_AT = datetime(2026, 12, 1, 15, 0, tzinfo=UTC)
_BODY = b"\xc3\x01" + b"a body of about the size that a webhook has. " * 12
_FLUSH_SECONDS = 120.0


def fill(settings: Settings, count: int) -> None:
    """Put so many dead letters on the topic, all acknowledged.

    Raises:
        Unavailable: the broker does not take them.
    """
    topic = physical(DEAD_LETTERS, prefix=settings.kafka.topic_prefix)
    client = Client({**producer_config(settings.kafka, client_id="bench", timeout_seconds=60), "linger.ms": 50})
    for key, value, headers in _letters(settings, count):
        while True:
            try:
                client.produce(topic, value=value, key=key, headers=list(headers))
                break
            except BufferError:
                client.poll(0.1)
        client.poll(0)
    if client.flush(_FLUSH_SECONDS):
        raise Unavailable("the broker did not acknowledge all dead letters")


def _letters(settings: Settings, count: int) -> Iterator[tuple[bytes, bytes, list[tuple[str, bytes]]]]:
    """Key, value and headers; each says that it came from the partition on which its key lies."""
    topic = physical(ZOOM_EVENTS, prefix=settings.kafka.topic_prefix)
    partitions = load_topics().partitions_of(ZOOM_EVENTS, settings.kafka)
    keys = [str(91_000_000_000 + key).encode() for key in range(KEYS)]
    places = [(murmur2(key) & 0x7FFFFFFF) % partitions for key in keys]
    for number in range(count):
        key = number % KEYS
        headers = dead_letter_headers(
            origin=Origin(topic=topic, partition=places[key], offset=number, timestamp_ms=1_796_137_200_000 + number),
            stage="streams.rooms",
            error=BadMessage("payload.object.id: missing"),
            failed_at=_FAILED_AT + timedelta(milliseconds=number),
        )
        yield keys[key], _BODY + str(number).encode(), headers


def murmur2(key: bytes) -> int:
    """Kafka's hash of a key, as 32 bits. Source: org.apache.kafka.common.utils.Utils.murmur2."""
    mask, factor = 0xFFFFFFFF, 0x5BD1E995
    found = 0x9747B28C ^ len(key)
    whole = len(key) // 4 * 4
    for at in range(0, whole, 4):
        part = int.from_bytes(key[at : at + 4], "little") * factor & mask
        part = (part ^ part >> 24) * factor & mask
        found = found * factor & mask ^ part
    if rest := key[whole:]:
        found = (found ^ int.from_bytes(rest, "little")) * factor & mask
    found = (found ^ found >> 13) * factor & mask
    return found ^ found >> 15
