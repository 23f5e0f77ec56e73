"""How far a projection has come: the rows of `projector_offsets`, which are the authority, not the consumer group's.

An offset moves only in the transaction that writes the rows of the records before it, and only from where this process
left it: that is the fence against an owner that was paused, lost its partition and woke up.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from psycopg import Cursor
from psycopg.rows import DictRow

from projectors.engine.slices import Slice
from runtime.queries import queries


class Offsets:
    """The stored offsets of one projection and topic."""

    def __init__(self, *, projection: str, topic: str) -> None:
        """`topic` is the name on the cluster: offsets of another topic mean nothing."""
        self._names = {"projection": projection, "topic": topic}
        self._queries = queries("projectors")

    def read(self, cursor: Cursor[DictRow], partitions: Collection[int]) -> dict[int, int]:
        """The offset at which each partition goes on, 0 where it was never read."""
        parameters = {**self._names, "partitions": sorted(partitions)}
        cursor.execute(self._queries["begin_offsets"], parameters)
        cursor.execute(self._queries["read_offsets"], parameters)
        return {row["partition"]: row["next_offset"] for row in cursor}

    def move(self, cursor: Cursor[DictRow], slices: Sequence[Slice]) -> dict[int, int]:
        """Move the offsets past these slices; gives the run of bad records before each of those that moved."""
        parameters = {
            **self._names,
            "partitions": [each.partition for each in slices],
            "held": [each.held for each in slices],
            "next": [each.next_offset for each in slices],
        }
        cursor.execute(self._queries["move_offsets"], parameters)
        return {row["partition"]: row["bad_run"] for row in cursor}

    def note_runs(self, cursor: Cursor[DictRow], runs: Mapping[int, int]) -> None:
        """Store how many bad records in a row end at each partition's offset."""
        parameters = {**self._names, "partitions": list(runs), "runs": list(runs.values())}
        cursor.execute(self._queries["note_bad_runs"], parameters)

    def advance(self, cursor: Cursor[DictRow], ends: Mapping[int, int]) -> None:
        """Let these partitions go on from here, unless they are further already."""
        parameters = {**self._names, "partitions": list(ends), "next": list(ends.values())}
        cursor.execute(self._queries["advance_offsets"], parameters)
