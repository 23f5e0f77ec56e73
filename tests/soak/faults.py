"""What goes wrong in the simulated Zoom while a soak lasts, as its control API takes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.soak.pace import Pace

Order = Mapping[str, Any]

WRITES = ("create", "update", "delete")
_UNLISTED_SECONDS = 30.0


def usual_faults(pace: Pace) -> Sequence[Order]:
    """Faults in force from the first command on; each strikes again and again, with a small probability."""
    gateway = {"status": 504, "body": "<html>gateway</html>", "content_type": "text/html"}
    hang_seconds = pace.rooms.call_timeout_seconds * 2
    return (
        # It acts, and nobody hears of it.
        {"kind": "hang", "names": WRITES, "acts": True, "seconds": hang_seconds, "probability": 0.01},
        {"kind": "abort", "names": WRITES, "acts": True, "probability": 0.01},
        {"kind": "error", "names": WRITES, "acts": True, "status": 500, "probability": 0.01},
        {"kind": "error", "names": WRITES, "acts": True, **gateway, "probability": 0.01},
        {"kind": "truncate", "names": ["create"], "probability": 0.01},
        {"kind": "cut", "names": ["create"], "probability": 0.01},
        # It does nothing.
        {"kind": "error", "names": ["*"], "status": 502, "body": "", "probability": 0.02},
        {"kind": "abort", "names": ["*"], "probability": 0.01},
        {"kind": "too_many", "names": [*WRITES, "get", "list"], "limit": "per_second", "probability": 0.02},
        # It acts later than anybody waits, or is believed to act.
        {"kind": "slow", "names": WRITES, "seconds": pace.slow_seconds, "probability": 0.005},
        {"kind": "slow", "names": WRITES, "acts": True, "seconds": pace.slow_seconds, "probability": 0.005},
        {"kind": "unlisted", "names": ["create"], "seconds": _UNLISTED_SECONDS / pace.divisor, "probability": 0.3},
        {"kind": "token_death", "names": ["*"], "probability": 0.003},
        # Webhooks.
        {"kind": "drop", "names": ["meeting.*"], "probability": 0.05},
        {"kind": "duplicate", "names": ["meeting.*"], "seconds": 1.0, "probability": 0.1},
        {"kind": "reorder", "names": ["meeting.*"], "seconds": 5.0, "probability": 0.2},
    )


def daily_limits() -> Sequence[Order]:
    """Zoom says that a host's day is used up, without a word about when it comes back."""
    return ({"kind": "too_many", "names": ["create", "update"], "limit": "host_daily", "count": 3},)


def account_day(account_id: str) -> Sequence[Order]:
    """The same of a whole account."""
    limit = {"limit": "daily", "retry_after": "none", "count": 1}
    return ({"kind": "too_many", "names": ["create"], "account_id": account_id, **limit},)


def outage() -> Sequence[Order]:
    """Zoom is down."""
    return ({"kind": "error", "names": ["*"], "status": 503, "body": "", "probability": 1.0},)
