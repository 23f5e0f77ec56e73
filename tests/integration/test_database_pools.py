"""Pools of connections: how a role looks to the server, and what the server's errors mean to the role."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from psycopg.errors import UniqueViolation
from pydantic import SecretStr

from runtime.postgres import AsyncDatabase, Database, connect
from runtime.settings import PostgresSettings, Settings
from schemas.errors import Broken, Misconfigured, Unavailable
from tests.stack import Stack


def test_a_connection_names_its_role_and_speaks_utc(settings: Settings) -> None:
    """The server's own views show who is who, and times come out aware, in UTC."""
    with Database(settings.postgres, role="tests") as database, database.connection("look") as connection:
        row = connection.execute(
            "SELECT current_setting('application_name') AS name, current_setting('TimeZone') AS zone, now() AS at"
        ).fetchone()
    assert row is not None
    assert (row["name"], row["zone"], str(row["at"].tzinfo)) == ("roomkeeper tests", "UTC", "UTC")


def test_a_block_is_one_transaction(settings: Settings) -> None:
    """What a block that raises wrote is gone."""
    with Database(settings.postgres, role="tests") as database:
        with database.connection("make") as connection:
            connection.execute("CREATE TABLE kept AS SELECT 1 AS n")
        with pytest.raises(ZeroDivisionError), database.connection("write") as connection:
            connection.execute("INSERT INTO kept VALUES (2)")
            raise ZeroDivisionError
        with database.connection("read") as connection:
            assert connection.execute("SELECT n FROM kept").fetchall() == [{"n": 1}]


@pytest.mark.parametrize(
    ("statement", "family", "message"),
    [
        ("SELECT * FROM no_such_table", Misconfigured, "run `roomkeeper db migrate`"),
        ("SELECT pg_sleep(30)", Unavailable, "statement timeout"),
        ("SELECT 1 / 0", Broken, "division by zero"),
        ("SELECT pg_terminate_backend(pg_backend_pid())", Unavailable, "terminating connection"),
    ],
)
async def test_the_server_s_errors_fall_into_our_families(
    settings: Settings, statement: str, family: type[Exception], message: str
) -> None:
    """The family decides what a role does; the message says what it was doing. Both kinds of pool agree."""
    postgres = settings.postgres.model_copy(update={"statement_timeout_seconds": 0.2})
    with (
        Database(postgres, role="tests") as database,
        pytest.raises(family, match=f"^testing: .*{message}"),
        database.connection("testing") as connection,
    ):
        connection.execute(statement)
    async with AsyncDatabase(postgres, role="tests") as database_of_loop:
        with pytest.raises(family, match=f"^testing: .*{message}"):
            async with database_of_loop.connection("testing") as connection_of_loop:
                await connection_of_loop.execute(statement)


def test_what_the_caller_expects_it_catches_inside(settings: Settings) -> None:
    """A key that is taken is the caller's own affair: it meets the database's error in its block."""
    with Database(settings.postgres, role="tests") as database, database.connection("insert") as connection:
        connection.execute("CREATE TABLE only_one (n integer UNIQUE)")
        connection.execute("INSERT INTO only_one VALUES (1)")
        with pytest.raises(UniqueViolation), connection.transaction():
            connection.execute("INSERT INTO only_one VALUES (1)")
        assert connection.execute("SELECT count(*) AS n FROM only_one").fetchone() == {"n": 1}


def test_errors_do_not_quote_the_values_of_a_row(settings: Settings) -> None:
    """The server's details name values, which may be somebody's: they stay out of our messages."""
    with (
        Database(settings.postgres, role="tests") as database,
        pytest.raises(Broken) as raised,
        database.connection("insert") as connection,
    ):
        connection.execute("CREATE TABLE people (email text UNIQUE)")
        connection.execute("INSERT INTO people VALUES ('ada@example.com'), ('ada@example.com')")
    assert "ada@example.com" not in str(raised.value)


async def test_a_statement_is_committed_when_it_returns(settings: Settings) -> None:
    """Others see at once what a statement outside of a transaction wrote; what follows it cannot take it back."""
    async with AsyncDatabase(settings.postgres, role="tests") as database:
        with pytest.raises(ZeroDivisionError):
            async with database.statement("make") as connection:
                await connection.execute("CREATE TABLE kept AS SELECT 1 AS n")
                raise ZeroDivisionError
        async with database.connection("read") as connection:
            assert await (await connection.execute("SELECT n FROM kept")).fetchall() == [{"n": 1}]


async def test_a_statement_that_was_broken_off_leaves_transactions_whole(settings: Settings) -> None:
    """Whoever gets the connection next has a transaction, however the statement before ended."""
    postgres = settings.postgres.model_copy(update={"pool_size": 1})
    async with AsyncDatabase(postgres, role="tests") as database:
        async with database.statement("make") as connection:
            await connection.execute("CREATE TABLE kept (n integer)")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2), database.statement("wait") as connection:
                await connection.execute("SELECT pg_sleep(30)")
        with suppress(ZeroDivisionError):
            async with database.connection("write") as connection:
                await connection.execute("INSERT INTO kept VALUES (1)")
                raise ZeroDivisionError
        async with database.connection("read") as connection:
            assert await (await connection.execute("SELECT n FROM kept")).fetchall() == []


async def test_a_pool_of_a_loop_works_again_after_the_database_was_away(private_stack: Stack) -> None:
    """A connection that the server closed while nobody used it is given to nobody."""
    server = private_stack.backing.database
    assert server is not None
    async with AsyncDatabase(private_stack.settings.postgres, role="tests") as database:
        async with database.statement("read") as connection:
            await connection.execute("SELECT 1")
        server.kill()
        server.start()
        async with database.statement("read") as connection:
            assert await (await connection.execute("SELECT 1 AS n")).fetchone() == {"n": 1}


def test_a_pool_works_again_after_the_database_was_away(private_stack: Stack) -> None:
    """While the server is down the work is unavailable; once it is back, the first try works, on the same pool."""
    server = private_stack.backing.database
    assert server is not None
    with Database(private_stack.settings.postgres, role="tests") as database:
        with database.connection("read") as connection:
            connection.execute("SELECT 1")
        server.kill()
        with pytest.raises(Unavailable), database.connection("read") as connection:
            connection.execute("SELECT 1")
        server.start()
        with database.connection("read") as connection:
            assert connection.execute("SELECT 1 AS n").fetchone() == {"n": 1}


def test_a_database_that_is_not_set_is_named() -> None:
    """The message names the variable and another way."""
    with pytest.raises(Misconfigured, match="ROOMKEEPER_POSTGRES__DSN: not set"):
        Database(PostgresSettings(dsn=None), role="tests")


def test_an_address_that_nobody_answers_is_unavailable() -> None:
    """A refused connection may be answered later."""
    with pytest.raises(Unavailable, match="connect to PostgreSQL"):
        connect(PostgresSettings(dsn=SecretStr("postgresql://u@127.0.0.1:1/x")), role="tests")


def test_a_transaction_that_stands_idle_lets_go_of_its_locks(settings: Settings) -> None:
    """A process that is paused in the middle of a transaction keeps nobody from its rows, and learns it afterwards."""
    postgres = settings.postgres.model_copy(update={"statement_timeout_seconds": 1.0})
    with (
        Database(postgres, role="tests") as database,
        connect(settings.postgres, role="tests", autocommit=True) as other,
        pytest.raises(Unavailable, match="idle-in-transaction timeout"),
        database.connection("testing") as paused,
    ):
        other.execute("CREATE TABLE held AS SELECT 1 AS n")
        paused.execute("SELECT n FROM held FOR UPDATE")
        assert other.execute("UPDATE held SET n = 2 RETURNING n").fetchone() == {"n": 2}
        paused.execute("SELECT n FROM held")
