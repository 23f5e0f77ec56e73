"""When to come back after a 429, in each form that Zoom has said it (ZC37)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.samples import rest
from zoom.client.decisions import Decision, Ruling
from zoom.client.endpoints import CREATE, LIST, REGISTER, Endpoint
from zoom.client.limits import Scope, resume_at, retry_after, scope_of

NOW = datetime(2026, 3, 10, 18, tzinfo=UTC)
MIDNIGHT = datetime(2026, 3, 11, tzinfo=UTC)
PARK = Ruling(decision=Decision.PARK, reason="daily_limit")
RETRY = Ruling(decision=Decision.RETRY, reason="rate_limit")


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2", NOW + timedelta(seconds=2)),
        ("1.5", NOW + timedelta(seconds=1.5)),
        ("2026-03-11T00:00:00Z", MIDNIGHT),
        ("Wed, 11 Mar 2026 00:00:00 GMT", MIDNIGHT),
        ("2020-05-31T00:00:00Z", NOW),
        ("99999999999", NOW + timedelta(days=1)),
        ("2999-01-01T00:00:00Z", NOW + timedelta(days=1)),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_forms_of_retry_after(text: str | None, at: datetime | None) -> None:
    """Seconds, ISO dates and HTTP dates are read; the past is now, and nothing is longer than a day."""
    assert retry_after(text, now=NOW) == at


def test_daily_limit_without_a_word_ends_at_midnight() -> None:
    """Budgets of the day come back at 00:00 UTC, whatever the headers leave out."""
    assert resume_at(PARK, {}, now=NOW) == MIDNIGHT


def test_daily_limit_does_not_outlast_midnight() -> None:
    """A Retry-After beyond the day is not believed."""
    assert resume_at(PARK, {"retry-after": "86400"}, now=NOW) == MIDNIGHT


def test_limit_per_second_without_a_word() -> None:
    """The next second."""
    assert resume_at(RETRY, {}, now=NOW) == NOW + timedelta(seconds=1)


def test_no_limit_no_moment() -> None:
    """Other rulings say nothing about when."""
    assert resume_at(Ruling(decision=Decision.UNKNOWN, reason="server_error"), {}, now=NOW) is None


def lowered(name: str) -> dict[str, str]:
    """Headers as the client has them."""
    return {key.lower(): value for key, value in rest(name).items()}


@pytest.mark.parametrize(
    ("endpoint", "headers", "scope"),
    [
        (CREATE, lowered("headers.429_user_100_as_seen"), Scope.HOST),
        (CREATE, {}, Scope.HOST),
        (CREATE, lowered("headers.429_daily"), Scope.ACCOUNT),
        (LIST, {}, Scope.ACCOUNT),
        (REGISTER, {}, Scope.REGISTRANT),
    ],
)
def test_whose_limit_it_is(endpoint: Endpoint, headers: dict[str, str], scope: Scope) -> None:
    """Healthy or missing headers of the account's bucket point at the host, or the registrant."""
    assert scope_of(endpoint, headers) is scope
