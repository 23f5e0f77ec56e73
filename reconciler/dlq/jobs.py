"""Replays by name: what each is to take, and whether it is still wanted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import orjson
from psycopg.rows import class_row

from reconciler.dlq.ledger import PACKAGE, Ledger
from reconciler.dlq.letters import Filters
from runtime.postgres import translated
from runtime.queries import queries
from schemas.errors import Misconfigured


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A replay that has a name."""

    job: str
    filters: str
    """`Filters.json`."""
    bound: int
    """It takes nothing that arrived or came back after this change of the ledger."""
    status: str
    created_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProgress:
    """A job as it is listed."""

    job: str
    filters: dict[str, Any]
    status: str
    created_at: datetime
    created_by: str
    ended_at: datetime | None
    sent: int
    returned: int


class Jobs:
    """The table of jobs."""

    def __init__(self, ledger: Ledger) -> None:
        """`ledger` has the connection and the operator."""
        self._ledger = ledger
        self._connection = ledger.connection
        self._queries = queries(PACKAGE)

    def filters_of(self, name: str) -> Filters:
        """What the job of this name takes; everything when there is none yet."""
        with translated("look at a replay"), self._connection.transaction():
            row = self._connection.execute(self._queries["job"], {"job": name}).fetchone()
        return Filters() if row is None else Filters.from_json(_text(row["filters"]))

    def begin(self, name: str, filters: Filters) -> Job:
        """The job of this name: made now with these filters, or taken up again where it ended.

        Raises:
            Misconfigured: it exists with other filters.
        """
        parameters = {
            "job": name,
            "filters": filters.json,
            "at": self._ledger.clock.now(),
            "actor": self._ledger.actor,
        }
        with translated("begin a replay"), self._connection.transaction():
            made = self._connection.execute(self._queries["create_job"], parameters).rowcount == 1
            job = self._find(name)
            if not made and filters.named and filters.json != job.filters:
                raise Misconfigured(f"--job {name}: exists with other filters ({job.filters}); resume it without any")
            if not made and job.status != "running":
                self._connection.execute(self._queries["reopen_job"], parameters)
            self._ledger.note("dlq.replay", target=f"job {name}: {job.filters}")
        return job

    def end(self, name: str, status: Literal["done", "cancelled"]) -> bool:
        """End a running job; whether it was running."""
        parameters = {"job": name, "status": status, "at": self._ledger.clock.now()}
        with translated("end a replay"), self._connection.transaction():
            ended = self._connection.execute(self._queries["end_job"], parameters).rowcount == 1
            if ended and status == "cancelled":
                self._ledger.note("dlq.cancel", target=f"job {name}")
        return ended

    def is_cancelled(self, name: str) -> bool:
        """Whether an operator wants it to stop."""
        with translated("look at a replay"), self._connection.transaction():
            return self._find(name).status == "cancelled"

    def list(self) -> list[JobProgress]:
        """All jobs, the newest first."""
        with translated("list replays"), self._connection.cursor(row_factory=class_row(JobProgress)) as cursor:
            return cursor.execute(self._queries["jobs"]).fetchall()

    def find(self, name: str) -> Job:
        """The job of this name.

        Raises:
            Misconfigured: there is none.
        """
        with translated("look at a replay"), self._connection.transaction():
            return self._find(name)

    def _find(self, name: str) -> Job:
        row = self._connection.execute(self._queries["job"], {"job": name}).fetchone()
        if row is None:
            raise Misconfigured(f"{name}: there is no such replay; see `roomkeeper dlq jobs`")
        return Job(
            job=row["job"],
            filters=_text(row["filters"]),
            bound=row["bound"],
            status=row["status"],
            created_by=row["created_by"],
        )


def _text(filters: dict[str, Any]) -> str:
    return orjson.dumps(filters, option=orjson.OPT_SORT_KEYS).decode()
