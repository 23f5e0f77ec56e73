"""The catalogue and a real cluster: plan, apply, and the check that every role makes before its first message."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from roomkeeper.embedded.backing import PARTITIONS
from runtime.kafka.config import admin_config
from runtime.settings import Settings
from runtime.topic_admin import TopicAdmin, require_topics
from runtime.topics import load
from schemas.errors import Misconfigured, Unavailable
from tests.waiting import wait_for

CATALOGUE = load()


def create(settings: Settings, logical: str, *, partitions: int, **configs: str) -> None:
    """A topic that somebody made by hand."""
    client = AdminClient(dict(admin_config(settings.kafka, client_id="tests")))
    topic = NewTopic(
        settings.kafka.topic_prefix + logical, num_partitions=partitions, replication_factor=1, config=configs
    )
    for done in client.create_topics([topic]).values():
        done.result(timeout=30)
    wait_for(lambda: topic.topic in client.list_topics(timeout=10).topics, what="the topic to be seen")


def actions(settings: Settings) -> set[str]:
    """What the plan would do."""
    return {step.action for step in TopicAdmin(settings.kafka).plan(CATALOGUE)}


def test_apply_makes_the_cluster_as_declared(settings: Settings) -> None:
    """After one apply there is nothing to do, and every role may start."""
    admin = TopicAdmin(settings.kafka)
    admin.apply(admin.plan(CATALOGUE))
    require_topics(settings, "projectors")
    assert actions(settings) == {"keep"}


def test_apply_twice_at_once_does_no_harm(settings: Settings) -> None:
    """The slower of two creates what is there already."""
    admin = TopicAdmin(settings.kafka)
    steps = admin.plan(CATALOGUE)
    admin.apply(steps)
    admin.apply(steps)
    assert actions(settings) == {"keep"}


def test_a_missing_topic_is_named_with_its_cure(settings: Settings) -> None:
    """A role whose topic is missing is told which, and what to run."""
    with pytest.raises(
        Misconfigured, match=rf"topic {settings.kafka.topic_prefix}room-events: missing.*roomkeeper topics apply"
    ):
        require_topics(settings, "projectors")


def test_another_partition_count_is_refused_and_not_repaired(settings: Settings) -> None:
    """A count is fixed at birth: the check names both numbers and apply leaves the topic alone."""
    create(settings, "room-events", partitions=3)
    admin = TopicAdmin(settings.kafka)
    admin.apply(admin.plan(CATALOGUE))
    with pytest.raises(Misconfigured, match=rf"3 partitions instead of {PARTITIONS} .*fixed at birth"):
        require_topics(settings, "projectors")


def test_another_cleanup_stops_a_role_and_is_repaired(settings: Settings) -> None:
    """A compacted event topic would lose events: no role starts on it, and apply sets it right."""
    create(settings, "room-events", partitions=PARTITIONS, **{"cleanup.policy": "compact"})
    admin = TopicAdmin(settings.kafka)
    admin.apply(step for step in admin.plan(CATALOGUE) if step.action == "create")
    with pytest.raises(Misconfigured, match=r"room-events: cleanup\.policy compact instead of delete"):
        require_topics(settings, "projectors")
    admin.apply(admin.plan(CATALOGUE))
    require_topics(settings, "projectors")


def test_another_retention_is_repaired_and_stops_nobody(settings: Settings) -> None:
    """Only what could lose or misplace messages keeps a role from starting."""
    admin = TopicAdmin(settings.kafka)
    create(settings, "room-events", partitions=PARTITIONS, **{"retention.ms": "60000", "min.insync.replicas": "1"})
    admin.apply(step for step in admin.plan(CATALOGUE) if step.action == "create")
    require_topics(settings, "projectors")
    changes = {step.topic: step.changes for step in admin.plan(CATALOGUE) if step.action == "alter"}
    admin.apply(admin.plan(CATALOGUE))
    assert changes == {f"{settings.kafka.topic_prefix}room-events": {"retention.ms": str(30 * 86_400_000)}}
    assert actions(settings) == {"keep"}


def test_a_role_minds_only_its_own_topics(settings: Settings) -> None:
    """A topic that a role neither reads nor writes is not its business."""
    admin = TopicAdmin(settings.kafka)
    admin.apply(admin.plan(CATALOGUE, CATALOGUE.used_by("ingress")))
    require_topics(settings, "ingress")
    with pytest.raises(Misconfigured, match="changelog: missing"):
        require_topics(settings, "streams")


def test_no_broker_is_an_outage_and_not_a_mismatch(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A role that cannot ask is told that nobody answers."""
    monkeypatch.setattr("runtime.topic_admin.TIMEOUT_SECONDS", 1.0)
    nowhere = settings.kafka.model_copy(update={"bootstrap_servers": "127.0.0.1:9"})
    with pytest.raises(Unavailable):
        require_topics(settings.model_copy(update={"kafka": nowhere}), "projectors")
