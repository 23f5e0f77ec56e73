"""The broker and the database as containers, through testcontainers.

They are removed with their owner: testcontainers' reaper watches its connection. The host ports are chosen here and
not by Docker, so that a container that is started again keeps its address.
"""

from __future__ import annotations

import secrets
import time
from abc import ABC, abstractmethod
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar

import psycopg
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from roomkeeper.embedded.kafka.configuration import single_broker
from roomkeeper.embedded.ports import free_ports
from schemas.errors import Unavailable

if TYPE_CHECKING:
    from docker.models.containers import Container
    from testcontainers.core.container import DockerContainer

_START_SECONDS = 90.0
_STOP_SECONDS = 15
_PROBE_SECONDS = 0.2
_TAIL_LINES = 30


def engine_reachable() -> bool:
    """Whether a Docker engine answers, and the client library for it is installed."""
    if find_spec("testcontainers") is None:
        return False
    from docker.errors import DockerException
    from requests.exceptions import RequestException
    from testcontainers.core.docker_client import DockerClient

    try:
        return bool(DockerClient(timeout=3).client.ping())
    except (DockerException, RequestException, OSError):
        return False


class ContainerServer(ABC):
    """A server in a container, with the verbs of an embedded one."""

    name: ClassVar[str]
    image: ClassVar[str]

    def __init__(self) -> None:
        """Nothing is started yet."""
        (self.port,) = free_ports(1)
        self._owner: DockerContainer | None = None

    def fetch(self) -> None:
        """Pull the image.

        Raises:
            Unavailable: the engine cannot get it.
        """
        from docker.errors import DockerException
        from testcontainers.core.docker_client import DockerClient

        try:
            DockerClient().client.images.pull(self.image)
        except DockerException as error:
            raise Unavailable(f"Docker could not pull {self.image}: {error}") from error

    @property
    def running(self) -> bool:
        """Whether the container exists and runs, frozen or not."""
        return self._owner is not None and self._container().status in {"running", "paused"}

    def start(self) -> None:
        """Start the container, the same one after `stop` or `kill`; return when the server answers.

        Raises:
            Unavailable: it does not answer in time.
        """
        if self._owner is None:
            self._owner = self._make()
            self._owner.start()
        elif not self.running:
            self._container().start()
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            if time.monotonic() > deadline:
                tail = self._container().logs(tail=_TAIL_LINES).decode(errors="replace")
                raise Unavailable(
                    f"{self.name} did not answer within {_START_SECONDS:.0f} s; the end of its log:\n{tail}"
                )
            time.sleep(_PROBE_SECONDS)

    def stop(self) -> None:
        """Stop the server; its data stay until its owner ends."""
        if self.running:
            self.resume()
            self._container().stop(timeout=_STOP_SECONDS)

    def kill(self) -> None:
        """End the server at once."""
        if self.running:
            self._container().kill()

    def pause(self) -> None:
        """Freeze the server."""
        self._container().pause()

    def resume(self) -> None:
        """Let a frozen server go on."""
        if self._container().status == "paused":
            self._container().unpause()

    def remove(self) -> None:
        """Stop the server and forget its data."""
        if self._owner is not None:
            self._owner.stop()
            self._owner = None

    @cached_property
    def host(self) -> str:
        """Where the engine publishes ports."""
        from testcontainers.core.docker_client import DockerClient

        return DockerClient().host()

    def _container(self) -> Container:
        if self._owner is None:
            raise Unavailable(f"{self.name} has not been started")
        container = self._owner.get_wrapped_container()
        container.reload()
        return container

    @abstractmethod
    def _make(self) -> DockerContainer:
        """The container, not started."""

    @abstractmethod
    def _answers(self) -> bool:
        """Whether the server answers a client now."""


class KafkaContainer(ContainerServer):
    """One broker in KRaft mode."""

    name: ClassVar[str] = "kafka"
    image: ClassVar[str] = "apache/kafka:4.1.1"

    def __init__(self, *, heap_mb: int) -> None:
        """Nothing is started yet."""
        super().__init__()
        self._heap_mb = heap_mb

    @property
    def bootstrap_servers(self) -> str:
        """host:port of the broker."""
        return f"{self.host}:{self.port}"

    def _make(self) -> DockerContainer:
        from testcontainers.core.container import DockerContainer

        settings = single_broker(
            listen="0.0.0.0:9092", advertise=self.bootstrap_servers, controller="0.0.0.0:9093", voter="localhost:9093"
        )
        container = DockerContainer(self.image).with_bind_ports(9092, self.port)
        container.with_env("KAFKA_HEAP_OPTS", f"-Xmx{self._heap_mb}m")
        for name, value in settings.items():
            container.with_env("KAFKA_" + name.upper().replace(".", "_"), value)
        return container

    def _answers(self) -> bool:
        try:
            return bool(
                AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})
                .list_topics(timeout=2)
                .brokers
            )
        except KafkaException:
            return False


class PostgresContainer(ContainerServer):
    """One database server, with a password."""

    name: ClassVar[str] = "postgres"
    image: ClassVar[str] = "postgres:18.6"

    def __init__(self, *, durable: bool) -> None:
        """`durable=False` spares the disk, for tests."""
        super().__init__()
        self._password = secrets.token_urlsafe(18)
        self._durable = durable

    @property
    def dsn(self) -> str:
        """The URL of a superuser, password included."""
        return f"postgresql://roomkeeper:{self._password}@{self.host}:{self.port}/postgres"

    def _make(self) -> DockerContainer:
        from testcontainers.core.container import DockerContainer

        container = DockerContainer(self.image).with_bind_ports(5432, self.port)
        container.with_envs(POSTGRES_USER="roomkeeper", POSTGRES_PASSWORD=self._password, POSTGRES_DB="postgres")
        durability = () if self._durable else ("-c", "fsync=off", "-c", "full_page_writes=off")
        return container.with_command(["postgres", "-c", "max_connections=200", *durability])

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.dsn, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True
