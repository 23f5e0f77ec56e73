"""Every client puts a key on the same partition: confluent-kafka as Roomkeeper sets it up, aiokafka and Java."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence

from aiokafka import AIOKafkaProducer
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from roomkeeper.embedded.containers import KafkaContainer
from roomkeeper.embedded.kafka.jars import kafka_jars
from roomkeeper.embedded.kafka.java import find_java
from runtime.kafka.config import admin_config, consumer_config
from runtime.kafka.producer import Outgoing, Producer
from runtime.settings import Settings
from tests.stack import Stack
from tests.waiting import wait_for

PARTITIONS = 12
KEYS = (
    *(f"9{number:010d}" for number in range(40)),
    "0f8fad5b-d9cb-5e3a-a165-70867728950e",
    "7c9e6679-7425-50de-944b-e07fc1f90ae7",
    "account:acctTEST0000000000001",
    "account:Zürich-Söhne-ß",
    "account:会議室",
    "🚪🔑",
    "é",  # one code point
    "e\u0301",  # the same letter in two
    "a",
    "ab",
    "abc",
    "abcd",
)
JAVA_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"


async def test_all_clients_agree_on_a_keys_partition(settings: Settings, stack: Stack) -> None:
    """Every key, of any length and script, lies on one partition, whoever sent it."""
    topic = _topic(settings)
    with Producer(settings.kafka, client_id="tests") as producer:
        producer.send_all([Outgoing(topic=topic, key=key.encode(), value=b"confluent-kafka") for key in KEYS])
    async with AIOKafkaProducer(bootstrap_servers=settings.kafka.bootstrap_servers) as sender:
        for key in KEYS:
            await sender.send_and_wait(topic, key=key.encode(), value=b"aiokafka")
    _send_with_java(settings, stack, topic=topic, keys=KEYS)
    found = _partitions(settings, topic, records=3 * len(KEYS))
    assert {key: len(partitions) for key, partitions in found.items()} == dict.fromkeys(KEYS, 1)
    assert {client for clients in _clients(found).values() for client in clients} == {
        "confluent-kafka",
        "aiokafka",
        "java",
    }
    assert len({next(iter(each)) for each in found.values()}) == PARTITIONS


def _topic(settings: Settings) -> str:
    topic = f"{settings.kafka.topic_prefix}partitioning"
    client = AdminClient(dict(admin_config(settings.kafka, client_id="tests")))
    client.create_topics([NewTopic(topic, num_partitions=PARTITIONS, replication_factor=1)])[topic].result(30)
    wait_for(lambda: topic in client.list_topics(timeout=10).topics, what="the topic to be seen")
    return topic


def _send_with_java(settings: Settings, stack: Stack, *, topic: str, keys: Sequence[str]) -> None:
    """Kafka's own console producer: it needs a Java to run and none to compile."""
    lines = "".join(f"{key}\tjava\n" for key in keys)
    options = ["--bootstrap-server", str(settings.kafka.bootstrap_servers), "--topic", topic]
    options += ["--property", "parse.key=true"]
    if isinstance(stack.backing.broker, KafkaContainer):
        _send_from_image(options, lines)
        return
    jars = kafka_jars(settings.embedded.cache_dir.expanduser())
    command = [str(find_java()), "-cp", f"{jars}/*", JAVA_PRODUCER, *options]
    subprocess.run(command, input=lines.encode(), check=True, timeout=60, capture_output=True)


def _send_from_image(options: Sequence[str], lines: str) -> None:
    from testcontainers.core.docker_client import DockerClient

    program = 'printf %s "$LINES" | /opt/kafka/bin/kafka-console-producer.sh "$@"'
    DockerClient().client.containers.run(
        KafkaContainer.image,
        ["sh", "-c", program, "sh", *options],
        environment={"LINES": lines},
        network_mode="host",
        remove=True,
    )


Found = Mapping[str, Mapping[int, set[str]]]
"""By key, then by partition: the clients that put it there."""


def _partitions(settings: Settings, topic: str, *, records: int) -> Found:
    consumer = Consumer(dict(consumer_config(settings.kafka, client_id="tests", group="tests")))
    found: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    seen = 0

    def read() -> bool:
        nonlocal seen
        for message in consumer.consume(records, 1.0):
            key, value, partition = message.key(), message.value(), message.partition()
            assert key is not None
            assert value is not None
            assert partition is not None
            found[key.decode()][partition].add(value.decode())
            seen += 1
        return seen >= records

    try:
        consumer.assign([TopicPartition(topic, each, 0) for each in range(PARTITIONS)])
        wait_for(read, what="all records")
    finally:
        consumer.close()
    return found


def _clients(found: Found) -> Mapping[str, set[str]]:
    return {key: {client for clients in partitions.values() for client in clients} for key, partitions in found.items()}
