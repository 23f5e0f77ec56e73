"""How long to wait before trying again: doubling steps up to a limit, each drawn at random from nothing to the step.

Full jitter: processes that lost the same database do not come back in one wave.
Source: Marc Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
"""

from __future__ import annotations

from runtime.randomness import Random


class Backoff:
    """The waits of one thing that may fail again and again."""

    def __init__(self, first_seconds: float, limit_seconds: float, random: Random) -> None:
        """The first step, and the one that is never exceeded."""
        self._first_seconds = first_seconds
        self._limit_seconds = limit_seconds
        self._random = random
        self._step_seconds = first_seconds

    def next_seconds(self, *, at_least: float = 0.0) -> float:
        """How long to wait now; `at_least` is what the other side asked for."""
        wait = self._random.uniform(0.0, self._step_seconds)
        self._step_seconds = min(self._step_seconds * 2, self._limit_seconds)
        return max(wait, at_least)

    def reset(self) -> None:
        """It worked: the next wait is a first one."""
        self._step_seconds = self._first_seconds
