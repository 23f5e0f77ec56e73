"""A reader of the read model that wants to see rows as soon as they can be seen."""

from __future__ import annotations

import asyncio
import time

from bench.latency.deliveries import Connection
from bench.room_events import ACCOUNT
from runtime.postgres import AsyncConnection
from runtime.queries import queries
from schemas.errors import Broken

POLL_SECONDS = 0.01
"""Between two looks: so much too late, at most, a row is seen."""
_PATIENCE_SECONDS = 30.0
_COUNT_SECONDS = 0.5


class Reader:
    """Looks for awaited rows again and again, and notes when it first saw each."""

    def __init__(self, connection: AsyncConnection) -> None:
        """`connection` commits by itself."""
        self._connection = connection
        self._awaited: dict[str, tuple[Connection, float]] = {}
        self._seen: list[float] = []

    def expect(self, row: Connection, due_at: float) -> None:
        """From now on look for this row too."""
        self._awaited[row.user_id] = (row, due_at)

    async def look(self) -> None:
        """Look until cancelled."""
        while True:
            if self._awaited:
                await self._look()
            await asyncio.sleep(POLL_SECONDS)

    async def seen(self) -> list[float]:
        """How many seconds each awaited row took, once all are seen; then begins anew.

        Raises:
            Broken: some did not come.
        """
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while self._awaited:
            if time.monotonic() > deadline:
                raise Broken(f"{len(self._awaited)} rows did not come within {_PATIENCE_SECONDS:.0f} s")
            await asyncio.sleep(POLL_SECONDS)
        seen, self._seen = self._seen, []
        return seen

    async def rows(self, *, wanted: int) -> int:
        """How many rows there are, once there are so many, or half a minute has passed."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while (found := await self._count()) < wanted:
            if time.monotonic() > deadline:
                break
            await asyncio.sleep(_COUNT_SECONDS)
        return found

    async def _count(self) -> int:
        cursor = await self._connection.execute(queries("bench.latency")["count_rows"], {"account_id": ACCOUNT})
        row = await cursor.fetchone()
        return 0 if row is None else int(row["rows"])

    async def _look(self) -> None:
        zoom_ids, uuids, user_ids = zip(*(row for row, _ in self._awaited.values()), strict=True)
        wanted = {"account_id": ACCOUNT, "zoom_ids": list(zoom_ids), "uuids": list(uuids), "user_ids": list(user_ids)}
        cursor = await self._connection.execute(queries("bench.latency")["readable"], wanted)
        rows = await cursor.fetchall()
        now = time.monotonic()
        for row in rows:
            _, due_at = self._awaited.pop(row["user_id"])
            self._seen.append(now - due_at)
