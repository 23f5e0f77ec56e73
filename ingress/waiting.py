"""`Prefer: wait`: told by PostgreSQL when a meeting has changed, over one listening connection per process.

Guarantees: a waiter is woken by every notification that comes after it began to wait; when the listening connection is
lost, or a notification with it, waiters look again by themselves. All waits end when the process is to stop.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import structlog

from runtime.postgres import conninfo
from runtime.queries import queries
from runtime.settings import PostgresSettings

LOOK_SECONDS = 1.0
"""How long a waiter relies on notifications alone."""
RECONNECT_SECONDS = 1.0
_ALIVE: dict[str, Any] = {"connect_timeout": 5, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}


class Bell:
    """Rings for those who wait for a meeting."""

    def __init__(self, postgres: PostgresSettings, *, most_waiting: int) -> None:
        """Nothing is connected before `listen` runs."""
        self._postgres = postgres
        self._most_waiting = most_waiting
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._count = 0
        self._closed = False
        self._log = structlog.get_logger("roomkeeper.ingress")

    @property
    def has_room(self) -> bool:
        """Whether one more may wait."""
        return not self._closed and self._count < self._most_waiting

    @property
    def is_closed(self) -> bool:
        """Whether all waits are to end."""
        return self._closed

    @contextmanager
    def waiting_for(self, meeting_id: str) -> Iterator[asyncio.Event]:
        """An event that is set when the meeting changes; clear it before looking."""
        event = asyncio.Event()
        self._waiting[meeting_id].add(event)
        self._count += 1
        try:
            yield event
        finally:
            self._count -= 1
            self._waiting[meeting_id].discard(event)
            if not self._waiting[meeting_id]:
                del self._waiting[meeting_id]

    async def listen(self) -> None:
        """Listen and ring; ends by cancellation."""
        while True:
            try:
                await self._listen_once()
            except (psycopg.Error, OSError) as error:
                self._log.warning("ingress.listening_lost", error=type(error).__name__)
            self._ring_all()
            await asyncio.sleep(RECONNECT_SECONDS)

    def close(self) -> None:
        """End all waits, and let nobody wait any more."""
        self._closed = True
        self._ring_all()

    async def _listen_once(self) -> None:
        connection = await psycopg.AsyncConnection.connect(
            conninfo(self._postgres), autocommit=True, application_name="roomkeeper ingress listen", **_ALIVE
        )
        async with connection:
            await connection.execute(queries("ingress")["listen"])
            self._ring_all()
            async for notice in connection.notifies():
                for event in self._waiting.get(notice.payload, ()):
                    event.set()

    def _ring_all(self) -> None:
        for events in self._waiting.values():
            for event in events:
                event.set()
