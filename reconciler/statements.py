"""Named queries of a package, each in a transaction of its own."""

from __future__ import annotations

from typing import Any

from runtime.postgres import AsyncDatabase
from runtime.queries import queries


class Statements:
    """Runs queries by name; `Unavailable` when the database is away."""

    def __init__(self, database: AsyncDatabase, *, package: str = "reconciler") -> None:
        """Through this pool; `package` has the queries."""
        self._database = database
        self._queries = queries(package)

    async def many(self, name: str, /, **values: Any) -> list[dict[str, Any]]:
        """All rows."""
        async with self._database.statement(name) as connection:
            return await (await connection.execute(self._queries[name], values)).fetchall()

    async def one(self, name: str, /, **values: Any) -> dict[str, Any] | None:
        """The first row; None when there is none."""
        async with self._database.statement(name) as connection:
            return await (await connection.execute(self._queries[name], values)).fetchone()

    async def run(self, name: str, /, **values: Any) -> None:
        """No rows."""
        async with self._database.statement(name) as connection:
            await connection.execute(self._queries[name], values)
