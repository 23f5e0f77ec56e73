"""What a worker's settings mean, and what it says of wrong ones."""

from __future__ import annotations

import logging
import ssl

import pytest
from faust import SASLCredentials, SSLCredentials

from runtime.clock import SystemClock
from schemas.errors import Misconfigured
from streams.credentials import credentials
from streams.fail_points import FailPoints
from streams.quiet import OnceInAWhile


def test_an_unknown_fail_point_is_refused() -> None:
    """A crash test with a misspelt point would pass for the wrong reason."""
    with pytest.raises(Misconfigured, match="ROOMKEEPER_STREAMS__FAIL_POINT: 'after-tea' is not one of"):
        FailPoints("after-tea")
    with pytest.raises(Misconfigured):
        FailPoints("after-fold:twice")


def test_other_points_are_passed() -> None:
    """Only the wanted point ends the process, and none does when they are off."""
    FailPoints("after-fold:2").reach("after-decode")
    FailPoints("after-fold:2").reach("after-fold")
    FailPoints(None).reach("after-fold")


def test_a_plain_connection_has_no_credentials() -> None:
    """Without security settings aiokafka connects as librdkafka does."""
    assert credentials({}) is None


def test_scram_over_tls_is_translated() -> None:
    """User, password and mechanism arrive, and the certificate is checked."""
    given = {
        "security.protocol": "sasl_ssl",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "worker",
        "sasl.password": "secret",
    }
    found = credentials(given)
    assert isinstance(found, SASLCredentials)
    assert (found.username, found.password, found.mechanism.value) == ("worker", "secret", "SCRAM-SHA-512")
    assert found.ssl_context is not None
    assert found.ssl_context.verify_mode is ssl.CERT_REQUIRED


def test_tls_alone_is_translated() -> None:
    """A protocol of ssl gives a context that checks the broker's certificate."""
    found = credentials({"security.protocol": "SSL"})
    assert isinstance(found, SSLCredentials)
    assert found.context.check_hostname


@pytest.mark.parametrize(
    "security",
    [{"security.protocol": "telnet"}, {"security.protocol": "sasl_ssl", "sasl.mechanism": "GSSAPI"}],
)
def test_what_both_clients_do_not_know_is_refused(security: dict[str, str]) -> None:
    """A worker needs both clients, so a setting that one of them lacks ends it before the first message."""
    with pytest.raises(Misconfigured, match="ROOMKEEPER_KAFKA__SECURITY"):
        credentials(security)


def test_a_library_says_the_same_thing_once() -> None:
    """A message and its repetitions with other numbers are one line; another message is another."""
    once = OnceInAWhile(SystemClock())
    lines = [
        logging.LogRecord("aiokafka", logging.ERROR, "here", 1, message, (number,), None)
        for number in range(3)
        for message in ("Unable to connect to %s", "Heartbeat %s failed")
    ]
    assert [once.filter(line) for line in lines] == [True, True, False, False, False, False]
