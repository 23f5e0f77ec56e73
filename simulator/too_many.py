"""The five kinds of 429 as they were recorded; only their texts and headers tell them apart.

Source: recorded answers. The one for a host's hundred a day has neither a type nor a Retry-After, and its numbers are
those of the account's bucket.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from enum import StrEnum

from simulator.refusals import Refusal
from simulator.wire import second_text

_SHOWN_DAILY_LIMIT = 6_000


class RetryAfter(StrEnum):
    """How a 429 says when to come back."""

    ISO = "iso"
    SECONDS = "seconds"
    HTTP_DATE = "http_date"
    NONE = "none"


def per_second(category: str) -> Refusal:
    """More calls in one second than the plan allows."""
    text = "You have reached the maximum per-second rate limit for this API. Try again later."
    return Refusal(429, 429, text, headers={"X-RateLimit-Category": category, "X-RateLimit-Type": "QPS"})


def daily(category: str, *, limit: int, now: datetime, form: RetryAfter = RetryAfter.ISO) -> Refusal:
    """More calls in one UTC day than the plan allows."""
    text = (
        "You have reached the maximum daily rate limit for this API. "
        "Refer to the response header for details on when you can make another request."
    )
    headers = {"X-RateLimit-Category": category, "X-RateLimit-Type": "Daily-limit"}
    headers |= {"X-RateLimit-Limit": str(limit), "X-RateLimit-Remaining": "0"}
    resumes_at = midnight_after(now)
    if form is RetryAfter.ISO:
        headers["Retry-After"] = second_text(resumes_at)
    elif form is RetryAfter.SECONDS:
        headers["Retry-After"] = str(max(1, round((resumes_at - now).total_seconds())))
    elif form is RetryAfter.HTTP_DATE:
        headers["Retry-After"] = format_datetime(resumes_at, usegmt=True)
    return Refusal(429, 429, text, headers=headers)


def host_daily(limit: int, *, used: int = 107) -> Refusal:
    """More creates and updates of one host than a UTC day allows; `used` is what the account spent in its bucket."""
    text = (
        f"You have exceeded the daily rate limit ({limit}) of Meeting Create/Update API requests permitted for this "
        "particular user. You may resume these requests at GMT 00:00:00."
    )
    headers = {"X-RateLimit-Category": "Light", "X-RateLimit-Limit": str(_SHOWN_DAILY_LIMIT)}
    headers["X-RateLimit-Remaining"] = str(max(0, _SHOWN_DAILY_LIMIT - used))
    return Refusal(429, 429, text, headers=headers)


def registrant_daily(limit: int, email: str) -> Refusal:
    """The same person was added too often to one meeting in a UTC day."""
    text = (
        f"You have exceeded the daily rate limit of ({limit}) for Add a meeting registrant API requests for the "
        f"registrant ({email}). You can resume these API requests at GMT 00:00:00."
    )
    return Refusal(429, 429, text, headers={"X-RateLimit-Category": "Light"})


def concurrent() -> Refusal:
    """Two calls on one thing at once."""
    text = "Too many concurrent requests. A request to change this meeting has already been made."
    return Refusal(429, 429, text, headers={"X-RateLimit-Category": "Light"})


def midnight_after(now: datetime) -> datetime:
    """When the UTC day's budgets come back."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
