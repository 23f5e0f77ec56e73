"""What the engine tells about itself: a port, so that it knows no metrics library."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(slots=True, kw_only=True)
class Tally:
    """What a transaction did; it counts once the transaction is committed."""

    events: int = 0
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By table and outcome of the fold."""
    dead_letters: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By stage and class of the error."""
    oldest_ms: dict[str, int] = field(default_factory=dict)
    """By table, when the broker took the oldest record."""


class Observer(Protocol):
    """Told of progress. Calls must be quick and may come from any thread."""

    def batch(self, table: str, *, records: int) -> None:
        """An agent got so many records at once."""

    def committed(self, tally: Tally, *, seconds: float, commit_seconds: float) -> None:
        """A transaction of so many seconds is committed; its commit alone took `commit_seconds`."""

    def aborted(self, *, seconds: float) -> None:
        """A transaction of so many seconds is aborted and will be folded again."""

    def restored(self, table: str, *, partition: int, records: int, remaining: int) -> None:
        """So many more records of a changelog are in RocksDB, and so many offsets are to go."""

    def lag(self, topic: str, *, partition: int, records: int) -> None:
        """So many records of a source partition are not committed."""


class Progress:
    """Counts steps forward for the watchdog, and passes everything on."""

    def __init__(self, observer: Observer) -> None:
        """Passes on to `observer`."""
        self.ticks = 0
        """Changes with every committed transaction, restored batch and finished take-over."""
        self._observer = observer

    def tick(self) -> None:
        """A step forward. Two at once may count as one: only the change matters."""
        self.ticks += 1

    def batch(self, table: str, *, records: int) -> None:
        """Pass on."""
        self._observer.batch(table, records=records)

    def committed(self, tally: Tally, *, seconds: float, commit_seconds: float) -> None:
        """A step, if it holds anything; pass on."""
        self.ticks += bool(tally.events)
        self._observer.committed(tally, seconds=seconds, commit_seconds=commit_seconds)

    def aborted(self, *, seconds: float) -> None:
        """No step; pass on."""
        self._observer.aborted(seconds=seconds)

    def restored(self, table: str, *, partition: int, records: int, remaining: int) -> None:
        """A step; pass on."""
        self.tick()
        self._observer.restored(table, partition=partition, records=records, remaining=remaining)

    def lag(self, topic: str, *, partition: int, records: int) -> None:
        """Pass on."""
        self._observer.lag(topic, partition=partition, records=records)


class Silent:
    """Tells nobody."""

    def batch(self, table: str, *, records: int) -> None:
        """Nothing."""

    def committed(self, tally: Tally, *, seconds: float, commit_seconds: float) -> None:
        """Nothing."""

    def aborted(self, *, seconds: float) -> None:
        """Nothing."""

    def restored(self, table: str, *, partition: int, records: int, remaining: int) -> None:
        """Nothing."""

    def lag(self, topic: str, *, partition: int, records: int) -> None:
        """Nothing."""
