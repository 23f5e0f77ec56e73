"""Which topics there are, and with how many partitions: asked before a worker starts, for Faust would wait for ever."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from runtime.kafka.config import admin_config
from runtime.kafka.errors import translate_exception
from runtime.settings import KafkaSettings
from schemas.errors import Misconfigured

CALL_SECONDS = 10.0


def partition_counts(kafka: KafkaSettings, topics: Iterable[str]) -> dict[str, int]:
    """The partition count of each topic, by its name on the cluster.

    Raises:
        Misconfigured: topics are missing; the message names them.
        Unavailable: the broker does not answer.
    """
    client = AdminClient(dict(admin_config(kafka, client_id="streams-admin")))
    try:
        found = client.list_topics(timeout=CALL_SECONDS).topics
    except KafkaException as error:
        raise translate_exception(error, doing="list topics") from error
    wanted = list(topics)
    missing = sorted(topic for topic in wanted if topic not in found)
    if missing:
        raise Misconfigured(f"missing topics: {', '.join(missing)}; `roomkeeper topics apply` makes them")
    return {topic: len(found[topic].partitions) for topic in wanted}
