"""Whether a projector still gets on: the watchdog's view of it. Safe to read from another thread."""

from __future__ import annotations

from runtime.clock import Clock


class Progress:
    """The last moment at which a projection moved, had nothing to do, or could not be expected to move."""

    def __init__(self, clock: Clock) -> None:
        """Starts now."""
        self._clock = clock
        self._last_seconds = clock.monotonic_seconds()

    def made(self) -> None:
        """It moved, is at the end of its topic, or lacks its broker or database."""
        self._last_seconds = self._clock.monotonic_seconds()

    def none_for_seconds(self) -> float:
        """How long there was work that could be done and was not."""
        return self._clock.monotonic_seconds() - self._last_seconds
