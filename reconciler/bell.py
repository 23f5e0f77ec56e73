"""A bell that PostgreSQL rings: LISTEN over a connection of its own.

Guarantees: a notification that comes while the connection stands rings the bell; so does every new connection, since
notifications may have been missed before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, LiteralString

import psycopg
import structlog

from runtime.postgres import conninfo
from runtime.settings import PostgresSettings

RECONNECT_SECONDS = 1.0
_ALIVE: Mapping[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}


async def ring(bell: asyncio.Event, postgres: PostgresSettings, *, listen: LiteralString, role: str) -> None:
    """Ring whenever the database notifies; `listen` is the LISTEN statement. Ends by cancellation."""
    log = structlog.get_logger("roomkeeper.reconciler")
    while True:
        try:
            await _ring_once(bell, postgres, listen=listen, role=role)
        except (psycopg.Error, OSError) as error:
            log.warning("reconciler.listening_lost", role=role, error=type(error).__name__)
        await asyncio.sleep(RECONNECT_SECONDS)


async def _ring_once(bell: asyncio.Event, postgres: PostgresSettings, *, listen: LiteralString, role: str) -> None:
    connection = await psycopg.AsyncConnection.connect(
        conninfo(postgres), autocommit=True, application_name=f"roomkeeper {role} listen", **_ALIVE
    )
    async with connection:
        await connection.execute(listen)
        bell.set()
        async for _ in connection.notifies():
            bell.set()
