"""When a kept request is due again, and when a room of unknown fate is looked for."""

from __future__ import annotations

from datetime import datetime, timedelta

from runtime.clock import Clock
from runtime.randomness import Random
from runtime.settings import RoomSettings

EARLY_ATTEMPTS = 10
"""So many attempts stay below the early limit; what still fails then is no hiccup."""
LOOKS = (0.0, 0.1, 0.25, 0.5, 1.0)
"""Look-ups, as shares of the time over which they are spread: soon at first, the last one when it is over."""


class Delays:
    """Full jitter over steps that double, first up to one limit and then up to another."""

    def __init__(self, settings: RoomSettings, *, clock: Clock, random: Random) -> None:
        """`random` draws the jitter."""
        self._settings = settings
        self._clock = clock
        self._random = random

    def again_at(self, attempts: int, *, not_before: datetime | None = None) -> datetime:
        """When a request that failed so often is due again, and not before what Zoom asked for."""
        first, early, limit = self._settings.keep_backoff_seconds
        step = min(first * 2.0 ** min(attempts, 40), early)
        if attempts > EARLY_ATTEMPTS:
            step = min(early * 2.0 ** min(attempts - EARLY_ATTEMPTS, 40), limit)
        wait = timedelta(seconds=self._random.uniform(0.0, step))
        return max(self._clock.now(), not_before or self._clock.now()) + wait

    def soon_after(self, at: datetime, *, seconds: float) -> datetime:
        """A moment drawn from the time after another."""
        return at + timedelta(seconds=self._random.uniform(0.0, seconds))

    def look_at(self, unknown_at: datetime, *, looks: int) -> datetime:
        """When to look for a room after so many looks."""
        share = LOOKS[min(looks, len(LOOKS) - 1)]
        return max(self._clock.now(), unknown_at + timedelta(seconds=self._settings.settle_seconds * share))

    def settled_at(self, unknown_at: datetime) -> datetime:
        """From when a look that finds nothing proves that there is nothing."""
        return unknown_at + timedelta(seconds=self._settings.settle_seconds)
