"""When transactions end: those of all lanes of a worker together.

Each lane by its own time would have the broker busy, and whoever reads what lanes write woken, many times in every
interval. Together they are committed at one moment, and a reader takes the records of all of them at once.
"""

from __future__ import annotations


class Pace:
    """Shared by the lanes of a worker. Times are seconds of the monotonic clock."""

    def __init__(self, seconds: float) -> None:
        """A transaction takes records for at most `seconds`."""
        self.seconds = seconds
        self._ends_at = float("-inf")

    def end_of(self, began_at: float) -> float:
        """Until when it waits for records: as long as the others under way, or as the first of the next ones."""
        if began_at >= self._ends_at:
            self._ends_at = began_at + self.seconds
        return self._ends_at
