"""The topic catalogue: `topics.yaml` as typed values, and the names topics have on a cluster.

The file is the authority; no topic name stands as a literal anywhere else but in the constants below.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runtime.settings import KafkaSettings
from schemas.catalogue import RECORDS
from schemas.errors import Misconfigured

MEETING_COMMANDS = "meeting-commands"
MEETING_EVENTS = "meeting-events"
ZOOM_EVENTS = "zoom-events"
ROOM_EVENTS = "room-events"
DEAD_LETTERS = "dead-letters"
SECURITY_ALERTS = "security-alerts"
MEETINGS_CHANGELOG = "roomkeeper-streams-meetings-changelog"
ROOMS_CHANGELOG = "roomkeeper-streams-rooms-changelog"

DAY_MS = 86_400_000

Role = Literal["ingress", "streams", "projectors", "room-worker", "poller", "outbox-relay", "dlq", "operators"]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Defaults(_Strict):
    """What a topic has unless it says otherwise."""

    partitions: int = Field(ge=1)
    replication: int = Field(ge=1)
    min_insync_replicas: int = Field(ge=1)
    retention_days: int = Field(ge=1)


class Topic(_Strict):
    """One topic as the file declares it."""

    purpose: str
    key: str
    records: tuple[str, ...]
    cleanup: Literal["delete", "compact"]
    written_by: tuple[Role, ...]
    read_by: tuple[Role, ...]
    partitions: int | None = Field(None, ge=1)
    retention_days: int | None = Field(None, ge=1)
    max_compaction_lag_days: int | None = Field(None, ge=1)
    max_message_bytes: int | None = Field(None, ge=1, description="the broker's own limit unless given")
    transactional: bool = False
    changelog_of: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a topic is on a cluster."""

    partitions: int
    replication: int
    configs: Mapping[str, str]
    """Kafka's own names and texts."""


class Catalogue(_Strict):
    """All topics by logical name."""

    defaults: Defaults
    topics: Mapping[str, Topic]

    def partitions_of(self, name: str, kafka: KafkaSettings) -> int:
        """How many partitions the topic is to have: its own number, else the setting's, else the file's default."""
        return self.topics[name].partitions or kafka.partitions or self.defaults.partitions

    def used_by(self, role: Role) -> tuple[str, ...]:
        """Logical names of the topics that a role reads or writes."""
        return tuple(name for name, topic in self.topics.items() if role in topic.written_by or role in topic.read_by)

    def shape_of(self, name: str, kafka: KafkaSettings) -> Shape:
        """What the topic is to be on the cluster that the settings name."""
        topic = self.topics[name]
        in_sync = kafka.min_insync_replicas or self.defaults.min_insync_replicas
        configs = {"cleanup.policy": topic.cleanup, "min.insync.replicas": str(in_sync)}
        if topic.cleanup == "delete":
            configs["retention.ms"] = str((topic.retention_days or self.defaults.retention_days) * DAY_MS)
        if topic.max_compaction_lag_days is not None:
            configs["max.compaction.lag.ms"] = str(topic.max_compaction_lag_days * DAY_MS)
        if topic.max_message_bytes is not None:
            configs["max.message.bytes"] = str(topic.max_message_bytes)
        return Shape(
            partitions=self.partitions_of(name, kafka),
            replication=kafka.replication or self.defaults.replication,
            configs=configs,
        )


def load(path: Path | None = None) -> Catalogue:
    """The catalogue in `path`; by default the `topics.yaml` that comes with Roomkeeper.

    Raises:
        Misconfigured: the file is missing or does not hold; the message names the topic and the field.
    """
    source = path or default_path()
    try:
        catalogue = Catalogue.model_validate(yaml.safe_load(source.read_text(encoding="utf-8")))
    except OSError as error:
        raise Misconfigured(f"{source}: cannot be read ({error.strerror})") from error
    except (ValidationError, yaml.YAMLError) as error:
        raise Misconfigured(f"{source}: {error}") from error
    for name, topic in catalogue.topics.items():
        for record in topic.records:
            if record not in RECORDS:
                raise Misconfigured(f"{source}: {name}: there is no record {record} in schemas/")
    return catalogue


def default_path() -> Path:
    """Where the catalogue lies: beside the packages in a checkout, inside `runtime` in an installed wheel."""
    beside = Path(__file__).resolve().parent.parent / "topics.yaml"
    return beside if beside.exists() else Path(__file__).resolve().parent / "topics.yaml"


def physical(name: str, *, prefix: str) -> str:
    """The topic's name on the cluster."""
    return f"{prefix}{name}"
