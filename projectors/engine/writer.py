"""One projection's side towards PostgreSQL: rows, offsets and dead letters of a batch, all or nothing.

Guarantees: when `write` returns, the rows of the slices and their offsets are committed together, and each refused
record lies in `dead-letters`; when it raises, nothing of them is committed. A partition that another process has moved
meanwhile is left out, whatever this process believes to own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from psycopg import Cursor
from psycopg.rows import DictRow

from projectors.engine.isolation import REFUSALS, as_bad_message, write_separately
from projectors.engine.limit import runs_after
from projectors.engine.offsets import Offsets
from projectors.engine.refusals import Refusals
from projectors.engine.slices import Refused, Slice, Written
from projectors.projection import Decoded, Projection
from runtime.postgres import Connection, connect, translated
from runtime.queries import queries
from runtime.settings import PostgresSettings
from schemas.errors import BadMessage

R = TypeVar("R")
Records = Sequence[Decoded[R]]
Apply = Callable[[Cursor[DictRow], Records[R]], tuple[Records[R], list[Refused]]]

IDLE_IN_TRANSACTION_MS = 6_000
"""Longer than a dead letter may take to be acknowledged, shorter than a statement that waits for the lock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared(Generic[R]):
    """Slices whose records are decoded, as far as they can be."""

    slices: tuple[Slice, ...]
    decoded: Records[R]
    unreadable: Sequence[Refused]


class Writer(Generic[R]):
    """Writes one projection through one connection, which is made anew after any trouble."""

    def __init__(
        self,
        projection: Projection[R],
        *,
        topic: str,
        postgres: PostgresSettings,
        refusals: Refusals,
        dead_letter_run: int,
    ) -> None:
        """`topic` is the name on the cluster. Nothing is opened before the first use."""
        self._projection = projection
        self._offsets = Offsets(projection=projection.name, topic=topic)
        self._postgres = postgres
        self._refusals = refusals
        self._dead_letter_run = dead_letter_run
        self._connection: Connection | None = None

    def positions(self, partitions: Collection[int]) -> dict[int, int]:
        """The stored offset of each partition.

        Raises:
            Unavailable: the database is away.
        """
        with self._transaction() as cursor:
            return self._offsets.read(cursor, partitions)

    def prepare(self, slices: Sequence[Slice]) -> Prepared[R]:
        """Decode the records, without touching the database: it may be done while the batch before is being written."""
        decoded: list[Decoded[R]] = []
        unreadable: list[Refused] = []
        for each in slices:
            for consumed in each.records:
                try:
                    decoded.append(Decoded(record=self._projection.decode(consumed), consumed=consumed))
                except BadMessage as error:
                    unreadable.append(Refused(consumed=consumed, error=error))
        return Prepared(slices=tuple(slices), decoded=decoded, unreadable=unreadable)

    def write(self, batch: Prepared[R]) -> Written:
        """Project the batch and move its offsets, in one transaction.

        Raises:
            Unavailable: the database is away, or the broker takes no dead letter: nothing is committed.
            Broken: too many bad records in a row.
        """
        try:
            return self._commit(batch, apply=self._apply_at_once)
        except BadMessage:
            return self._commit(batch, apply=self._apply_separately)

    def close(self) -> None:
        """Close the connection; the next use opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _commit(self, batch: Prepared[R], *, apply: Apply[R]) -> Written:
        with self._transaction() as cursor:
            runs = self._offsets.move(cursor, batch.slices)
            mine = [each for each in batch.decoded if each.consumed.partition in runs]
            applied, refused = apply(cursor, mine) if mine else ((), [])
            refused += [each for each in batch.unreadable if each.consumed.partition in runs]
            if refused or any(runs.values()):
                after = runs_after(batch.slices, refused, before=runs, limit=self._dead_letter_run)
                self._offsets.note_runs(cursor, after)
            if refused:
                self._refusals.send(refused)
        overtaken = frozenset(each.partition for each in batch.slices) - runs.keys()
        return Written(applied=len(applied), refused=tuple(refused), overtaken=overtaken)

    def _apply_at_once(self, cursor: Cursor[DictRow], batch: Records[R]) -> tuple[Records[R], list[Refused]]:
        try:
            self._projection.apply(cursor, batch)
        except REFUSALS as error:
            raise as_bad_message(error) from error
        return batch, []

    def _apply_separately(self, cursor: Cursor[DictRow], batch: Records[R]) -> tuple[Records[R], list[Refused]]:
        def write(part: Records[R]) -> None:
            with cursor.connection.transaction():  # a savepoint
                self._projection.apply(cursor, part)

        return write_separately(batch, write)

    @contextmanager
    def _transaction(self) -> Iterator[Cursor[DictRow]]:
        """A cursor in a transaction. Any error but a refused value costs the connection."""
        try:
            with translated(f"projection {self._projection.name}"):
                connection = self._connected()
                with connection.transaction(), connection.cursor() as cursor:
                    yield cursor
        except BadMessage:
            raise
        except BaseException:
            self.close()
            raise

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = connect(self._postgres, role="projectors")
            idle = {"idle_ms": IDLE_IN_TRANSACTION_MS}
            self._connection.execute(queries("projectors")["end_idle_transactions"], idle)
            self._connection.commit()
        return self._connection
