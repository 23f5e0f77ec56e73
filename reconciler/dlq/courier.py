"""Batches of dead letters on their way back: chosen and locked, read, sent, marked.

Guarantees: the rows of a batch are locked from the choice to the mark, so nobody edits, discards or returns what is
being sent; a row is marked only when the broker has acknowledged its message. While one batch is marked the next one is
read and sent, never a third: so much, and no more, is sent again after a crash.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from psycopg.rows import DictRow

from reconciler.dlq.fetching import Fetcher
from reconciler.dlq.jobs import Job
from reconciler.dlq.ledger import PACKAGE
from reconciler.dlq.letters import Status
from reconciler.dlq.sending import Content, Packing, Parcel, Sender, Sent
from runtime.clock import Clock
from runtime.postgres import Connection, connect, translated
from runtime.queries import queries
from runtime.settings import PostgresSettings
from schemas.errors import BadMessage

BATCH_BYTES = 64 * 1024 * 1024
Place = tuple[int, UUID]
"""A letter's place in its partition's original order: its offset there, and its id."""
FIRST: Place = (-2, UUID(int=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a replay did."""

    sent: int = 0
    expired: int = 0
    """No longer in the topic: retention was faster."""
    refused: int = 0
    """Not sent: their topic takes no replays, or they are sealed with a key that is not held."""
    cancelled: bool = False

    def plus(self, other: Summary) -> Summary:
        """Both together."""
        return Summary(
            sent=self.sent + other.sent,
            expired=self.expired + other.expired,
            refused=self.refused + other.refused,
            cancelled=self.cancelled or other.cancelled,
        )

    @property
    def taken(self) -> int:
        """All that was looked at."""
        return self.sent + self.expired + self.refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Letters of one partition, in order, and the connection whose transaction has them locked."""

    connection: Connection
    rows: Sequence[DictRow]
    more: bool
    """Whether others may follow."""

    @property
    def last(self) -> Place:
        """Where the next batch goes on."""
        return self.rows[-1]["at_offset"], self.rows[-1]["letter_id"]


class Courier:
    """Carries batches for one job. Use it as a context manager: leaving it waits for the mark that is under way."""

    def __init__(
        self,
        postgres: PostgresSettings,
        *,
        job: Job,
        statuses: Sequence[Status],
        fetcher: Fetcher,
        packing: Packing,
        sender: Sender,
        clock: Clock,
        actor: str,
    ) -> None:
        """Connects when the context is entered."""
        self._postgres = postgres
        self._job = job.job
        self._which = {"filters": job.filters, "bound": job.bound, "statuses": list(statuses)}
        self._fetcher = fetcher
        self._packing = packing
        self._sender = sender
        self._clock = clock
        self._actor = actor
        self._queries = queries(PACKAGE)
        self._stack = ExitStack()
        self._marker = ThreadPoolExecutor(1, thread_name_prefix="dlq-marker")
        self._connections: deque[Connection] = deque()
        self._marking: Future[None] | None = None

    def __enter__(self) -> Self:
        """Open the two connections that take turns."""
        for _ in range(2):
            connection = self._stack.enter_context(connect(self._postgres, role="dlq"))
            connection.execute(self._queries["plan_by_index"])
            connection.commit()
            self._connections.append(connection)
        self._stack.enter_context(self._marker)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close them; what is not marked by now is given up, and goes again when the job is resumed."""
        self._stack.__exit__(kind, error, trace)

    def take(self, topic: str, partition: int, *, after: Place, limit: int) -> Batch | None:
        """The next letters of a partition, locked; None when there are none."""
        connection = self._connections[0]
        where = {"topic": topic, "partition": partition, "after_offset": after[0], "after_id": after[1], "limit": limit}
        with translated("replay dead letters"):
            rows = connection.execute(self._queries["next_letters"], self._which | where).fetchall()
            if not rows:
                connection.rollback()
                return None
        taken = rows[: _fitting([row["size_bytes"] for row in rows])]
        return Batch(connection=connection, rows=taken, more=len(taken) < len(rows) or len(rows) == limit)

    def send(self, batch: Batch) -> Summary:
        """Send a batch; it is acknowledged when this returns, and its mark under way.

        Raises:
            Unavailable: it was not acknowledged, or the batch before it could not be marked.
        """
        there, expired = self._there(batch.rows)
        parcels = self._packed(there)
        sent = self._sender.send([parcel for _, parcel in parcels])
        self.wait()
        letters = [row["letter_id"] for row, _ in parcels]
        self._marking = self._marker.submit(self._mark, batch.connection, letters, sent, expired)
        self._connections.rotate()
        return Summary(sent=len(sent), expired=len(expired), refused=len(there) - len(parcels))

    def wait(self) -> None:
        """Until every batch that was sent is marked.

        Raises:
            Unavailable: the database is away; the batch goes again when the job is resumed.
        """
        marking, self._marking = self._marking, None
        if marking is not None:
            marking.result()

    def _there(self, rows: Sequence[DictRow]) -> tuple[list[tuple[DictRow, Any]], list[UUID]]:
        """The rows whose messages the topic still has, with these; and the others' ids."""
        messages = self._fetcher.fetch((row["letter_partition"], row["letter_offset"]) for row in rows)
        there, expired = [], []
        for row in rows:
            message = messages.get((row["letter_partition"], row["letter_offset"]))
            if message is None:
                expired.append(row["letter_id"])
            else:
                there.append((row, message))
        return there, expired

    def _packed(self, there: Sequence[tuple[DictRow, Any]]) -> list[tuple[DictRow, Parcel]]:
        parcels = []
        for row, message in there:
            try:
                parcels.append((row, self._packing.pack(content_of(row, message))))
            except BadMessage:
                continue  # sealed with a key that is not held: it counts as refused, and waits
        return parcels

    def _mark(self, connection: Connection, letters: list[UUID], sent: list[Sent], expired: list[UUID]) -> None:
        common = {"at": self._clock.now(), "actor": self._actor, "job": self._job}
        with translated("mark what was replayed"):
            if letters:
                columns = {
                    "letter_id": letters,
                    "sent_partition": [each.partition for each in sent],
                    "sent_offset": [each.offset for each in sent],
                }
                connection.execute(self._queries["mark_replayed"], columns | common)
            if expired:
                connection.execute(self._queries["mark_expired"], {"letter_id": expired} | common)
            connection.commit()


def content_of(row: DictRow, message: Any) -> Content:
    """A dead letter's content, from its row and its message."""
    content = Content(
        topic=row["topic"],
        partition=row["partition"],
        sealed=row["sealed"],
        key=message.key(),
        value=message.value(),
        headers=message.headers() or [],
    )
    return content if row["edited_value"] is None else replace(content, value=row["edited_value"])


def _fitting(sizes: Sequence[int]) -> int:
    """How many of these, from the first on, fit into the memory of a batch; one always does."""
    total = 0
    for count, size in enumerate(sizes):
        total += size
        if total > BATCH_BYTES:
            return max(1, count)
    return len(sizes)
