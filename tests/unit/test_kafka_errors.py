"""Kafka's errors in the four families, which decide what a process does."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from runtime.kafka.config import consumer_config, producer_config
from runtime.kafka.errors import translate, translate_exception
from runtime.settings import KafkaSettings
from schemas.errors import BadMessage, Broken, Misconfigured, Unavailable

FAMILIES = [
    (KafkaError._MSG_TIMED_OUT, Unavailable),
    (KafkaError._ALL_BROKERS_DOWN, Unavailable),
    (KafkaError.NOT_ENOUGH_REPLICAS, Unavailable),
    (KafkaError.REQUEST_TIMED_OUT, Unavailable),
    (KafkaError.UNKNOWN_TOPIC_OR_PART, Misconfigured),
    (KafkaError.TOPIC_AUTHORIZATION_FAILED, Misconfigured),
    (KafkaError._AUTHENTICATION, Misconfigured),
    (KafkaError.MSG_SIZE_TOO_LARGE, BadMessage),
    (KafkaError._FENCED, Broken),
    (KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, Broken),
]


@pytest.mark.parametrize(("code", "family"), FAMILIES)
def test_each_error_has_its_family(code: int, family: type[Exception]) -> None:
    """The code decides the family, and the message says what was being done."""
    error = translate(KafkaError(code), doing="produce to zoom-events")
    assert type(error) is family
    assert str(error).startswith("produce to zoom-events: ")


def test_a_fatal_error_is_broken_whatever_its_code() -> None:
    """A client that can never send again means that the process must end."""
    error = KafkaException(KafkaError(KafkaError._MSG_TIMED_OUT, "gone", fatal=True))
    assert type(translate_exception(error, doing="produce")) is Broken


def test_a_broker_must_be_named() -> None:
    """Without an address there is no client, and the message names the setting."""
    with pytest.raises(Misconfigured, match="ROOMKEEPER_KAFKA__BOOTSTRAP_SERVERS"):
        producer_config(KafkaSettings(), client_id="x", timeout_seconds=1.0)


def test_what_every_producer_and_consumer_promises() -> None:
    """Producers wait for all replicas, are idempotent and partition as Java does; consumers read what is committed."""
    kafka = KafkaSettings(bootstrap_servers="broker.example.com:9092", topic_prefix="p-")
    producer = producer_config(kafka, client_id="x", timeout_seconds=1.0)
    consumer = consumer_config(kafka, client_id="x", group="g")
    assert (producer["acks"], producer["enable.idempotence"], producer["partitioner"]) == (
        "all",
        True,
        "murmur2_random",
    )
    assert (consumer["isolation.level"], consumer["enable.auto.commit"], consumer["group.id"]) == (
        "read_committed",
        False,
        "p-g",
    )
