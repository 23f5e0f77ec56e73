"""librdkafka settings for every confluent-kafka client of Roomkeeper.

Guarantees: every producer waits for all in-sync replicas, is idempotent and partitions keys by `murmur2_random`, so
that all clients agree on a key's partition; every consumer reads committed records only and commits by itself.
"""

from __future__ import annotations

from runtime.settings import KafkaSettings
from schemas.errors import Misconfigured

Config = dict[str, str | int | float | bool]

PARTITIONER = "murmur2_random"
"""Java's and aiokafka's way to choose a key's partition; librdkafka's default is another."""
LINGER_MS = 2
"""Waits this long for company: measured at 64 connections, longer raises latency, and none halves the throughput."""
MESSAGE_MAX_BYTES = 1_000_000
"""What brokers take by default, with room for headers: the largest record of an ordinary topic."""
DEAD_LETTER_MAX_BYTES = 2_000_000
"""What a producer lets pass: a record of the largest size must still fit into `dead-letters`, with its history."""
QUEUE_FULL_MS = 20
"""A consumer whose queue is full asks again after so long. librdkafka's default of a second leaves whoever reads faster
than that without records: a restore of a million keys took three times as long. Source: librdkafka's CONFIGURATION.md,
`fetch.queue.backoff.ms`."""
RECONNECT_MAX_MS = 1_000
"""librdkafka's default of 10 s would keep answering 503 that long after the broker is back."""


def producer_config(
    kafka: KafkaSettings, *, client_id: str, timeout_seconds: float, linger_ms: int = LINGER_MS
) -> Config:
    """Settings of a producer; a record that is not acknowledged within `timeout_seconds` fails.

    It waits `linger_ms` for others of its partition.

    Raises:
        Misconfigured: no broker is named.
    """
    return {
        **_client_config(kafka, client_id=client_id),
        "acks": "all",
        "enable.idempotence": True,
        "partitioner": PARTITIONER,
        "compression.type": "lz4",
        "linger.ms": linger_ms,
        "message.max.bytes": DEAD_LETTER_MAX_BYTES,
        "message.timeout.ms": round(timeout_seconds * 1000),
        "request.timeout.ms": min(30_000, max(1_000, round(timeout_seconds * 1000))),
        "queue.buffering.max.messages": 100_000,
    }


def consumer_config(kafka: KafkaSettings, *, client_id: str, group: str) -> Config:
    """Settings of a consumer of committed records that starts at the beginning and never commits by itself.

    Raises:
        Misconfigured: no broker is named.
    """
    return {
        **_client_config(kafka, client_id=client_id),
        "group.id": kafka.topic_prefix + group,
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
        "partition.assignment.strategy": "cooperative-sticky",
        "enable.partition.eof": False,
        "fetch.queue.backoff.ms": QUEUE_FULL_MS,
    }


def admin_config(kafka: KafkaSettings, *, client_id: str) -> Config:
    """Settings of an admin client.

    Raises:
        Misconfigured: no broker is named.
    """
    return _client_config(kafka, client_id=client_id)


def _client_config(kafka: KafkaSettings, *, client_id: str) -> Config:
    if not kafka.bootstrap_servers:
        raise Misconfigured("ROOMKEEPER_KAFKA__BOOTSTRAP_SERVERS: not set; name a broker, or run `roomkeeper up`")
    return {
        "bootstrap.servers": kafka.bootstrap_servers,
        "client.id": kafka.topic_prefix + client_id,
        "reconnect.backoff.max.ms": RECONNECT_MAX_MS,
        "log_level": 2,  # connections that fail are told through `error_cb`, a line for each attempt helps nobody
        **kafka.security,
    }
