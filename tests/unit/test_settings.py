"""Settings that do not hold: each is named in one line, and no secret is quoted."""

from __future__ import annotations

import pytest

from runtime.settings import load
from schemas.errors import Misconfigured

HIDDEN = "h1dden"


@pytest.mark.parametrize(
    ("variable", "value", "complaint"),
    [
        ("ROOMKEEPER_INGRES__PORT", "1", "ROOMKEEPER_INGRES__PORT: there is no such setting"),
        ("ROOMKEEPER_INGRESS__PROT", "1", "ROOMKEEPER_INGRESS__PROT: Extra inputs"),
        ("ROOMKEEPER_INGRESS__PORT", "many", "ROOMKEEPER_INGRESS__PORT: Input should be a valid integer"),
        ("ROOMKEEPER_ACCOUNTS", f"account={HIDDEN}", "ROOMKEEPER_ACCOUNTS: must be JSON"),
        ("ROOMKEEPER_SECURITY__ENCRYPTION_KEYS", f'["{HIDDEN}"', "ROOMKEEPER_SECURITY__ENCRYPTION_KEYS: must be JSON"),
        ("ROOMKEEPER_KAFKA__SECURITY", f"sasl.password={HIDDEN}", "ROOMKEEPER_KAFKA__SECURITY: must be JSON"),
        ("ROOMKEEPER_POSTGRES", HIDDEN, "ROOMKEEPER_POSTGRES: must be JSON"),
        ("ROOMKEEPER_POSTGRES__DSN", f"postgres//u:{HIDDEN}@h/d", "ROOMKEEPER_POSTGRES__DSN: must be a libpq URL"),
        (
            "ROOMKEEPER_OUTBOXES",
            f'[{{"name": "shop", "account_id": "a", "dsn": "{HIDDEN}"}}]',
            "ROOMKEEPER_OUTBOXES__0__DSN: must be a libpq URL",
        ),
    ],
)
def test_a_setting_that_does_not_hold_is_named(
    variable: str, value: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line with the variable's name, and without what it holds."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(Misconfigured) as raised:
        load()
    assert HIDDEN not in str(raised.value)
    assert str(raised.value).startswith(complaint)


def test_an_empty_variable_is_one_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a line of `.env.example` without its comment sign changes nothing."""
    for variable in ("ROOMKEEPER_ACCOUNTS", "ROOMKEEPER_KAFKA__REPLICATION", "ROOMKEEPER_KAFKA__BOOTSTRAP_SERVERS"):
        monkeypatch.setenv(variable, "")
    assert load().kafka.bootstrap_servers is None


def test_variables_of_others_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kubernetes sets such ones for a service that is called roomkeeper."""
    monkeypatch.setenv("ROOMKEEPER_PORT", "tcp://10.0.0.1:80")
    monkeypatch.setenv("ROOMKEEPER_SERVICE_HOST", "10.0.0.1")
    load()
