"""The tables that are grown, and the events that are then timed; each event does the same work whatever the size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.room_events import Record, joined, role_changed, started
from runtime.randomness import seeded


@dataclass(frozen=True, slots=True, kw_only=True)
class Rooms:
    """So many running meetings with a connection each; then by turns a new one, and a change of role of the old one."""

    size: int

    @property
    def name(self) -> str:
        """For the figures."""
        return f"meetings_{self.size}"

    def table(self) -> Iterator[Record]:
        """What makes the table."""
        for room in range(self.size):
            yield started(room=room)
            yield joined(room=room, person=0, second=1)

    def events(self, count: int, *, number: int) -> Iterator[Record]:
        """The timed events of a round: half of them read an entry that was there, half look for one that was not."""
        random = seeded(number, self.name)
        for each in range(number * count, (number + 1) * count):
            room = random.randrange(self.size)
            if each % 2:
                yield joined(room=room, person=each, second=1)
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

    def table(self) -> Iterator[Record]:
        """What makes the table."""
        return (joined(room=0, person=person, second=1) for person in range(self.size))

    def events(self, count: int, *, number: int) -> Iterator[Record]:
        """The timed events of a round: all of them read an entry that was there."""
        random = seeded(number, self.name)
        return (
            role_changed(room=0, person=random.randrange(self.size), second=number * count + each)
            for each in range(count)
        )


Case = Rooms | Connections
