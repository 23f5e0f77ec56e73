"""Batches of dead letters on their way back: chosen and locked, read and packed, sent, marked.

Guarantees: the rows of a batch are locked from the choice to the mark, so nobody edits, discards or returns what is
being sent; a row is marked only when the broker has acknowledged its message. While one batch is marked the next one is
sent, never a third: so much, and no more, is sent again after a crash. The batch after these is only made ready.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from queue import SimpleQueue
from types import TracebackType
from typing import Any, NamedTuple, Self
from uuid import UUID

from psycopg.rows import args_row

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

BATCH_BYTES = 32 * 1024 * 1024
UNDER_WAY = 3
"""Batches that there are at a time, each with a transaction of its own: made ready, sent, marked."""
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


class Chosen(NamedTuple):
    """What a replay needs of a row of the ledger, in the order of the query's columns."""

    letter_id: UUID
    row: str
    """Where the row lies in its table, for as long as it is locked."""
    topic: str
    partition: int
    at_offset: int
    size_bytes: int
    sealed: bool
    letter_partition: int
    letter_offset: int
    edited_value: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Letters of one partition, in order, and the connection whose transaction has them locked."""

    connection: Connection
    last: Place
    """Where the next batch goes on."""
    more: bool
    """Whether others may follow."""
    rows: Sequence[str]
    """The rows of the parcels."""
    parcels: Sequence[Parcel]
    expired: Sequence[str]
    """The rows of letters that the topic has no more."""
    refused: int

    @property
    def count(self) -> int:
        """How many letters it holds."""
        return len(self.parcels) + len(self.expired) + self.refused


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
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="dlq-reader")
        self._marker = ThreadPoolExecutor(1, thread_name_prefix="dlq-marker")
        self._free: SimpleQueue[Connection] = SimpleQueue()
        self._marking: Future[None] | None = None

    def __enter__(self) -> Self:
        """Open the connections that take turns."""
        for _ in range(UNDER_WAY):
            connection = self._stack.enter_context(connect(self._postgres, role="dlq"))
            connection.execute(self._queries["settle_session"])
            connection.commit()
            self._free.put(connection)
        self._stack.enter_context(self._reader)
        self._stack.enter_context(self._marker)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close them; what is not marked by now is given up, and goes again when the job is resumed."""
        self._stack.__exit__(kind, error, trace)

    def prepare(self, topic: str, partition: int, *, after: Place, limit: int) -> Future[Batch | None]:
        """The next letters of a partition, locked and packed, meanwhile; None when there are none."""
        return self._reader.submit(self._prepare, topic, partition, after=after, limit=limit)

    def send(self, batch: Batch) -> Summary:
        """Send a batch; it is acknowledged when this returns, and its mark under way.

        Raises:
            Unavailable: it was not acknowledged, or the batch before it could not be marked.
        """
        sent = self._sender.send(batch.parcels)
        self.wait()
        self._marking = self._marker.submit(self._mark, batch, sent)
        return Summary(sent=len(sent), expired=len(batch.expired), refused=batch.refused)

    def drop(self, batch: Batch) -> None:
        """Send none of a batch; its letters wait as before."""
        with translated("replay dead letters"):
            batch.connection.rollback()
        self._free.put(batch.connection)

    def wait(self) -> None:
        """Until every batch that was sent is marked.

        Raises:
            Unavailable: the database is away; the batch goes again when the job is resumed.
        """
        marking, self._marking = self._marking, None
        if marking is not None:
            marking.result()

    def _prepare(self, topic: str, partition: int, *, after: Place, limit: int) -> Batch | None:
        connection = self._free.get()
        where = {"topic": topic, "partition": partition, "after_offset": after[0], "after_id": after[1], "limit": limit}
        with translated("replay dead letters"), connection.cursor(binary=True, row_factory=args_row(Chosen)) as cursor:
            rows = cursor.execute(self._queries["next_letters"], self._which | where).fetchall()
            if not rows:
                connection.rollback()
                self._free.put(connection)
                return None
        taken = rows[: _fitting([row.size_bytes for row in rows])]
        return self._packed(connection, taken, more=len(taken) < len(rows) or len(rows) == limit)

    def _packed(self, connection: Connection, rows: Sequence[Chosen], *, more: bool) -> Batch:
        messages = self._fetcher.fetch((row.letter_partition, row.letter_offset) for row in rows)
        sendable: list[str] = []
        parcels: list[Parcel] = []
        expired: list[str] = []
        for row in rows:
            message = messages.get((row.letter_partition, row.letter_offset))
            if message is None:
                expired.append(row.row)
                continue
            try:
                parcels.append(self._packing.pack(content_of(row, message)))
                sendable.append(row.row)
            except BadMessage:
                continue  # sealed with a key that is not held: it counts as refused, and waits
        return Batch(
            connection=connection,
            last=(rows[-1].at_offset, rows[-1].letter_id),
            more=more,
            rows=sendable,
            parcels=parcels,
            expired=expired,
            refused=len(rows) - len(parcels) - len(expired),
        )

    def _mark(self, batch: Batch, sent: Sequence[Sent]) -> None:
        common = {"at": self._clock.now(), "actor": self._actor, "job": self._job}
        with translated("mark what was replayed"):
            if sent:
                columns = {
                    "row": _joined(batch.rows),
                    "sent_partition": _joined(each.partition for each in sent),
                    "sent_offset": _joined(each.offset for each in sent),
                }
                batch.connection.execute(self._queries["mark_replayed"], columns | common)
            if batch.expired:
                batch.connection.execute(self._queries["mark_expired"], {"row": _joined(batch.expired)} | common)
            batch.connection.commit()
        self._free.put(batch.connection)


def content_of(row: Chosen, message: Any) -> Content:
    """A dead letter's content, from its row and its message."""
    return Content(
        topic=row.topic,
        partition=row.partition,
        sealed=row.sealed,
        key=message.key(),
        value=message.value() if row.edited_value is None else row.edited_value,
        headers=message.headers() or [],
    )


def _joined(values: Iterable[str | int]) -> str:
    """A column as one text: the client makes an array of thousands item by item, at some microseconds each."""
    return " ".join(map(str, values))


def _fitting(sizes: Sequence[int]) -> int:
    """How many of these, from the first on, fit into the memory of a batch; one always does."""
    total = 0
    for count, size in enumerate(sizes):
        total += size
        if total > BATCH_BYTES:
            return max(1, count)
    return len(sizes)
