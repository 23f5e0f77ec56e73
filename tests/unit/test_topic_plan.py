"""What follows from a catalogue and a cluster that differ; and that the catalogue itself holds together."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.settings import KafkaSettings
from runtime.topic_plan import complaint, plan
from runtime.topics import DEAD_LETTERS, MEETING_EVENTS, SECURITY_ALERTS, Shape, load
from schemas.errors import Misconfigured

EVENTS = Shape(partitions=8, replication=3, configs={"cleanup.policy": "delete", "retention.ms": "1000"})


def test_equal_topics_need_nothing() -> None:
    """A cluster as declared gives only steps that keep, and no complaint."""
    steps = plan({"a": EVENTS}, {"a": EVENTS, "somebody-elses": EVENTS})
    assert ([step.action for step in steps], complaint(steps)) == (["keep"], None)


def test_a_complaint_names_every_topic_and_each_cure() -> None:
    """One line holds all that is wrong and what to do about each kind."""
    narrow = Shape(partitions=3, replication=3, configs=EVENTS.configs)
    said = complaint(plan({"a": EVENTS, "b": EVENTS}, {"b": narrow})) or ""
    assert said.startswith("topic a: missing; topic b: 3 partitions instead of 8 (run `roomkeeper topics apply`; ")
    assert "docs/topics.md" in said


def test_retention_is_altered_without_a_complaint() -> None:
    """What endangers no message stops no role."""
    steps = plan(
        {"a": EVENTS},
        {"a": Shape(partitions=8, replication=3, configs={"cleanup.policy": "delete", "retention.ms": "5"})},
    )
    assert ([step.action for step in steps], steps[0].changes, complaint(steps)) == (
        ["alter"],
        {"retention.ms": "1000"},
        None,
    )


def test_a_topic_with_fewer_copies_keeps_being_written_to() -> None:
    """More replicas in sync than there are replicas would stop every producer: told, and not done."""
    wanted = Shape(partitions=8, replication=3, configs={**EVENTS.configs, "min.insync.replicas": "2"})
    single = Shape(partitions=8, replication=1, configs={**EVENTS.configs, "min.insync.replicas": "1"})
    (step,) = plan({"a": wanted}, {"a": single})
    assert (step.action, step.changes, step.blocks) == ("keep", {}, False)
    assert step.why.startswith("min.insync.replicas 1 instead of 2, replication 1 instead of 3")


def test_the_setting_for_partitions_leaves_topics_with_a_count_of_their_own() -> None:
    """Event topics and changelogs follow the setting together, the single-partition topic stays."""
    catalogue, kafka = load(), KafkaSettings(partitions=4)
    counts = {name: catalogue.shape_of(name, kafka).partitions for name in catalogue.topics}
    assert counts.pop(SECURITY_ALERTS) == 1
    assert set(counts.values()) == {4}


def test_replication_comes_from_the_file_unless_set() -> None:
    """Three copies, two of them in step, are the default; a single broker is told so by settings."""
    by_default = load().shape_of(MEETING_EVENTS, KafkaSettings())
    alone = load().shape_of(MEETING_EVENTS, KafkaSettings(replication=1, min_insync_replicas=1))
    assert (by_default.replication, by_default.configs["min.insync.replicas"]) == (3, "2")
    assert (alone.replication, alone.configs["min.insync.replicas"]) == (1, "1")


def test_a_dead_letter_may_be_larger_than_what_it_was() -> None:
    """The largest record of any topic fits `dead-letters` with its headers and history."""
    assert int(load().shape_of(DEAD_LETTERS, KafkaSettings()).configs["max.message.bytes"]) == 2_097_152


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("topics: {}", "defaults"),
        (
            "defaults: {partitions: 0, replication: 1, min_insync_replicas: 1, retention_days: 1}\ntopics: {}",
            "partitions",
        ),
        ("[", "line 1"),
    ],
)
def test_a_bad_catalogue_names_the_place(tmp_path: Path, text: str, names: str) -> None:
    """Whoever edits the file is told where it does not hold."""
    file = tmp_path / "topics.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(Misconfigured, match=names):
        load(file)
