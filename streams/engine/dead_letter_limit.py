"""The limit that keeps a bad deploy from draining a topic into the dead letters.

Two counts per partition of a source topic: the run of bad messages up to now, and the share of bad ones in a window.
They travel with the committed offset (as its metadata), so the count that reaches the limit is never acknowledged and a
restart stops at the same message again, until an operator raises the limit.
"""

from __future__ import annotations

from dataclasses import dataclass

from schemas.errors import Broken

RAISE = "ROOMKEEPER_STREAMS__DEAD_LETTER"


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

    def __init__(self, limit: DeadLetterLimit, *, metadata: str = "") -> None:
        """Goes on from the metadata of the committed offset; anything else in it starts from nothing."""
        self._limit = limit
        self._committed = _parse(metadata)
        self._run, self._bad, self._seen = self._committed

    @property
    def metadata(self) -> str:
        """The counts, to be committed with the offset; empty when there is nothing to remember."""
        return f"bad-run={self._run} bad={self._bad} of={self._seen}" if self._bad or self._run else ""

    def good(self) -> None:
        """A message was fine.

        Raises:
            Broken: it fills a window with too large a share of bad ones.
        """
        self._run = 0
        if self._bad:
            self._count()

    def bad(self) -> None:
        """A message was bad.

        Raises:
            Broken: it is one too many.
        """
        self._run += 1
        self._bad += 1
        if self._run >= self._limit.run:
            raise Broken(f"dead-letter limit: {self._run} bad messages in a row; {RAISE}_RUN raises it")
        self._count()

    def commit(self) -> None:
        """The counts are committed."""
        self._committed = (self._run, self._bad, self._seen)

    def rollback(self) -> None:
        """Back to the counts that are committed."""
        self._run, self._bad, self._seen = self._committed

    def _count(self) -> None:
        """A window begins with its first bad message, so that good ones cost nothing."""
        self._seen += 1
        if self._seen >= self._limit.window:
            if self._bad > self._limit.share * self._seen:
                raise Broken(f"dead-letter limit: {self._bad} bad messages of {self._seen}; {RAISE}_SHARE raises it")
            self._bad = self._seen = 0


def _parse(metadata: str) -> tuple[int, int, int]:
    words = dict(word.partition("=")[::2] for word in metadata.split())
    try:
        return int(words["bad-run"]), int(words["bad"]), int(words["of"])
    except (KeyError, ValueError):
        return 0, 0, 0
