"""Chance, as a port: the only module that makes generators of random numbers.

Code that needs chance takes a `Random`; whoever starts a process or a test decides whether it repeats.
"""

from __future__ import annotations

from random import Random, SystemRandom

__all__ = ["Random", "seeded", "unseeded"]


def seeded(seed: int, *purpose: str) -> Random:
    """A generator that draws the same numbers for the same seed and purpose, on every machine."""
    return Random("|".join((str(seed), *purpose)))  # noqa: S311 - repeatable on purpose, guards no secret


def unseeded() -> Random:
    """A generator that never repeats, fed by the operating system."""
    return SystemRandom()
