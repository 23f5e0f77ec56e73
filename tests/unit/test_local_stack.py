"""What a local stack keeps and watches, without starting any of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from roomkeeper.embedded.backing import Backing
from roomkeeper.local.identity import load_identity
from runtime.settings import EmbeddedSettings, KafkaSettings, PostgresSettings, Settings
from schemas.errors import Misconfigured, Unavailable


def test_an_identity_is_made_once_and_is_its_owners_alone(tmp_path: Path) -> None:
    """The second look gives the same secrets, and nobody else may read them."""
    file = tmp_path / "data" / "local.json"
    assert load_identity(file) == load_identity(file)
    assert [(each.name, each.stat().st_mode & 0o777) for each in file.parent.iterdir()] == [("local.json", 0o600)]


def test_a_damaged_identity_is_named_with_the_cure(tmp_path: Path) -> None:
    """A file that was cut short is no traceback."""
    file = tmp_path / "local.json"
    file.write_text('{"client_id": "c', encoding="utf-8")
    with pytest.raises(Misconfigured, match=rf"^{file} is damaged: remove {tmp_path}"):
        load_identity(file)


def test_a_server_that_does_not_run_is_named_with_its_log(tmp_path: Path) -> None:
    """So that `up` ends instead of letting every role complain."""
    backing = Backing(Settings(embedded=EmbeddedSettings(data_dir=tmp_path, docker="never")), durable=False)
    with pytest.raises(Unavailable, match=rf"^kafka ended: the end of {tmp_path}/kafka/kafka.log"):
        backing.require_running()


def test_given_servers_are_their_owners_to_watch() -> None:
    """An outage of theirs is the roles' to sit out."""
    kafka = KafkaSettings(bootstrap_servers="broker.example.com:9092")
    postgres = PostgresSettings(dsn=SecretStr("postgresql://u@db.example.com/x"))
    Backing(Settings(kafka=kafka, postgres=postgres), durable=False).require_running()
