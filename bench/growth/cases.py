"""The tables that are grown, and the events that are then timed; each event does the same work whatever the size.

A table is written as its changelog, each room and connection like the first ones: a million would take minutes to fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bench.room_events import ACCOUNT, Record, joined, meeting_number, role_changed, run_uuid, started, user_id
from runtime.randomness import seeded
from schemas.rooms.entry import Entry, Identity
from streams.engine.revised import pack
from streams.fold import Input
from streams.rooms.fold import RoomsFold

Kept = tuple[str, bytes, bytes]
"""The key of its room's events, and the key and value of a record of the changelog."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rooms:
    """So many running meetings with a connection each; then by turns a new one, and a change of role of the old one."""

    size: int

    @property
    def name(self) -> str:
        """For the figures."""
        return f"meetings_{self.size}"

    def table(self) -> Iterator[Kept]:
        """What the changelog of the table holds."""
        entries = _folded([started(room=0), joined(room=0, person=0, second=1)])
        for room in range(self.size):
            for entry in entries:
                yield _like(entry, room=room, person=0)

    def events(self, count: int, *, number: int) -> Iterator[Record]:
        """The timed events of a round: half of them read an entry that was there, half look for one that was not."""
        random = seeded(number, self.name)
        for each in range(number * count, (number + 1) * count):
            room = random.randrange(self.size)
            if each % 2:
                yield joined(room=room, person=1 + each, second=1)
            else:
                yield role_changed(room=room, person=0, second=each)


@dataclass(frozen=True, slots=True, kw_only=True)
class Connections:
    """One meeting with so many connections; then a change of role of any of them with each event."""

    size: int

    @property
    def name(self) -> str:
        """For the figures."""
        return f"connections_{self.size}"

    def table(self) -> Iterator[Kept]:
        """What the changelog of the table holds."""
        [entry] = _folded([joined(room=0, person=0, second=1)])
        return (_like(entry, room=0, person=person) for person in range(self.size))

    def events(self, count: int, *, number: int) -> Iterator[Record]:
        """The timed events of a round: all of them read an entry that was there."""
        random = seeded(number, self.name)
        return (
            role_changed(room=0, person=random.randrange(self.size), second=number * count + each)
            for each in range(count)
        )


Case = Rooms | Connections


def _folded(records: Iterable[Record]) -> list[Entry]:
    """The entries that these events leave."""
    fold, table = RoomsFold(), dict[str, Entry]()
    for offset, (key, value) in enumerate(records):
        table.update(fold.fold(Input(fold.source, 0, offset, 0, key.decode(), value), table.get, generation=0).entries)
    return list(table.values())


def _like(entry: Entry, *, room: int, person: int) -> Kept:
    """The same state under the name of another room, run or connection."""
    number = meeting_number(room)
    parts = (run_uuid(room), user_id(person))[: len(entry.identity.parts)]
    identity = Identity(ACCOUNT, number, entry.identity.kind, parts)
    state = entry.encode().removeprefix(entry.identity.head)
    return number, identity.key.encode(), pack(generation=0, revision=0, entry=identity.head + state)
