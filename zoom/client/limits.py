"""When to come back after a 429. Zoom says it in seconds, as an HTTP date, as an ISO date, or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum

from zoom.client.decisions import Decision, Ruling
from zoom.client.endpoints import REGISTER, Endpoint

PER_SECOND_SECONDS = 1.0
"""Where nothing is said about a limit per second: the next second. The caller adds its jitter."""
MOST_SECONDS = 86_400.0
"""No limit of Zoom's is longer than a day; what says otherwise is not believed."""


def resume_at(ruling: Ruling, headers: Mapping[str, str], *, now: datetime) -> datetime | None:
    """The moment before which the same call is in vain; None when the ruling knows of no limit."""
    said = retry_after(headers.get("retry-after"), now=now)
    if ruling.decision is Decision.PARK:
        midnight = midnight_after(now)
        return midnight if said is None or said < now else min(said, midnight)
    if said is not None:
        return said
    limited = ruling.reason in {"rate_limit", "concurrent_requests"}
    return now + timedelta(seconds=PER_SECOND_SECONDS) if limited else None


class Scope(StrEnum):
    """Whose budget of the day is used up."""

    ACCOUNT = "account"
    HOST = "host"
    REGISTRANT = "registrant"


def scope_of(endpoint: Endpoint, headers: Mapping[str, str]) -> Scope:
    """Whose daily limit a 429 is about.

    Headers speak of the account's bucket alone: where they say that it is not used up, or say nothing, a create or
    update met its host's limit and an add its registrant's. Source: recorded answers.
    """
    if headers.get("x-ratelimit-type", "").lower().startswith("daily") or headers.get("x-ratelimit-remaining") == "0":
        return Scope.ACCOUNT
    if endpoint.host_budget:
        return Scope.HOST
    return Scope.REGISTRANT if endpoint is REGISTER else Scope.ACCOUNT


def retry_after(text: str | None, *, now: datetime) -> datetime | None:
    """The moment that a Retry-After names; None when there is none, or it says nothing that can be."""
    if not text:
        return None
    at = _moment(text.strip(), now=now)
    if at is None:
        return None
    return min(max(at, now), now + timedelta(seconds=MOST_SECONDS))


def midnight_after(now: datetime) -> datetime:
    """When the budgets of the UTC day come back."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


def _moment(text: str, *, now: datetime) -> datetime | None:
    if text.isascii() and text.replace(".", "", 1).isdigit():
        return now + timedelta(seconds=min(float(text), MOST_SECONDS))
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        try:
            at = parsedate_to_datetime(text)
        except ValueError:
            return None
    return at.astimezone(UTC) if at.tzinfo is not None else at.replace(tzinfo=UTC)
