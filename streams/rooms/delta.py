"""Deltas: the pieces of state that a fact is, one for each entry it touches.

Events of participants are most of all events, so each touches its connection alone: what it proves besides (that the
room was heard of, that it existed, that the run started) lies in that entry and counts for run and room when they are
read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from schemas.rooms.entry import NOTHING, Entry, Maxima, Points, Register, Registers, identify
from streams.rooms.fact import Fact

Fields = tuple[tuple[str, str], ...]
"""Fields of a body and the registers they become."""


class Delta:
    """What a fact says of one entry; itself a state of that entry."""

    __slots__ = ("identity", "maxima", "points", "registers")

    def __init__(
        self,
        fact: Fact,
        kind: str,
        parts: tuple[str, ...],
        registers: Registers = NOTHING,
        *,
        points: Points = NOTHING,
        maxima: Maxima = NOTHING,
    ) -> None:
        """Of one entry of the fact's room."""
        self.identity = identify(fact.account_id, fact.room, kind, parts)
        self.registers = registers
        self.points = points
        self.maxima = maxima

    def add(self, joined: Entry) -> None:
        """Become the join of this delta and another of the same entry."""
        self.registers, self.points, self.maxima = joined.registers, joined.points, joined.maxima

    def as_entry(self) -> Entry:
        """The entry of which nothing else was ever heard."""
        return Entry(self.identity, self.registers, None, self.points, None, self.maxima, None)


def heard(fact: Fact, *, proves: bool, **maxima: int) -> dict[str, int]:
    """Maxima: when a webhook last spoke of the entry, with `proves` when its room was last known to exist, and more."""
    if fact.time is not None:
        if fact.is_webhook:
            maxima["heard"] = fact.time
        if proves:
            maxima["proof"] = fact.time
    return maxima


def registers_of(
    clock: str, subject: Mapping[str, Any], fields: Fields, registers: dict[str, Register] | None = None
) -> dict[str, Register]:
    """A register for each of these fields that is there and not blank, put into `registers` if any are given."""
    if registers is None:
        registers = {}
    for field, name in fields:
        value = subject.get(field)
        if value is not None and value != "":
            registers[name] = (clock, value)
    return registers


def registers_but(clock: str, subject: Mapping[str, Any], apart: Iterable[str]) -> dict[str, Register]:
    """A register for every field that is there and not blank, but for those `apart`."""
    return {
        name: (clock, value)
        for name, value in subject.items()
        if value is not None and value != "" and name not in apart
    }
