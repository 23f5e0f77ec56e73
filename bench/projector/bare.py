"""The other side: the statements and rows of the projection, recorded beforehand, and only then timed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, LiteralString, cast

from psycopg import Cursor

from bench.room_events import Record
from projectors.projection import Consumed, Decoded
from projectors.rooms import RoomsProjection
from runtime.postgres import Connection
from runtime.topics import ROOM_EVENTS


@dataclass(slots=True)
class Recorder:
    """Takes what a projection does with a cursor: statements, and the rows of each COPY."""

    steps: list[tuple[LiteralString, list[Any] | None]] = field(default_factory=list)

    def execute(self, query: LiteralString) -> None:
        """Note a statement."""
        self.steps.append((query, None))

    @contextmanager
    def copy(self, query: LiteralString) -> Iterator[Recorder]:
        """Note a COPY, whose rows follow."""
        self.steps.append((query, []))
        yield self

    def write_row(self, row: Any) -> None:
        """Note one row of it."""
        rows = self.steps[-1][1]
        assert rows is not None
        rows.append(row)


def record(events: Sequence[Record], *, batch: int) -> list[Recorder]:
    """What the projection would do for these events, a recorder for each batch."""
    projection = RoomsProjection()
    recorded = []
    for first in range(0, len(events), batch):
        decoded = [
            Decoded(record=projection.decode(each), consumed=each)
            for each in map(_consumed, events[first : first + batch])
        ]
        recorder = Recorder()
        projection.apply(cast("Cursor[Any]", recorder), decoded)
        recorded.append(recorder)
    return recorded


def replay(connection: Connection, recorded: Sequence[Recorder]) -> float:
    """Do all of it, a transaction for each batch; how many seconds it took."""
    began = time.monotonic()
    for batch in recorded:
        with connection.transaction(), connection.cursor() as cursor:
            for query, rows in batch.steps:
                if rows is None:
                    cursor.execute(query)
                    continue
                with cursor.copy(query) as copy:
                    for row in rows:
                        copy.write_row(row)
    return time.monotonic() - began


def rows_of(recorded: Sequence[Recorder]) -> int:
    """How many rows all batches hold."""
    return sum(len(rows) for batch in recorded for _, rows in batch.steps if rows is not None)


def _consumed(event: Record) -> Consumed:
    key, value = event
    return Consumed(topic=ROOM_EVENTS, partition=0, offset=0, timestamp_ms=0, key=key, value=value)
