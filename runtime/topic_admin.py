"""The topics of a cluster: what is there, and bringing it to what `topics.yaml` declares.

`require_topics` is what each role calls before its first message. Nothing here ever deletes a topic or changes its
partition count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from threading import Event
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from runtime.clock import SystemClock
from runtime.kafka.config import admin_config
from runtime.kafka.errors import translate_exception
from runtime.settings import KafkaSettings, Settings
from runtime.topic_plan import Step, complaint, plan
from runtime.topics import Catalogue, Role, Shape, load, physical
from schemas.errors import Misconfigured, Unavailable

TIMEOUT_SECONDS = 15.0
_LOOK_SECONDS = 0.1
_TODO = ("create", "alter")

T = TypeVar("T")


def require_topics(settings: Settings, role: Role, *, catalogue: Catalogue | None = None) -> None:
    """Return when every topic that the role reads or writes is as declared.

    Raises:
        Misconfigured: one is missing, or has another partition count or cleanup; the message names it and the cure.
        Unavailable: no broker answers.
    """
    declared = catalogue or load()
    problem = complaint(TopicAdmin(settings.kafka).plan(declared, declared.used_by(role)))
    if problem is not None:
        raise Misconfigured(problem)


class TopicAdmin:
    """The topics of one cluster under one prefix."""

    def __init__(self, kafka: KafkaSettings) -> None:
        """Connects when first asked.

        Raises:
            Misconfigured: no broker is named, or a security setting does not hold.
        """
        self._kafka = kafka
        try:
            self._client = AdminClient(dict(admin_config(kafka, client_id="topics")))
        except KafkaException as error:
            raise translate_exception(error, doing="ROOMKEEPER_KAFKA__SECURITY") from error

    def plan(self, catalogue: Catalogue, names: Iterable[str] | None = None) -> tuple[Step, ...]:
        """What must be done for these logical names; by default for all.

        Raises:
            Unavailable: no broker answers.
        """
        wanted = {
            physical(name, prefix=self._kafka.topic_prefix): catalogue.shape_of(name, self._kafka)
            for name in (catalogue.topics if names is None else names)
        }
        return plan(wanted, self._found(wanted))

    def apply(self, steps: Iterable[Step]) -> None:
        """Create what is missing and set what differs; steps that cannot be done are left. Two at once do no harm.

        Raises:
            Unavailable: no broker answers.
            Misconfigured: the cluster refuses, such as a replication that it has not the brokers for.
        """
        todo = tuple(steps)
        self._create([step for step in todo if step.action == "create"])
        self._alter([step for step in todo if step.action == "alter"])
        self._await_visible({step.topic: step.wanted for step in todo if step.action in _TODO})

    def _create(self, steps: list[Step]) -> None:
        topics = [
            NewTopic(
                step.topic,
                num_partitions=step.wanted.partitions,
                replication_factor=step.wanted.replication,
                config=dict(step.wanted.configs),
            )
            for step in steps
        ]
        if topics:
            _await_each(lambda: self._client.create_topics(topics), doing="create topics")

    def _alter(self, steps: list[Step]) -> None:
        resources = [
            ConfigResource(
                ResourceType.TOPIC,
                step.topic,
                incremental_configs=[
                    ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
                    for name, value in step.changes.items()
                ],
            )
            for step in steps
        ]
        if resources:
            _await_each(lambda: self._client.incremental_alter_configs(resources), doing="alter topics")

    def _await_visible(self, wanted: Mapping[str, Shape]) -> None:
        """Return when the broker shows what was done: it learns of it a moment after the controller did it."""
        clock = SystemClock()
        deadline = clock.monotonic_seconds() + TIMEOUT_SECONDS
        while hidden := [step.topic for step in plan(wanted, self._found(wanted)) if step.action in _TODO]:
            if clock.monotonic_seconds() > deadline:
                raise Unavailable(f"topics {', '.join(hidden)}: changed, but not seen within {TIMEOUT_SECONDS:g} s")
            Event().wait(_LOOK_SECONDS)

    def _found(self, names: Iterable[str]) -> Mapping[str, Shape]:
        """The shapes of those topics that exist."""
        try:
            known = self._client.list_topics(timeout=TIMEOUT_SECONDS).topics
        except KafkaException as error:
            where = f"ROOMKEEPER_KAFKA__BOOTSTRAP_SERVERS: {self._kafka.bootstrap_servers}"
            raise translate_exception(error, doing=f"{where}: list topics") from error
        there = {name: known[name] for name in names if name in known and known[name].error is None}
        if not there:
            return {}
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in there]
        configs = _await_each(lambda: self._client.describe_configs(resources), doing="describe topics")
        return {
            resource.name: Shape(
                partitions=len(there[resource.name].partitions),
                replication=min(len(each.replicas) for each in there[resource.name].partitions.values()),
                configs={entry.name: str(entry.value) for entry in entries.values()},
            )
            for resource, entries in configs.items()
        }


def _await_each(ask: Callable[[], Mapping[Any, Future[T]]], *, doing: str) -> dict[Any, T]:
    """All answers, by what was asked for; what another process created meanwhile is no error and has none."""
    answers: dict[Any, T] = {}
    try:
        for key, future in ask().items():
            try:
                answers[key] = future.result(TIMEOUT_SECONDS + 5.0)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
    except KafkaException as error:
        raise translate_exception(error, doing=doing) from error
    except TimeoutError as error:
        raise Unavailable(f"{doing}: no answer within {TIMEOUT_SECONDS:g} s") from error
    return answers
