"""The limit that keeps a bad deploy from draining a topic into the dead letters.

Two counts per partition of a source topic: the run of bad messages up to now, and the share of bad ones in a window.
They are committed with the offset, so the count that reaches the limit is never acknowledged and a
restart stops at the same message again, until an operator raises the limit.
"""

from __future__ import annotations

from dataclasses import dataclass

from schemas.errors import BadMessage, Broken

RAISE = "ROOMKEEPER_STREAMS__DEAD_LETTER"
ERROR_CHARS = 200
"""An error's text is cut here: it names the fault, it is no copy of the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterLimit:
    """How many bad messages a worker takes."""

    run: int
    """So many in a row stop it."""
    share: float
    """More than this share of a window stops it."""
    window: int
    """Messages in a window; a new one begins when it is full."""


class DeadLetterCount:
    """Bad messages of one partition, counted against the limit."""

    def __init__(self, limit: DeadLetterLimit, *, of: str, run: int = 0, bad: int = 0, seen: int = 0) -> None:
        """Goes on from the counts that are committed; `of` names the partition in messages."""
        self._limit = limit
        self._of = of
        self._committed = (run, bad, seen)
        self.run, self._bad, self._seen = self._committed
        self._last: tuple[int, BadMessage] | None = None

    @property
    def counts(self) -> tuple[int, int, int]:
        """Run, bad ones and messages of the window: to be committed with the offset."""
        return self.run, self._bad, self._seen

    def good(self) -> None:
        """A message was fine.

        Raises:
            Broken: it fills a window with too large a share of bad ones.
        """
        self.run = 0
        if self._bad:
            self._count()

    def bad(self, offset: int, error: BadMessage) -> None:
        """The message at this offset was bad.

        Raises:
            Broken: it is one too many.
        """
        self.run += 1
        self._bad += 1
        self._last = (offset, error)
        if self.run >= self._limit.run:
            raise Broken(self._reason(f"{self.run} bad messages in a row", setting="RUN"))
        self._count()

    def commit(self) -> None:
        """The counts are committed."""
        self._committed = self.counts

    def rollback(self) -> None:
        """Back to the counts that are committed."""
        self.run, self._bad, self._seen = self._committed

    def _count(self) -> None:
        """A window begins with its first bad message, so that good ones cost nothing."""
        self._seen += 1
        if self._seen >= self._limit.window:
            if self._bad > self._limit.share * self._seen:
                raise Broken(self._reason(f"{self._bad} bad messages of {self._seen}", setting="SHARE"))
            self._bad = self._seen = 0

    def _reason(self, what: str, *, setting: str) -> str:
        """With the newest bad message: where it lies and what is wrong with it. None is known just after a restart."""
        last = ""
        if self._last is not None:
            offset, error = self._last
            last = f", the last at offset {offset}: {type(error).__name__} {str(error)[:ERROR_CHARS]}"
        return f"dead-letter limit: {self._of}: {what}{last}; {RAISE}_{setting} raises it"
