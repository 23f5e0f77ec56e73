"""The broker and the database behind Roomkeeper, wherever they come from (`choice.py` has the rule).

What is given is left alone; what is brought along starts and stops with the `Backing`, and can be stopped, killed,
frozen and started again on the same address, so that outages can be tried out.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from types import TracebackType
from typing import Protocol, Self

from pydantic import SecretStr

from roomkeeper.embedded.choice import Source, choose
from roomkeeper.embedded.containers import KafkaContainer, PostgresContainer, engine_reachable
from roomkeeper.embedded.kafka.broker import EmbeddedKafka
from roomkeeper.embedded.postgres import EmbeddedPostgres
from roomkeeper.embedded.service import Service
from runtime.settings import Settings
from schemas.errors import Unavailable


class Server(Protocol):
    """Something that runs, and whose outages can be caused."""

    @property
    def running(self) -> bool:
        """Whether it exists, frozen or not."""

    def fetch(self) -> None:
        """See that its programs are there."""

    def start(self) -> None:
        """Start it, on its old address if it had one; return when it answers."""

    def stop(self) -> None:
        """Stop it in order."""

    def kill(self) -> None:
        """End it at once."""

    def pause(self) -> None:
        """Freeze it."""

    def resume(self) -> None:
        """Let it go on."""


class Broker(Server, Protocol):
    """A Kafka broker."""

    @property
    def bootstrap_servers(self) -> str:
        """host:port."""


class DatabaseServer(Server, Protocol):
    """A PostgreSQL server."""

    @property
    def dsn(self) -> str:
        """Its URL, password included."""


PARTITIONS = 4
"""Of event topics on a broker of ours: enough for as many workers as one machine runs. Each costs a stream worker a
producer and ten commits a second, of which two cores bear no dozen.
"""


class Backing:
    """A broker and a database; `broker` and `database` are None where an address was given."""

    def __init__(self, settings: Settings, *, durable: bool) -> None:
        """Choose, but start nothing; `durable=False` is for tests, which spare the disk and want a quick start.

        Raises:
            Misconfigured: Docker is demanded and no engine answers.
        """
        self._given = settings
        reachable = cache(engine_reachable)
        docker = settings.embedded.docker
        kafka_given, postgres_given = settings.kafka.bootstrap_servers is not None, settings.postgres.dsn is not None
        self.broker_source = choose(given=kafka_given, docker=docker, engine_reachable=reachable)
        self.database_source = choose(given=postgres_given, docker=docker, engine_reachable=reachable)
        self.broker = _broker(self.broker_source, settings)
        self.database = _database(self.database_source, settings, durable=durable)

    @property
    def settings(self) -> Settings:
        """The given settings with the addresses of what runs."""
        kafka, postgres = self._given.kafka, self._given.postgres
        if self.broker is not None:
            alone = {"bootstrap_servers": self.broker.bootstrap_servers, "replication": 1, "min_insync_replicas": 1}
            kafka = kafka.model_copy(update={**alone, "partitions": kafka.partitions or PARTITIONS})
        if self.database is not None:
            postgres = postgres.model_copy(update={"dsn": SecretStr(self.database.dsn)})
        return self._given.model_copy(update={"kafka": kafka, "postgres": postgres})

    def fetch(self) -> None:
        """See that the programs of both are there, downloading what may be downloaded.

        Raises:
            Misconfigured: something is missing; the message names it and the cure.
            Unavailable: a download failed.
        """
        for server in self._servers():
            server.fetch()

    def start(self) -> None:
        """Start both at once; when one fails, the other is stopped.

        Raises:
            Misconfigured: something they need is missing; the message names it and the cure.
            Unavailable: one does not start.
        """
        servers = self._servers()
        with ThreadPoolExecutor(max_workers=2, thread_name_prefix="backing") as executor:
            starts = [executor.submit(server.start) for server in servers]
        failures = [error for start in starts if (error := start.exception()) is not None]
        if failures:
            self.stop()
            raise failures[0]

    def require_running(self) -> None:
        """Return while what is embedded runs; containers are Docker's to watch, given servers their owners'.

        Raises:
            Unavailable: a server ended although nobody stopped it; the message names its log.
        """
        for server in self._servers():
            if isinstance(server, Service) and not server.running:
                raise Unavailable(f"{server.name} ended: the end of {server.log} says why")

    def stop(self) -> None:
        """Stop what was started."""
        for server in self._servers():
            if isinstance(server, KafkaContainer | PostgresContainer):
                server.remove()
            else:
                server.stop()

    def __enter__(self) -> Self:
        """Start both."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop both."""
        self.stop()

    def _servers(self) -> tuple[Server, ...]:
        return tuple(server for server in (self.broker, self.database) if server is not None)


def _broker(source: Source, settings: Settings) -> Broker | None:
    embedded = settings.embedded
    if source is Source.DOCKER:
        return KafkaContainer(heap_mb=embedded.kafka_heap_mb)
    if source is Source.EMBEDDED:
        return EmbeddedKafka(embedded.data_dir / "kafka", cache_dir=embedded.cache_dir, heap_mb=embedded.kafka_heap_mb)
    return None


def _database(source: Source, settings: Settings, *, durable: bool) -> DatabaseServer | None:
    if source is Source.DOCKER:
        return PostgresContainer(durable=durable)
    if source is Source.EMBEDDED:
        return EmbeddedPostgres(settings.embedded.data_dir / "postgres", durable=durable)
    return None
