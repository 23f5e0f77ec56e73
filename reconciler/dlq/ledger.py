"""What operators read and note in the ledger; each change goes to the `audit` table in the same transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from psycopg import ServerCursor
from psycopg.rows import class_row

from reconciler.dlq.letters import EVERY, WAITING, Filters, Letter, Status, letter_uuid
from runtime.clock import Clock
from runtime.postgres import Connection, translated
from runtime.queries import queries
from schemas.errors import Misconfigured

PACKAGE = "reconciler.dlq"
_FETCH_ROWS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Dead letters of one kind."""

    status: Status
    stage: str
    error_class: str
    topic: str
    count: int
    last_hour: int
    """Of them, those that failed within the last hour, and within the last day."""
    last_day: int
    first_at: datetime
    last_at: datetime


class Ledger:
    """The ledger, on behalf of one operator."""

    def __init__(self, connection: Connection, *, actor: str, clock: Clock) -> None:
        """`actor` signs every change."""
        self.connection = connection
        self.actor = actor
        self.clock = clock
        self._queries = queries(PACKAGE)

    def letters(self, filters: Filters, statuses: Sequence[Status] = WAITING) -> Iterator[Letter]:
        """Dead letters in the order in which their messages first came, a few in memory at a time."""
        parameters = {"filters": filters.json, "statuses": list(statuses)}
        with (
            translated("read the ledger"),
            self.connection.transaction(),
            ServerCursor(self.connection, "letters", row_factory=class_row(Letter)) as cursor,
        ):
            cursor.itersize = _FETCH_ROWS
            yield from cursor.execute(self._queries["letters"], parameters)

    def newest(self, filters: Filters, statuses: Sequence[Status], *, limit: int) -> list[Letter]:
        """The dead letters that failed last, the newest first."""
        parameters = {"filters": filters.json, "statuses": list(statuses), "limit": limit}
        with translated("read the ledger"), self.connection.cursor(row_factory=class_row(Letter)) as cursor:
            return cursor.execute(self._queries["newest_letters"], parameters).fetchall()

    def count(self, filters: Filters, statuses: Sequence[Status] = WAITING) -> int:
        """How many there are."""
        row = self._row("count_letters", {"filters": filters.json, "statuses": list(statuses)})
        return int(row["count"]) if row else 0

    def letter(self, letter_id: str) -> Letter:
        """One dead letter.

        Raises:
            Misconfigured: there is none with this id, or it is no id.
        """
        parameters = {"letter_id": letter_uuid(letter_id)}
        with translated("read the ledger"), self.connection.cursor(row_factory=class_row(Letter)) as cursor:
            found = cursor.execute(self._queries["letter"], parameters).fetchone()
        if found is None:
            raise Misconfigured(f"{letter_id}: there is no such dead letter")
        return found

    def stats(self, statuses: Sequence[Status] = EVERY) -> list[Group]:
        """How many of each kind there are."""
        now = self.clock.now()
        parameters = {
            "statuses": list(statuses),
            "hour_ago": now - timedelta(hours=1),
            "day_ago": now - timedelta(days=1),
        }
        with translated("read the ledger"), self.connection.cursor(row_factory=class_row(Group)) as cursor:
            return cursor.execute(self._queries["stats"], parameters).fetchall()

    def discard(self, filters: Filters, *, reason: str) -> int:
        """Give up on what waits and matches; how many there were. The messages stay in the topic."""
        parameters = {"filters": filters.json, "reason": reason, "at": self.clock.now(), "actor": self.actor}
        with translated("discard dead letters"), self.connection.transaction():
            count = self.connection.execute(self._queries["discard_letters"], parameters).rowcount
            self.note("dlq.discard", target=f"{count} dead letters: {filters}", reason=reason)
        return count

    def edit(self, letter: Letter, value: bytes, *, reason: str | None) -> bool:
        """Have this value sent in place of the original; whether the letter was still as it was looked at."""
        parameters = {
            "letter_id": letter.letter_id,
            "attempt": letter.attempt,
            "value": value,
            "at": self.clock.now(),
            "actor": self.actor,
        }
        with translated("edit a dead letter"), self.connection.transaction():
            done = self.connection.execute(self._queries["edit_letter"], parameters).rowcount == 1
            if done:
                self.note("dlq.edit", target=str(letter.letter_id), reason=reason)
        return done

    def note(self, verb: str, *, target: str, reason: str | None = None) -> None:
        """Put a line into the audit; in the transaction that is open, if one is."""
        line = {"at": self.clock.now(), "actor": self.actor, "verb": verb, "target": target, "reason": reason}
        with translated("note what is done"):
            self.connection.execute(self._queries["audit"], line)

    def _row(self, name: str, parameters: dict[str, Any]) -> dict[str, Any] | None:
        with translated("read the ledger"):
            return self.connection.execute(self._queries[name], parameters).fetchone()
