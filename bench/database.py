"""An empty database for one round of a benchmark, on the server of the run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from psycopg import sql

from runtime.migrate import migrate
from runtime.postgres import connect
from runtime.settings import Settings
from tests.stack import at_database

_CREATE, _DROP = sql.SQL("CREATE DATABASE {}"), sql.SQL("DROP DATABASE {} WITH (FORCE)")


@contextmanager
def fresh_database(settings: Settings, *, bench: str) -> Iterator[Settings]:
    """The settings with an empty, migrated database, which is gone afterwards."""
    database = f"bench_{bench}_{os.getpid()}"
    name = sql.Identifier(database)
    with connect(settings.postgres, role="bench", autocommit=True) as connection:
        connection.execute(_CREATE.format(name))
    try:
        postgres = at_database(settings.postgres, database)
        migrate(postgres)
        yield settings.model_copy(update={"postgres": postgres})
    finally:
        with connect(settings.postgres, role="bench", autocommit=True) as connection:
            connection.execute(_DROP.format(name))
