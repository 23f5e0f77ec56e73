"""The broker and database behind Roomkeeper: what is given is used as it is, and nothing is started for it."""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr

from roomkeeper.embedded.backing import Backing
from roomkeeper.embedded.choice import Source
from runtime.settings import EmbeddedSettings, KafkaSettings, PostgresSettings, Settings

GIVEN_KAFKA = KafkaSettings(bootstrap_servers="broker.example.com:9092", replication=3, min_insync_replicas=2)
GIVEN_POSTGRES = PostgresSettings(dsn=SecretStr("postgresql://u@db.example.com/x"))


def settings(folder: Path, *, kafka: KafkaSettings, postgres: PostgresSettings) -> Settings:
    """Settings without Docker."""
    embedded = EmbeddedSettings(data_dir=folder, docker="never")
    return Settings(kafka=kafka, postgres=postgres, embedded=embedded)


def test_given_addresses_are_used_and_nothing_is_started(tmp_path: Path) -> None:
    """Two given addresses leave nothing to run, and the settings unchanged."""
    given = settings(tmp_path, kafka=GIVEN_KAFKA, postgres=GIVEN_POSTGRES)
    with Backing(given, durable=True) as backing:
        assert (backing.broker, backing.database) == (None, None)
        assert backing.settings == given


def test_only_what_is_not_given_is_brought_along(tmp_path: Path) -> None:
    """A broker of one's own goes with an embedded database, and keeps its own replication."""
    with Backing(settings(tmp_path, kafka=GIVEN_KAFKA, postgres=PostgresSettings(dsn=None)), durable=False) as backing:
        assert (backing.broker_source, backing.database_source) == (Source.GIVEN, Source.EMBEDDED)
        assert backing.settings.kafka == GIVEN_KAFKA
        assert backing.settings.postgres.dsn is not None
