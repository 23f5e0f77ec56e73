"""The time, as a port: the only module that may ask the machine for it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """The present moment, aware UTC, to the millisecond."""

    def monotonic_seconds(self) -> float:
        """Seconds that never step back, for measuring how long something took."""


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The machine's clock, shifted by a fixed number of seconds."""

    shift_seconds: float = 0.0

    def now(self) -> datetime:
        """The present moment, aware UTC, to the millisecond."""
        ms = time.time_ns() // 1_000_000 + round(self.shift_seconds * 1000)
        return _EPOCH + timedelta(milliseconds=ms)

    def monotonic_seconds(self) -> float:
        """Seconds that never step back."""
        return time.monotonic()
