"""Named queries of this package, each in a transaction of its own."""

from __future__ import annotations

from typing import Any

from runtime.postgres import AsyncDatabase
from runtime.queries import queries


class Statements:
    """Runs queries by name; `Unavailable` when the database is away."""

    def __init__(self, database: AsyncDatabase) -> None:
        """Through this pool."""
        self._database = database

    async def many(self, name: str, /, **values: Any) -> list[dict[str, Any]]:
        """All rows."""
        async with self._database.connection(name) as connection:
            return await (await connection.execute(queries("reconciler")[name], values)).fetchall()

    async def one(self, name: str, /, **values: Any) -> dict[str, Any] | None:
        """The first row; None when there is none."""
        async with self._database.connection(name) as connection:
            return await (await connection.execute(queries("reconciler")[name], values)).fetchone()

    async def run(self, name: str, /, **values: Any) -> None:
        """No rows."""
        async with self._database.connection(name) as connection:
            await connection.execute(queries("reconciler")[name], values)
