"""`roomkeeper streams` on the product's own topics and folds, by its command line."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import orjson
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from roomkeeper.embedded.process import LeashedProcess
from runtime.environment import environment_for_children
from runtime.kafka.config import consumer_config, producer_config
from runtime.settings import LogSettings, Settings
from runtime.topics import DEAD_LETTERS, ZOOM_EVENTS
from schemas.codec import encode
from tests.samples import event_files, read
from tests.waiting import wait_for
from zoom.webhooks.events import parse, record_key

ACCOUNT = "AcctTest0000000000001"
RECEIVED_AT = datetime(2027, 1, 1, tzinfo=UTC)
"""After all that the samples tell of: an event from the future is a bad message."""


def test_a_room_can_be_looked_at(settings: Settings, tmp_path: Path) -> None:
    """Every sample webhook is folded; the entries of a room, and how it reads, come out as JSON from disk and changelog."""
    streams = settings.streams.model_copy(update={"data_dir": tmp_path / "state"})
    own = settings.model_copy(update={"streams": streams, "log": LogSettings(format="json")})
    environment = environment_for_children(own)
    roomkeeper(environment, "topics", "apply")
    keys = _produce(own)
    with (tmp_path / "worker.log").open("wb") as output:
        command = [sys.executable, "-m", "roomkeeper", "streams", "run"]
        worker = LeashedProcess(command, output=output, env=environment, grace_seconds=30.0)
    room = f"{ACCOUNT}|{next(key for key in keys if not key.startswith('account:'))}"
    try:
        wait_for(lambda: _committed(own) == len(keys), what="all webhooks folded", within_seconds=120.0)
        from_disk = json.loads(roomkeeper(environment, "streams", "inspect", "--key", room))
    finally:
        worker.stop()
    assert json.loads(roomkeeper(environment, "streams", "inspect", "--key", room, "--changelog"))["entries"] == sorted(
        from_disk["entries"], key=lambda each: each["key"]
    )
    assert list(from_disk["rooms"]) == [room]
    assert {each["table"] for each in from_disk["entries"]} == {"rooms"}
    assert "partitions restored" in roomkeeper(environment, "streams", "rebuild-state")
    assert _dead_letters(own) == 0


def roomkeeper(environment: dict[str, str], *arguments: str) -> str:
    """What a command prints; it must succeed."""
    command = [sys.executable, "-m", "roomkeeper", *arguments]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    return ran.stdout


def _produce(settings: Settings) -> list[str]:
    """Put every sample into `zoom-events`; their keys."""
    producer = Producer(dict(producer_config(settings.kafka, client_id="tests", timeout_seconds=60.0)))
    keys = []
    for file in event_files():
        event = parse(orjson.dumps(read(file)), account_id=ACCOUNT, request_id=None, received_at=RECEIVED_AT)
        keys.append(record_key(event))
        producer.produce(settings.kafka.topic_prefix + ZOOM_EVENTS, encode(event), keys[-1])
    assert producer.flush(60) == 0
    return keys


def _committed(settings: Settings) -> int:
    """How many records are committed; -1 while a new broker still looks for the group's coordinator."""
    config = consumer_config(settings.kafka, client_id="tests", group=settings.streams.app_id)
    client = Consumer(dict(config))
    topic = settings.kafka.topic_prefix + ZOOM_EVENTS
    partitions = client.list_topics(topic, timeout=20).topics[topic].partitions
    try:
        committed = client.committed([TopicPartition(topic, number) for number in partitions], 20)
    except KafkaException:
        return -1
    finally:
        client.close()
    return sum(max(each.offset, 0) for each in committed)


def _dead_letters(settings: Settings) -> int:
    client = Consumer(dict(consumer_config(settings.kafka, client_id="tests", group="tests-reader")))
    topic = settings.kafka.topic_prefix + DEAD_LETTERS
    partitions = client.list_topics(topic, timeout=20).topics[topic].partitions
    ends = [client.get_watermark_offsets(TopicPartition(topic, number), 20)[1] for number in partitions]
    client.close()
    return sum(ends)
