"""Brings a database to the shape that this version of Roomkeeper needs.

Guarantees: migrations run in the order of their numbers, one process at a time, each in a transaction together with the
note that it ran; a file that was changed after it ran, or a database that is ahead of this version, is refused.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files

from psycopg.rows import class_row

from runtime.postgres import Connection, connect, translated
from runtime.queries import queries
from runtime.settings import PostgresSettings
from schemas.errors import Broken, Misconfigured

_FOLDER = "runtime.migrations"
_FILE = re.compile(r"(?P<number>\d{4})_(?P<name>[a-z0-9_]+)\.sql")
_PATIENCE = {"statement_timeout_seconds": 3600.0}
"""A migration may rewrite a table, and may wait for another process that does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One numbered file."""

    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """Changes when the file does."""
        return hashlib.sha256(self.sql.encode()).hexdigest()

    def __str__(self) -> str:
        """As the file is called, without its ending."""
        return f"{self.number:04d}_{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What the database says of a migration that ran."""

    number: int
    name: str
    checksum: str
    applied_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What has run and what has not, each in order."""

    applied: tuple[Applied, ...]
    pending: tuple[Migration, ...]


def migrations() -> tuple[Migration, ...]:
    """Every migration of this version, in order.

    Raises:
        Broken: two files have one number.
    """
    found = [
        Migration(number=int(match["number"]), name=match["name"], sql=file.read_text(encoding="utf-8"))
        for file in files(_FOLDER).iterdir()
        if (match := _FILE.fullmatch(file.name))
    ]
    ordered = tuple(sorted(found, key=lambda each: each.number))
    if len({each.number for each in ordered}) != len(ordered):
        raise Broken(f"two migrations have one number: {', '.join(map(str, ordered))}")
    return ordered


def migrate(postgres: PostgresSettings) -> tuple[Migration, ...]:
    """Run what has not run yet and give that; safe to call from many processes at once.

    Raises:
        Misconfigured: the database does not fit this version's files.
        Unavailable: the database is away.
    """
    patient = postgres.model_copy(update=_PATIENCE)
    with connect(patient, role="migrate", autocommit=True) as connection, translated("migrate the database"):
        connection.execute(queries(_FOLDER)["lock"])
        connection.execute(queries(_FOLDER)["create_history"])
        pending = _status(connection).pending
        for migration in pending:
            _run(connection, migration)
    return pending


def status(postgres: PostgresSettings) -> Status:
    """What has run and what has not; changes nothing.

    Raises:
        Misconfigured: the database does not fit this version's files.
        Unavailable: the database is away.
    """
    with connect(postgres, role="migrate", autocommit=True) as connection, translated("read the database's migrations"):
        return _status(connection)


def _status(connection: Connection) -> Status:
    row = connection.execute(queries(_FOLDER)["has_history"]).fetchone()
    applied: tuple[Applied, ...] = ()
    if row is not None and row["has_history"]:
        with connection.cursor(row_factory=class_row(Applied)) as cursor:
            applied = tuple(cursor.execute(queries(_FOLDER)["read_history"]))
    known = migrations()
    for ran, migration in zip(applied, known, strict=False):
        if (ran.number, ran.checksum) != (migration.number, migration.checksum):
            raise Misconfigured(
                f"the database ran another {migration}.sql than this version has; restore the file or the database"
            )
    if len(applied) > len(known):
        raise Misconfigured(
            f"the database has migration {applied[-1].number}, this version ends at {known[-1].number}: use a newer one"
        )
    return Status(applied=applied, pending=known[len(applied) :])


def _run(connection: Connection, migration: Migration) -> None:
    with connection.transaction():
        connection.execute(migration.sql)
        note = {"number": migration.number, "name": migration.name, "checksum": migration.checksum}
        connection.execute(queries(_FOLDER)["record"], note)
