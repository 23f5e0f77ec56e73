"""`roomkeeper config` shows what holds here, and no secret."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from roomkeeper.cli import compose


def test_every_setting_is_shown_and_every_secret_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses with passwords, secrets inside lists, and values of mappings stay hidden; the rest is readable."""
    monkeypatch.setenv("ROOMKEEPER_POSTGRES__DSN", "postgresql://u:hidden-1@db.example.com/x")
    monkeypatch.setenv("ROOMKEEPER_KAFKA__SECURITY", '{"sasl.password": "hidden-2"}')
    monkeypatch.setenv(
        "ROOMKEEPER_ACCOUNTS",
        '[{"account_id": "acc", "client_secret": "hidden-3", "webhook_secrets": [{"value": "hidden-4"}]}]',
    )
    monkeypatch.setenv("ROOMKEEPER_KAFKA__BOOTSTRAP_SERVERS", "broker.example.com:9092")
    monkeypatch.setenv("COLUMNS", "400")
    shown = CliRunner().invoke(compose(["config"]), ["config"]).stdout
    assert "hidden" not in shown
    assert "ROOMKEEPER_ROOMS__LEASE_SECONDS" in shown
    assert "broker.example.com:9092" in shown
    assert "'account_id': 'acc'" in shown
