"""Putting dead letters back: in the original order of each partition, once, and as far as a job's bound.

Guarantees: a message is marked as replayed in the ledger only when the broker has acknowledged it, and both belong to
one transaction of the ledger; of two replays at once one waits for the other at each partition, and then finds nothing
left; what arrives or comes back after a job was made is not taken by it. A crash between acknowledgement and mark sends
a batch again when the job is resumed, which is harmless to those who read it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event
from typing import Any
from uuid import UUID

from psycopg.rows import DictRow

from reconciler.dlq.fetching import Fetcher
from reconciler.dlq.jobs import Job, Jobs
from reconciler.dlq.ledger import PACKAGE
from reconciler.dlq.letters import Status
from reconciler.dlq.sending import Content, Packing, Parcel, Sender
from runtime.clock import Clock
from runtime.postgres import Connection, translated
from runtime.queries import queries
from schemas.errors import BadMessage

BATCH_LETTERS = 5_000
BATCH_BYTES = 64 * 1024 * 1024
LOCK_WAIT_SECONDS = 0.5
"""How often a partition that another replay is at is asked for again."""
_FIRST = (-2, UUID(int=0))

Advance = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to replay."""

    statuses: tuple[Status, ...] = ("open",)
    """With `held`, messages that came back too often go too."""
    rate: float | None = None
    """Messages a second, at most."""
    limit: int | None = None
    """Messages in all, at most."""


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


class Replay:
    """One run of a job."""

    def __init__(
        self,
        connection: Connection,
        *,
        job: Job,
        jobs: Jobs,
        fetcher: Fetcher,
        packing: Packing,
        sender: Sender,
        options: Options,
        clock: Clock,
        actor: str,
    ) -> None:
        """The parts; `connection` is this replay's own, for it holds locks."""
        self._connection = connection
        self._job = job
        self._jobs = jobs
        self._fetcher = fetcher
        self._packing = packing
        self._sender = sender
        self._options = options
        self._clock = clock
        self._actor = actor
        self._queries = queries(PACKAGE)
        self._pause = Event()

    def run(self, advance: Advance) -> Summary:
        """Send what the job is to send, until nothing is left, the limit is reached or the job is cancelled.

        Raises:
            Unavailable: the broker or the database is away; the job can be resumed.
        """
        summary = Summary()
        began = self._clock.monotonic_seconds()
        for topic, partition in self._partitions():
            with self._alone(topic, partition):
                after = _FIRST
                while not summary.cancelled and (room := self._room(summary)):
                    done, after, more = self._batch(topic, partition, after=after, room=room)
                    summary = summary.plus(done)
                    advance(done.taken)
                    self._slow_down(summary, began)
                    if not more:
                        break
        if not summary.cancelled and self._room(summary):
            self._jobs.end(self._job.job, "done")
        return summary

    def _partitions(self) -> Sequence[tuple[str, int]]:
        with translated("replay dead letters"), self._connection.transaction():
            rows = self._connection.execute(self._queries["replay_partitions"], self._which()).fetchall()
        return [(row["topic"], row["partition"]) for row in rows]

    def _batch(
        self, topic: str, partition: int, *, after: tuple[int, UUID], room: int
    ) -> tuple[Summary, tuple[int, UUID], bool]:
        """The next messages; gives what was done, the last of them, and whether there may be more."""
        if self._jobs.is_cancelled(self._job.job):
            return Summary(cancelled=True), after, False
        where = {"topic": topic, "partition": partition, "after_offset": after[0], "after_id": after[1], "limit": room}
        with translated("replay dead letters"), self._connection.transaction():
            rows = self._connection.execute(self._queries["next_letters"], self._which() | where).fetchall()
            if not rows:
                return Summary(), after, False
            taken = rows[: _fitting([row["size_bytes"] for row in rows])]
            done = self._send(taken)
        more = len(taken) < len(rows) or len(rows) == room
        return done, (taken[-1]["at_offset"], taken[-1]["letter_id"]), more

    def _send(self, rows: Sequence[DictRow]) -> Summary:
        if self._packing.refusal(rows[0]["topic"]) is not None:
            return Summary(refused=len(rows))
        messages = self._fetcher.fetch((row["letter_partition"], row["letter_offset"]) for row in rows)
        there, expired = [], []
        for row in rows:
            message = messages.get((row["letter_partition"], row["letter_offset"]))
            if message is None:
                expired.append(row["letter_id"])
            else:
                there.append((row, message))
        parcels: list[tuple[UUID, Parcel]] = []
        refused = 0
        for row, message in there:
            try:
                parcels.append((row["letter_id"], self._packing.pack(content_of(row, message))))
            except BadMessage:
                refused += 1
        sent = self._sender.send([parcel for _, parcel in parcels])
        marks = {
            "letter_id": [letter_id for letter_id, _ in parcels],
            "sent_partition": [each.partition for each in sent],
            "sent_offset": [each.offset for each in sent],
        }
        self._mark("mark_replayed", marks)
        if expired:
            self._mark("mark_expired", {"letter_id": expired})
        return Summary(sent=len(sent), expired=len(expired), refused=refused)

    def _mark(self, query: str, columns: dict[str, Any]) -> None:
        if columns["letter_id"]:
            common = {"at": self._clock.now(), "actor": self._actor, "job": self._job.job}
            self._connection.execute(self._queries[query], columns | common)

    def _which(self) -> dict[str, Any]:
        return {
            "filters": self._job.filters,
            "bound": self._job.bound,
            "statuses": list(self._options.statuses),
        }

    def _room(self, summary: Summary) -> int:
        """How many may be taken next."""
        left = BATCH_LETTERS if self._options.limit is None else max(0, self._options.limit - summary.sent)
        smooth = BATCH_LETTERS if self._options.rate is None else max(1, round(self._options.rate / 4))
        return min(BATCH_LETTERS, left, smooth)

    def _slow_down(self, summary: Summary, began_seconds: float) -> None:
        if self._options.rate is not None:
            due_seconds = began_seconds + summary.sent / self._options.rate
            self._pause.wait(max(0.0, due_seconds - self._clock.monotonic_seconds()))

    @contextmanager
    def _alone(self, topic: str, partition: int) -> Iterator[None]:
        """Be the only replay at this partition; wait while another is."""
        place = {"topic": topic, "partition": partition}
        while not self._try_lock(place):
            self._pause.wait(LOCK_WAIT_SECONDS)
        try:
            yield
        finally:
            if not self._connection.broken:
                self._connection.execute(self._queries["unlock_partition"], place)
                self._connection.commit()

    def _try_lock(self, place: dict[str, Any]) -> bool:
        with translated("replay dead letters"), self._connection.transaction():
            row = self._connection.execute(self._queries["lock_partition"], place).fetchone()
        return bool(row and row["locked"])


def _fitting(sizes: Sequence[int]) -> int:
    """How many of these, from the first on, fit into the memory of a batch; one always does."""
    total = 0
    for count, size in enumerate(sizes):
        total += size
        if total > BATCH_BYTES:
            return max(1, count)
    return len(sizes)


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
