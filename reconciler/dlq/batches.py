"""What a replay carries: letters of one partition in their order, locked, and what was done with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from reconciler.dlq.sending import Content, Parcel
from runtime.postgres import Connection

BATCH_BYTES = 32 * 1024 * 1024
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


def fitting(sizes: Sequence[int]) -> int:
    """How many of these, from the first on, fit into the memory of a batch; one always does."""
    total = 0
    for count, size in enumerate(sizes):
        total += size
        if total > BATCH_BYTES:
            return max(1, count)
    return len(sizes)
