"""What a projection is: the part that knows its tables, with everything that knows Kafka left to `projectors.engine`.

The engine guarantees a projection that its rows and the offsets of the records they came from commit together, that one
partition's records come in order, and that a record may come again (after a crash, a replay, a rebuild). A projection
guarantees the engine that repeating is harmless: every write is guarded by the record's (generation, revision), so an
older or equal record changes nothing that a newer one wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from psycopg import Cursor
from psycopg.rows import DictRow

from schemas.records.tables import Revised

R = TypeVar("R")


class Consumed(NamedTuple):
    """A record as the broker has it. Build it with keywords; a tuple, for one is made per record."""

    topic: str
    """Logical name in `topics.yaml`, without the prefix."""
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class Decoded(NamedTuple, Generic[R]):
    """A record that was understood, with its coordinates. Build it with keywords."""

    record: R
    consumed: Consumed


class Projection(Protocol[R]):
    """One read model, made of one topic."""

    @property
    def name(self) -> str:
        """Names the consumer group, the stored offsets and the stage of dead letters."""

    @property
    def topic(self) -> str:
        """Logical name of the topic it reads."""

    def decode(self, consumed: Consumed) -> R:
        """The record in these bytes, everything within it decoded too, so that `apply` meets no unreadable bytes.

        Pure, and done while the batch before is being written: whatever needs no database belongs here.

        Raises:
            BadMessage: it cannot be read: it becomes a dead letter, the others go on.
        """

    def apply(self, cursor: Cursor[DictRow], batch: Sequence[Decoded[R]]) -> None:
        """Write the rows of these records, in a transaction that the engine opened and will commit.

        A batch is never empty and may hold several records of one row (keep the greatest revision; PostgreSQL refuses
        to upsert a row twice in one statement) and several partitions, which never share a row. Rows are written in the
        order of their keys, so that two processes cannot deadlock.

        Raises:
            BadMessage: one record breaks its contract. The engine halves the batch until it stands alone, as it does
                when the database refuses a value.
        """


class Rebuildable(Projection[R], Protocol[R]):
    """A projection whose tables `roomkeeper projectors rebuild` can make from a changelog alone."""

    @property
    def changelog(self) -> str:
        """Logical name of the changelog with its entries."""

    def restore(self, cursor: Cursor[DictRow], batch: Sequence[Decoded[Revised]]) -> None:
        """Write the rows of these entries under their own revisions; otherwise as `apply`."""
