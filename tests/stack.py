"""A real broker and a real database for the tests, with names of its own for each test.

One stack serves the whole run. A test gets a topic prefix that nobody else has, and a database cloned from a template
that was migrated once.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from confluent_kafka.admin import AdminClient
from psycopg import sql
from pydantic import SecretStr

from roomkeeper.embedded.backing import Backing
from runtime.kafka.config import admin_config
from runtime.migrate import migrate, migrations
from runtime.settings import EmbeddedSettings, PostgresSettings, Settings
from tests.waiting import wait_for

__all__ = ["Stack", "quick_folder", "running_stack", "wait_for"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """The broker and database of a run, and what makes a test's own corner in them."""

    backing: Backing
    admin: AdminClient
    """One for all tests: a new connection costs the broker more than what is asked over it."""

    @property
    def settings(self) -> Settings:
        """The addresses; no test works in this corner itself."""
        return self.backing.settings

    @contextmanager
    def corner(self) -> Iterator[Settings]:
        """Settings with a topic prefix and a migrated database of one's own, both gone afterwards."""
        name = f"t{uuid.uuid4().hex[:10]}"
        kafka = self.settings.kafka.model_copy(update={"topic_prefix": f"{name}-"})
        with self.database(name) as postgres:
            yield self.settings.model_copy(update={"kafka": kafka, "postgres": postgres})
        self._delete_topics(f"{name}-")

    @contextmanager
    def database(self, name: str) -> Iterator[PostgresSettings]:
        """A migrated database called `name`."""
        with self._administrator() as connection:
            template = self._template(connection)
            connection.execute(_CLONE.format(sql.Identifier(name), sql.Identifier(template)))
        try:
            yield at_database(self.settings.postgres, name)
        finally:
            with self._administrator() as connection:  # another one: the server may have been restarted meanwhile
                connection.execute(_DROP.format(sql.Identifier(name)))

    def mend(self) -> None:
        """Broker and database run again, whatever a test has done to them."""
        for server in (self.backing.broker, self.backing.database):
            if server is not None:
                if server.running:
                    server.resume()
                server.start()

    def _template(self, connection: psycopg.Connection[tuple[object, ...]]) -> str:
        """The name of the migrated template, made when it is not there; another version's migrations have another."""
        digest = hashlib.sha256("".join(each.checksum for each in migrations()).encode()).hexdigest()[:12]
        template, draft = f"roomkeeper_template_{digest}", f"roomkeeper_draft_{digest}"
        connection.execute("SELECT pg_advisory_lock(hashtext('roomkeeper.tests.template'))")
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (template,)).fetchone() is None:
            connection.execute(_DROP.format(sql.Identifier(draft)))
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(draft)))
            migrate(at_database(self.settings.postgres, draft))
            connection.execute(_RENAME.format(sql.Identifier(draft), sql.Identifier(template)))
        return template

    def _administrator(self) -> psycopg.Connection[tuple[object, ...]]:
        dsn = self.settings.postgres.dsn
        assert dsn is not None
        return psycopg.connect(dsn.get_secret_value(), autocommit=True)

    def _delete_topics(self, prefix: str) -> None:
        topics = [name for name in self.admin.list_topics(timeout=30).topics if name.startswith(prefix)]
        for deleted in self.admin.delete_topics(topics).values() if topics else ():
            deleted.result(timeout=30)


_CLONE = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
_DROP = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
_RENAME = sql.SQL("ALTER DATABASE {} RENAME TO {}")


_MEMORY = Path("/dev/shm")  # noqa: S108 - the folder in it has a name of its own
_ROOM_BYTES = 2 * 1024**3
"""Some times what three stacks take."""


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder for a stack's data, gone afterwards; in memory, where there is room.

    Databases and topics that come and go with each test are hundreds of small files, and ext4 searches long for an inode
    while many were freed just now: it took a quarter of a run's processor time.
    """
    roomy = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM_BYTES
    with tempfile.TemporaryDirectory(prefix="roomkeeper-tests-", dir=_MEMORY if roomy else None) as folder:
        yield Path(folder)


@contextmanager
def running_stack(settings: Settings, folder: Path) -> Iterator[Stack]:
    """A stack while the context lasts: what `settings` name is used, the rest is brought up with its data in `folder`."""
    embedded = EmbeddedSettings.model_validate({**settings.embedded.model_dump(), "data_dir": folder})
    with Backing(settings.model_copy(update={"embedded": embedded}), durable=False) as backing:
        admin = AdminClient(dict(admin_config(backing.settings.kafka, client_id="tests")))
        yield Stack(backing=backing, admin=admin)


def at_database(postgres: PostgresSettings, database: str) -> PostgresSettings:
    """The address of another database of the same server."""
    assert postgres.dsn is not None
    address = urlsplit(postgres.dsn.get_secret_value())
    return postgres.model_copy(update={"dsn": SecretStr(urlunsplit(address._replace(path=f"/{database}")))})
