"""One leader among any number of pollers: an advisory lock that lives as long as the leader's database session.

Guarantees: whoever leads asks before each call whether its session still stands, and makes none after it is gone. A
leader that is paused, cut off or killed loses the session within `succession_seconds`: the database ends a session that
is silent for so long, and with it goes the lock. A call that was under way then is an observation like any other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from psycopg.rows import dict_row

from runtime.postgres import AsyncConnection, conninfo, translated
from runtime.queries import queries
from runtime.settings import PostgresSettings

ANSWER_SECONDS = 5.0
"""A database that takes longer to say that the session stands is as good as gone."""
BEATS = 6
"""Signs of life within `succession_seconds`."""


class LeadershipLost(Exception):
    """The session, and the lock with it, is gone: another process may lead."""


class Leader:
    """A candidate for the lead, over a session of its own."""

    def __init__(self, connection: AsyncConnection) -> None:
        """`open_leader` makes it."""
        self._connection = connection

    async def try_to_lead(self) -> bool:
        """Take the lead unless somebody has it. Raises `LeadershipLost`."""
        return bool(await self._ask("try_to_lead"))

    async def lead(self, *, try_every_seconds: float) -> None:
        """Return when this process leads. Raises `LeadershipLost`."""
        while not await self.try_to_lead():  # noqa: ASYNC110 - nothing tells when another process's session ends
            await asyncio.sleep(try_every_seconds)

    async def permit(self) -> None:
        """Permit for one call.

        Raises:
            LeadershipLost: the session does not stand any more.
        """
        await self._ask("sign_of_life")

    async def beat(self, every_seconds: float) -> None:
        """Signs of life, for ever. Raises `LeadershipLost`."""
        while True:
            await asyncio.sleep(every_seconds)
            await self.permit()

    async def _ask(self, query: str) -> object:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                cursor = await self._connection.execute(queries("reconciler.poller")[query])
                row = await cursor.fetchone()
        except (psycopg.Error, OSError, TimeoutError) as error:
            raise LeadershipLost(type(error).__name__) from error
        return None if row is None else row["yes"]


@asynccontextmanager
async def open_leader(postgres: PostgresSettings, *, succession_seconds: float) -> AsyncIterator[Leader]:
    """A candidate, as long as the block lasts.

    Raises:
        Unavailable: the database is away.
    """
    silence_ms = round(succession_seconds * 1000)
    with translated("open a session for the lead"):
        connection = await AsyncConnection.connect(
            conninfo(postgres),
            autocommit=True,
            row_factory=dict_row,
            connect_timeout=round(ANSWER_SECONDS),
            application_name="roomkeeper poller lead",
            options=f"-c idle_session_timeout={silence_ms} -c statement_timeout={silence_ms}",
            keepalives_idle=5,
            keepalives_interval=5,
            keepalives_count=3,
        )
    async with connection:
        yield Leader(connection)
