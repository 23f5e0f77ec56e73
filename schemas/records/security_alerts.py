"""What was refused: the records of `security-alerts`, keyed by reason."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityAlert:
    """Refusals of one reason, minute and process, counted together."""

    alert_id: str
    reason: str
    """`signature_mismatch`, `signature_missing`, `timestamp_stale`, `account_unknown`, `challenge_refused`, ..."""
    account_id: str | None
    """Account the caller claimed; None when it claimed none that is configured."""
    path: str
    process: str
    count: int
    first_at: datetime
    last_at: datetime
