"""What became of each delivery attempt: the source of Zoom's webhook logs, seven days long and bounded."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

_ENTRIES_KEPT = 20_000
DAYS_KEPT = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt to deliver one event."""

    account_id: str
    event: str
    zoom_id: str
    request_id: str
    tracking_id: str
    endpoint: str
    headers: Mapping[str, str]
    body: bytes
    retry_num: int
    at: datetime
    status: int
    """HTTP status, or -1 when none came."""
    reason: int | None
    """Zoom's number for why none came."""
    answer: bytes

    @property
    def delivered(self) -> bool:
        """Whether the endpoint took it."""
        return 200 <= self.status < 300


class DeliveryLog:
    """The newest attempts."""

    def __init__(self) -> None:
        """Empty."""
        self._attempts: deque[Attempt] = deque(maxlen=_ENTRIES_KEPT)

    def add(self, attempt: Attempt) -> None:
        """Keeps an attempt."""
        self._attempts.append(attempt)

    def newest(self, account_id: str | None, *, now: datetime) -> Iterator[Attempt]:
        """Attempts of the last seven days, newest first."""
        for attempt in reversed(self._attempts):
            if now - attempt.at > DAYS_KEPT:
                return
            if account_id in (None, attempt.account_id):
                yield attempt
