"""Batches of dead letters on their way back: chosen and locked, read and packed, sent, marked.

Guarantees: the rows of a batch are locked from the choice to the mark, so nobody edits, discards or returns what is
being sent; a row is marked only when the broker has acknowledged its message. While one batch is marked the next one is
sent, never a third: so much, and no more, is sent again after a crash. The batch after these is only made ready.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from queue import SimpleQueue
from types import TracebackType
from typing import Self

from psycopg.rows import args_row

from reconciler.dlq.batches import Batch, Chosen, Place, Summary, content_of, fitting
from reconciler.dlq.fetching import Fetcher
from reconciler.dlq.jobs import Job
from reconciler.dlq.ledger import PACKAGE
from reconciler.dlq.letters import Status
from reconciler.dlq.sending import Packing, Parcel, Sender, Sent
from runtime.clock import Clock
from runtime.postgres import Connection, connect, translated
from runtime.queries import queries
from runtime.settings import PostgresSettings
from schemas.errors import BadMessage

UNDER_WAY = 3
"""Batches that there are at a time, each with a transaction of its own: made ready, sent, marked."""


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
        taken = rows[: fitting([row.size_bytes for row in rows])]
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


def _joined(values: Iterable[str | int]) -> str:
    """A column as one text: the client makes an array of thousands item by item, at some microseconds each."""
    return " ".join(map(str, values))
