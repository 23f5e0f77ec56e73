"""Orders in which one history may arrive."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import TypeVar

T = TypeVar("T")

FEW = 5
SHUFFLES = 40


def orders(events: Sequence[T]) -> Iterator[list[T]]:
    """Every order of a few events, or forty of many; each once as it is, once with every event repeated."""
    for order in permutations(events) if len(events) <= FEW else _shuffles(events):
        yield list(order)
        yield [event for each in order for event in (each, each)]
        yield [*order, *order]


def _shuffles(events: Sequence[T]) -> Iterator[Sequence[T]]:
    chance = random.Random(len(events))  # noqa: S311  # nothing here is secret
    yield events
    yield events[::-1]
    for _ in range(SHUFFLES - 2):
        yield chance.sample(events, len(events))
