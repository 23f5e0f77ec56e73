"""Migrations: in order, once, one process at a time, and never past a file that changed."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from psycopg import sql

from runtime import migrate as migrating
from runtime.migrate import Migration, migrate, migrations, status
from runtime.postgres import connect
from runtime.settings import PostgresSettings
from schemas.errors import Broken, Misconfigured
from tests.stack import Stack, at_database

ONE = Migration(number=1, name="one", sql="CREATE TABLE one (n integer); INSERT INTO one VALUES (1);")
TWO = Migration(number=2, name="two", sql="ALTER TABLE one ADD COLUMN m integer;")
BAD = Migration(number=2, name="bad", sql="CREATE TABLE half (n integer); SELECT 1 / 0;")


@pytest.fixture
def empty(stack: Stack) -> Iterator[PostgresSettings]:
    """A database with nothing in it."""
    name = sql.Identifier(f"empty_{uuid.uuid4().hex[:8]}")
    with connect(stack.settings.postgres, role="tests", autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(name))
        try:
            yield at_database(stack.settings.postgres, name.as_string().strip('"'))
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def use(monkeypatch: pytest.MonkeyPatch, *files: Migration) -> None:
    """Let this version of Roomkeeper have these migrations."""
    monkeypatch.setattr(migrating, "migrations", lambda: files)


def tables(postgres: PostgresSettings) -> set[str]:
    """The names of the tables that are there."""
    with connect(postgres, role="tests") as connection:
        rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        return {row["tablename"] for row in rows}


def test_the_files_of_this_version_run_on_an_empty_database(empty: PostgresSettings) -> None:
    """Every file runs once; the second time there is nothing to do."""
    before = status(empty)
    done = migrate(empty)
    assert (before.applied, before.pending) == ((), done)
    assert done == migrations()
    assert migrate(empty) == ()
    assert [applied.number for applied in status(empty).applied] == [each.number for each in done]


def test_asking_for_the_status_changes_nothing(empty: PostgresSettings) -> None:
    """Looking makes no table."""
    status(empty)
    assert tables(empty) == set()


def test_many_processes_may_migrate_at_once(empty: PostgresSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of them does the work, the others wait for it and find it done."""
    use(monkeypatch, ONE, TWO)
    with ThreadPoolExecutor(4) as threads:
        done = list(threads.map(migrate, [empty] * 4))
    assert sorted(map(len, done)) == [0, 0, 0, 2]


def test_a_migration_that_fails_leaves_nothing_of_itself(
    empty: PostgresSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What ran before it stays; it runs again, mended, the next time."""
    use(monkeypatch, ONE, BAD)
    with pytest.raises(Broken, match="division by zero"):
        migrate(empty)
    assert tables(empty) == {"schema_migrations", "one"}

    use(monkeypatch, ONE, TWO)
    assert migrate(empty) == (TWO,)


def test_a_file_that_changed_after_it_ran_is_refused(empty: PostgresSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database's shape is what the files say, or nothing is done."""
    use(monkeypatch, ONE)
    migrate(empty)
    use(monkeypatch, replace(ONE, sql=ONE.sql + " -- changed"), TWO)
    with pytest.raises(Misconfigured, match=r"the database ran another 0001_one\.sql than this version has"):
        migrate(empty)


def test_a_database_that_is_ahead_is_refused(empty: PostgresSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old version does not work on a database of a newer one."""
    use(monkeypatch, ONE, TWO)
    migrate(empty)
    use(monkeypatch, ONE)
    with pytest.raises(Misconfigured, match="the database has migration 2, this version ends at 1"):
        status(empty)


def test_a_checksum_follows_the_text() -> None:
    """The note in the database tells one text from another."""
    assert ONE.checksum == hashlib.sha256(ONE.sql.encode()).hexdigest()
