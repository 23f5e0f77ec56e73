"""PostgreSQL for every role: pools of connections, and what the database's errors mean.

Guarantees: each connection names its role to the server, ends statements that take too long, speaks UTC and gives rows
as dictionaries. `connection()` is one transaction: committed when its block ends, rolled back when it raises. Errors of
the database that leave the block do so in one of Roomkeeper's families; what the caller expects (a unique key that is
taken) it catches inside.
"""

from __future__ import annotations

import select
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import TracebackType
from typing import Any, Self

import psycopg
from psycopg import errors
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool, PoolTimeout

from runtime.settings import PostgresSettings
from schemas.errors import Broken, Misconfigured, Unavailable

CONNECT_SECONDS = 5
WAIT_SECONDS = 5.0
"""How long a caller waits for a connection before the database counts as unavailable."""
RECONNECT_SECONDS = 2.0
"""How long the pool tries by itself. Its pauses double: after a long outage, a long one would outlast it."""

Connection = psycopg.Connection[DictRow]
AsyncConnection = psycopg.AsyncConnection[DictRow]


def conninfo(postgres: PostgresSettings) -> str:
    """The database's address.

    Raises:
        Misconfigured: none is set.
    """
    if postgres.dsn is None:
        raise Misconfigured("ROOMKEEPER_POSTGRES__DSN: not set; name a database, or run `roomkeeper up`")
    return postgres.dsn.get_secret_value()


def connect(postgres: PostgresSettings, *, role: str, autocommit: bool = False) -> Connection:
    """One connection outside any pool, for locks that live as long as it and for work before the pools exist."""
    with translated("connect to PostgreSQL"):
        return Connection.connect(conninfo(postgres), autocommit=autocommit, **_arguments(postgres, role))


class Database:
    """A pool of connections for threads."""

    def __init__(self, postgres: PostgresSettings, *, role: str) -> None:
        """Nothing is opened before the context is entered."""
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            conninfo(postgres),
            connection_class=Connection,
            check=_check,  # after a restart of the database, no caller meets a dead connection
            **_pool_arguments(postgres, role),
        )

    def __enter__(self) -> Self:
        """Open the pool; a database that is away shows at the first use."""
        self._pool.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close every connection."""
        self._pool.close()

    @contextmanager
    def connection(self, doing: str) -> Iterator[Connection]:
        """A connection in a transaction; `doing` names the work in the error, should there be one.

        Raises:
            Unavailable: the database is away, too slow, or gave up the transaction; doing it again may work.
            Misconfigured: rights, tables or columns are missing.
            Broken: the database refuses the statement or the values for good.
        """
        with translated(doing), self._pool.connection() as connection:
            yield connection


class AsyncDatabase:
    """A pool of connections for one event loop."""

    def __init__(self, postgres: PostgresSettings, *, role: str, idle_seconds: float | None = None) -> None:
        """Nothing is opened before the context is entered.

        A transaction that stands idle for `idle_seconds` is ended by the server, with its locks; None is as long as a
        statement may take.
        """
        self._pool: AsyncConnectionPool[AsyncConnection] = AsyncConnectionPool(
            conninfo(postgres),
            connection_class=AsyncConnection,
            check=_check_async,
            **_pool_arguments(postgres, role, idle_seconds=idle_seconds),
        )

    async def __aenter__(self) -> Self:
        """Open the pool; a database that is away shows at the first use."""
        await self._pool.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close every connection."""
        await self._pool.close()

    @asynccontextmanager
    async def connection(self, doing: str) -> AsyncIterator[AsyncConnection]:
        """A connection in a transaction; errors as for `Database.connection`."""
        with translated(doing):
            async with self._pool.connection() as connection:
                yield connection

    @asynccontextmanager
    async def statement(self, doing: str) -> AsyncIterator[AsyncConnection]:
        """A connection on which each statement is a transaction by itself, committed when it returns.

        It saves the way to the server and back that BEGIN and COMMIT cost. Errors as for `Database.connection`.
        """
        with translated(doing):
            async with self._pool.connection() as connection:
                await connection.set_autocommit(True)
                try:
                    yield connection
                finally:
                    await _end_autocommit(connection)


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Raise the database's errors as Roomkeeper's; `doing` says what was being done."""
    try:
        yield
    except (errors.UndefinedTable, errors.UndefinedColumn, errors.UndefinedFunction) as error:
        raise Misconfigured(f"{doing}: {_line(error)}; run `roomkeeper db migrate`") from error
    except errors.InsufficientPrivilege as error:
        raise Misconfigured(f"ROOMKEEPER_POSTGRES__DSN: {doing}: {_line(error)}") from error
    except (
        psycopg.OperationalError,
        psycopg.InterfaceError,
        errors.IdleInTransactionSessionTimeout,  # this process was paused, and its locks were taken from it
        errors.ReadOnlySqlTransaction,  # a standby that is not yet the primary, or no longer
        PoolTimeout,
        OSError,
    ) as error:
        raise Unavailable(f"{doing}: {_line(error)}") from error
    except psycopg.Error as error:
        raise Broken(f"{doing}: {_line(error)}") from error


def _check(connection: Connection) -> None:
    """Ask the server whether it is there, where something has come over the connection while nobody used it."""
    if _has_something_to_say(connection):
        ConnectionPool.check_connection(connection)


async def _check_async(connection: AsyncConnection) -> None:
    if _has_something_to_say(connection):
        await AsyncConnectionPool.check_connection(connection)


async def _end_autocommit(connection: AsyncConnection) -> None:
    """Whoever takes the connection next relies on its transactions: one that was broken off goes back to nobody."""
    try:
        await connection.set_autocommit(False)
    except psycopg.Error:
        await connection.close()


def _has_something_to_say(connection: psycopg.BaseConnection[DictRow]) -> bool:
    """A server that ends closes its connections, and the end of a connection can be read; a sound one is silent."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def _line(error: Exception) -> str:
    """The first line of the database's message: its details may quote the values of a row."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def _arguments(postgres: PostgresSettings, role: str) -> dict[str, Any]:
    timeout_ms = round(postgres.statement_timeout_seconds * 1000)
    return {
        "row_factory": dict_row,
        "connect_timeout": CONNECT_SECONDS,
        "application_name": f"roomkeeper {role}",
        # What the roles ask for lies in memory or on solid state disks: the next page costs little less than any other.
        "options": f"-c statement_timeout={timeout_ms} -c timezone=UTC -c random_page_cost=1.1",
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": timeout_ms + 5_000,
    }


def _pool_arguments(postgres: PostgresSettings, role: str, *, idle_seconds: float | None = None) -> dict[str, Any]:
    """For a pool. A process that is paused in the middle of a transaction keeps nobody from the rows it has locked."""
    arguments = _arguments(postgres, role)
    idle_ms = round((postgres.statement_timeout_seconds if idle_seconds is None else idle_seconds) * 1000)
    arguments["options"] += f" -c idle_in_transaction_session_timeout={idle_ms}"
    return {
        "kwargs": arguments,
        "min_size": 1,
        "max_size": postgres.pool_size,
        "timeout": WAIT_SECONDS,
        "reconnect_timeout": RECONNECT_SECONDS,
        "name": role,
        "open": False,
        "num_workers": 1,
    }
