"""A test bench for the engine: topics of its own, events that go in, worker processes, and a judge of what comes out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from runtime.environment import environment_for_children
from runtime.kafka.config import admin_config, consumer_config, producer_config
from runtime.settings import ClockSettings, LogSettings, Settings, StreamsSettings
from runtime.topics import DEAD_LETTERS
from tests.streams.forked import ForkedWorker
from tests.streams.worker import Fault
from tests.waiting import wait_for

START_SECONDS = 90.0
"""Machines stall."""


def counting_bench(settings: Settings, folder: Path, *names: str, **partitions: int) -> Bench:
    """A bench with its topics; sessions are as short as a broker takes, so that the dead are missed soon."""
    quick = {"session_timeout_seconds": 6.0, "heartbeat_seconds": 1.0, "transaction_events": 500, "cache_entries": 50}
    own = settings.model_copy(update={"streams": settings.streams.model_copy(update=quick)})
    bench = Bench(settings=own, folder=folder, names=names or ("a",), partitions=partitions)
    bench.create_topics()
    return bench


@dataclass(kw_only=True)
class Bench:
    """One group of workers with their topics."""

    settings: Settings
    folder: Path
    names: Sequence[str] = ("a",)
    partitions: Mapping[str, int] = field(default_factory=dict)
    sent: dict[str, list[tuple[str, int, str | None]]] = field(default_factory=dict)
    """By name: key, id and what to do, of every event sent."""
    started: int = 0
    changelog_partitions: int | None = None
    """Where they are not those of the source."""

    def create_topics(self) -> None:
        """Sources, sinks, changelogs and dead letters; 4 partitions where nothing else is said."""
        prefix, app_id = self.settings.kafka.topic_prefix, self.settings.streams.app_id
        wanted = [NewTopic(prefix + DEAD_LETTERS, 1, 1)]
        for name in self.names:
            count = self.partitions.get(name, 4)
            wanted += [NewTopic(f"{prefix}{each}-{name}", count, 1) for each in ("in", "out")]
            compact = {"cleanup.policy": "compact"}
            wanted.append(
                NewTopic(f"{prefix}{app_id}-{name}-changelog", self.changelog_partitions or count, 1, config=compact)
            )
        admin = AdminClient(dict(admin_config(self.settings.kafka, client_id="tests")))
        for created in admin.create_topics(wanted).values():
            created.result(timeout=90)
        names = {each.topic for each in wanted}
        wait_for(lambda: names <= admin.list_topics(timeout=10).topics.keys(), what="the topics to be seen")

    def configure(self, topic: str, **configuration: str) -> None:
        """Alter a topic's configuration; dots in a name are written as underscores."""
        resource = ConfigResource(ResourceType.TOPIC, self.settings.kafka.topic_prefix + topic)
        for name, value in configuration.items():
            entry = ConfigEntry(name.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
            resource.add_incremental_config(entry)
        admin = AdminClient(dict(admin_config(self.settings.kafka, client_id="tests")))
        for altered in admin.incremental_alter_configs([resource]).values():
            altered.result(timeout=30)

    def feed(self, count: int, *, name: str = "a", keys: int = 200, do: Mapping[str, Any] | None = None) -> None:
        """Send so many more events, spread over the keys."""
        config = producer_config(self.settings.kafka, client_id="tests", timeout_seconds=60.0)
        producer = Producer({**config, "queue.buffering.max.messages": 1_000_000})
        log = self.sent.setdefault(name, [])
        for number in range(len(log), len(log) + count):
            key = f"{name}{number * 7919 % keys}"
            log.append((key, number, do["do"] if do else None))
            producer.produce(
                f"{self.settings.kafka.topic_prefix}in-{name}", json.dumps({"id": number, **(do or {})}).encode(), key
            )
            producer.poll(0)
        assert producer.flush(60) == 0

    @contextmanager
    def worker(
        self, disk: str = "one", *, fault: Fault | None = None, shift_seconds: float = 0.0, **streams: Any
    ) -> Iterator[Worker]:
        """A worker process while the context lasts, on the state folder called `disk`, and a member of that name.

        Its clock goes `shift_seconds` ahead.
        """
        self.started += 1
        own = {"data_dir": self.folder / disk, "instance_id": disk}
        values = {**self.settings.streams.model_dump(), **own, **streams}
        settings = self.settings.model_copy(
            update={
                "streams": StreamsSettings.model_validate(values),
                "log": LogSettings(format="json"),
                "clock": ClockSettings(shift_seconds=shift_seconds),
            }
        )
        log = self.folder / f"worker-{self.started}.log"
        env = environment_for_children(settings)
        worker = Worker(process=ForkedWorker(self.names, fault, env=env, log=log, grace_seconds=30.0), log=log)
        try:
            yield worker
        finally:
            worker.process.stop()

    def source_partitions(self) -> list[TopicPartition]:
        """All partitions of the sources."""
        prefix = self.settings.kafka.topic_prefix
        return [
            TopicPartition(f"{prefix}in-{name}", partition)
            for name in self.names
            for partition in range(self.partitions.get(name, 4))
        ]

    def lag(self) -> int | None:
        """Records of the sources that are not committed; None while the broker does not say."""
        group = self.settings.streams.app_id
        config = consumer_config(self.settings.kafka, client_id="tests", group=group)
        client = Consumer({**config, "isolation.level": "read_uncommitted"})  # a dead owner may have left one open
        try:
            committed = client.committed(self.source_partitions(), 20)
            ends = [client.get_watermark_offsets(each, 20) for each in committed]
            return sum(end[1] - max(each.offset, 0) for each, end in zip(committed, ends, strict=True))
        except KafkaException:
            return None
        finally:
            client.close()

    def wait_until_done(self, *workers: Worker, within_seconds: float = 120.0) -> None:
        """Until everything sent is committed; fails when one of the workers ends before."""

        def done() -> bool:
            for worker in workers:
                assert worker.process.exit_code() is None, worker.log.read_text()
            return self.lag() == 0

        wait_for(done, what="all events committed", within_seconds=within_seconds)

    def wait_until_group_is_empty(self) -> None:
        """Until no worker is a member; a static one is missed when its session has passed."""
        group = self.settings.kafka.topic_prefix + self.settings.streams.app_id
        admin = AdminClient(dict(admin_config(self.settings.kafka, client_id="tests")))
        wait_for(lambda: not admin.describe_consumer_groups([group])[group].result(30).members, what="an empty group")

    def read(self, topic: str, *, isolation: str = "read_committed") -> list[Message]:
        """The records of a topic up to its end, by its name without the prefix."""
        config = consumer_config(self.settings.kafka, client_id="tests", group="tests-reader")
        client = Consumer({**config, "isolation.level": isolation, "enable.partition.eof": True})
        try:
            return list(_read(client, self.settings.kafka.topic_prefix + topic))
        finally:
            client.close()

    def judge(self) -> None:
        """Each event is in the state once and has its output once, or its dead letter once; fails otherwise."""
        for name in self.names:
            _judge_outputs(name, self.sent.get(name, []), self.read(f"out-{name}"))
            app_id = self.settings.streams.app_id
            _judge_state(name, self.sent.get(name, []), self.read(f"{app_id}-{name}-changelog"))
        bad = sum(do == "bad" for log in self.sent.values() for _, _, do in log)
        assert len(self.read(DEAD_LETTERS)) == bad
        assert self.lag() == 0


@dataclass(kw_only=True)
class Worker:
    """A worker process and what it has said."""

    process: ForkedWorker
    log: Path

    def events(self) -> list[dict[str, Any]]:
        """The lines of its log."""
        lines = self.log.read_text(errors="replace").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def said(self, event: str) -> list[dict[str, Any]]:
        """Its lines about one event."""
        return [line for line in self.events() if line["event"] == event]

    def wait_until_ready(self, times: int = 1) -> None:
        """Until it has taken partitions over so many times."""
        wait_for(
            lambda: len(self.said("streams.ready")) >= times or self.process.exit_code() is not None,
            what=f"worker ready: {self.log}",
            within_seconds=START_SECONDS,
        )
        assert self.process.exit_code() is None, self.log.read_text()

    def wait_until_ended(self, within_seconds: float = 90.0) -> int:
        """Its exit code, once it has ended by itself; negative is the signal."""
        code = self.process.wait(within_seconds)
        assert code is not None, f"it did not end: {self.log.read_text()}"
        return code


def _read(client: Consumer, topic: str) -> Iterator[Message]:
    partitions = client.list_topics(topic, timeout=20).topics[topic].partitions
    client.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    ended: set[int | None] = set()
    while len(ended) < len(partitions):
        for message in client.consume(10_000, 1.0):
            if message.error() is not None:
                ended.add(message.partition())
            else:
                yield message


def _judge_outputs(name: str, sent: Iterable[tuple[str, int, str | None]], outputs: Iterable[Message]) -> None:
    """Each event has one output, and those of a key count 1, 2, 3, … in this order."""
    values = [(str(each.key() or b"", "utf-8"), json.loads(each.value() or b"{}")) for each in outputs]
    found = Counter(value["id"] for _, value in values)
    wanted = Counter(number for _, number, do in sent if do != "bad")
    assert not found - wanted, f"{name}: outputs twice or of nothing: {list((found - wanted).items())[:10]}"
    assert not wanted - found, f"{name}: outputs missing: {list((wanted - found).items())[:10]}"
    counts: Counter[str] = Counter()
    for key, value in values:
        counts[key] += 1
        assert value["n"] == counts[key], f"{name}: output {value} of {key} should have been number {counts[key]}"


def _judge_state(name: str, sent: Iterable[tuple[str, int, str | None]], changelog: Iterable[Message]) -> None:
    """The newest entry of each key has counted each of its events."""
    from streams.engine.revised import unpack

    state = {str(each.key() or b"", "utf-8"): json.loads(unpack(each.value() or b"")[2])["n"] for each in changelog}
    wanted = Counter(key for key, _, do in sent if do != "bad")
    assert state == dict(wanted), f"{name}: the state differs"
