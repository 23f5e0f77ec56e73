"""Deltas: the pieces of state that a fact is, one for each entry it touches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas.rooms.entry import Entry, Maxima, Points, Registers, entry_head, entry_key
from streams.rooms.fact import Fact

NOTHING: Mapping[str, Any] = {}


class Delta:
    """What a fact says of one entry; itself a state of that entry."""

    __slots__ = ("identity", "key", "maxima", "points", "registers")

    def __init__(
        self,
        fact: Fact,
        kind: str,
        parts: tuple[str, ...],
        *,
        registers: Registers = NOTHING,
        points: Points = NOTHING,
        maxima: Maxima = NOTHING,
    ) -> None:
        """Of one entry of the fact's room."""
        self.identity = (fact.account_id, fact.room, kind, parts)
        self.key = entry_key(fact.account_id, fact.room, kind, parts)
        self.registers = registers
        self.points = points
        self.maxima = maxima

    def add(self, joined: Entry) -> None:
        """Become the join of this delta and another of the same entry."""
        self.registers, self.points, self.maxima = joined.registers, joined.points, joined.maxima

    def as_entry(self) -> Entry:
        """The entry of which nothing else was ever heard."""
        return Entry(self.key, entry_head(*self.identity), self.registers, None, self.points, None, self.maxima, None)


def room(fact: Fact, *, registers: Registers = NOTHING, maxima: Maxima = NOTHING, proves: bool = False) -> Delta:
    """What a fact says of its room.

    Every webhook also says when the room was last heard of; with `proves`, that it existed then.
    """
    time = fact.time
    if time is None:
        return Delta(fact, "room", (), registers=registers, maxima=maxima)
    heard: dict[str, int] = {**maxima}
    if fact.is_webhook:
        heard["last_seen"] = time
    if proves:
        heard["proof"] = time
    return Delta(fact, "room", (), registers=registers, maxima=heard)


def registers_at(clock: str, fields: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """One register for each field."""
    return {name: (clock, value) for name, value in fields.items()}


def heard(subject: Mapping[str, Any], fields: Mapping[str, str]) -> dict[str, Any]:
    """The fields that are there and not blank, under their register's name."""
    found = {}
    for field, name in fields.items():
        value = subject.get(field)
        if value is not None and value != "":
            found[name] = value
    return found
