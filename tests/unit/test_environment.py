"""Settings travel to child processes through the environment, whole."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from runtime.environment import environment_for_children, environment_of
from runtime.settings import (
    Account,
    IngressSettings,
    KafkaSettings,
    PostgresSettings,
    SecuritySettings,
    Settings,
    StreamsSettings,
    WebhookSecret,
    load,
)
from runtime.variables import PREFIX


def unlike_the_defaults() -> Settings:
    """Settings of every kind of value."""
    return Settings(
        kafka=KafkaSettings(
            bootstrap_servers="broker.example.com:9092", replication=1, security={"sasl.mechanism": "PLAIN"}
        ),
        postgres=PostgresSettings(
            dsn=SecretStr("postgresql://u:p%20w@db.example.com/x"), statement_timeout_seconds=1.5
        ),
        accounts=(
            Account(
                account_id="a 1",
                webhook_secrets=(
                    WebhookSecret(value=SecretStr('s"1'), expires_at=datetime(2026, 1, 2, tzinfo=UTC)),
                    WebhookSecret(value=SecretStr("s2")),
                ),
                client_secret=SecretStr("c"),
                gateway=True,
            ),
        ),
        ingress=IngressSettings(port=0),
        streams=StreamsSettings(data_dir=Path("/var/lib/somewhere")),
        security=SecuritySettings(encryption_keys=(SecretStr("k1"), SecretStr("k2"))),
    )


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the developer's own settings."""
    for name in environment_of(load()):
        monkeypatch.delenv(name)


@pytest.mark.parametrize("make", [Settings, unlike_the_defaults])
def test_a_process_that_loads_the_environment_has_equal_settings(
    make: Callable[[], Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Secrets, lists, paths and moments come through unchanged."""
    settings = make()
    for name, value in environment_of(settings).items():
        monkeypatch.setenv(name, value)
    assert load() == settings


def test_defaults_need_no_variable() -> None:
    """Only what differs from a default is said."""
    assert environment_of(Settings()) == {}


def test_a_child_has_only_the_settings_it_is_handed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of the parent's own environment that were not handed on do not leak through; other variables stay."""
    handed_on = Settings()
    monkeypatch.setenv("ROOMKEEPER_LOG__LEVEL", "DEBUG")
    monkeypatch.setenv("SOMETHING_ELSE", "stays")
    environment = environment_for_children(handed_on)
    assert environment["SOMETHING_ELSE"] == "stays"
    assert not [name for name in environment if name.startswith(PREFIX)]
