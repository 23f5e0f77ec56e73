"""A whole Roomkeeper on this machine, to try, to develop against, and to break.

Guarantees: once started, topics and tables are there, every role runs and ingress is ready; a role that dies is started
again; `stop` (or the end of this process, however it ends) leaves no process behind.
"""

from __future__ import annotations

import secrets
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx
from pydantic import SecretStr

from roomkeeper.embedded.backing import Backing
from roomkeeper.embedded.choice import Source
from roomkeeper.embedded.ports import free_ports
from roomkeeper.local.addresses import Addresses, ingress_port
from roomkeeper.local.identity import LocalIdentity, load_identity, with_api_key
from roomkeeper.local.process_group import ProcessGroup, Program, Sink
from runtime.clock import SystemClock
from runtime.database_roles import declared, grant_all, let_in, login
from runtime.environment import environment_for_children
from runtime.migrate import migrate
from runtime.postgres import connect, translated
from runtime.settings import PostgresSettings, Settings
from runtime.topic_admin import TopicAdmin
from runtime.topics import load as load_topics
from schemas.errors import Misconfigured, Unavailable

ROLES: Mapping[str, Sequence[str]] = {
    "streams": ("streams", "run"),
    "projectors": ("projectors", "run"),
    "rooms": ("rooms", "run"),
    "poller": ("poll", "run"),
    "ingress": ("ingress", "run"),
}
"""The roles' commands, in the order of their start."""
_READY_SECONDS = 90.0
_PROBE_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How a local stack differs from one of each."""

    copies: Mapping[str, int] = field(default_factory=dict)
    """How many processes of a role, by its name; one by default."""
    simulator: Sequence[str] = ()
    """More arguments of `roomkeeper simulate`, such as `--speed 60`."""
    colors: bool = False
    """Whether processes colour their lines."""


class Stack:
    """Broker, database, simulated Zoom and all roles. Several copies of a role are called `streams-1`, `streams-2`."""

    def __init__(self, settings: Settings, *, sink: Sink, shape: Shape | None = None) -> None:
        """Choose ports and an identity, but start nothing.

        Raises:
            Misconfigured: Docker is demanded and no engine answers.
        """
        self._shape = shape or Shape()
        self._folder = settings.embedded.data_dir.absolute()
        self._identity: LocalIdentity = load_identity(self._identity_file)
        self._simulator_port = None if settings.accounts else free_ports(1)[0]
        self._ingress_port = ingress_port(settings)
        self.backing = Backing(self._completed(settings), durable=True)
        self.group = ProcessGroup(sink)
        self._sink = sink
        self._role_password: str | None = None

    @property
    def settings(self) -> Settings:
        """What every role runs with."""
        return self.backing.settings

    @property
    def addresses(self) -> Addresses:
        """Where everything is reached; complete once the stack is started."""
        dsn = self.settings.postgres.dsn
        return Addresses(
            ingress=f"http://{self.settings.ingress.host}:{self._ingress_port}",
            simulator=self._simulator_url,
            kafka=self.settings.kafka.bootstrap_servers or "",
            postgres=dsn.get_secret_value() if dsn else "",
        )

    @property
    def api_key(self) -> str:
        """A key for the first account; there is one once the stack is started."""
        if self._identity.api_key is None:
            raise Misconfigured("the stack has not been started")
        return self._identity.api_key

    def start(self) -> None:
        """Start everything and return when ingress is ready; when something cannot start, nothing is left.

        Raises:
            Misconfigured: something is missing or set wrong; the message names it and the cure.
            Unavailable: a part does not come up.
        """
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the processes, the last one started first, then database and broker."""
        self.group.close()
        self.backing.stop()

    def __enter__(self) -> Self:
        """Start everything."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop everything."""
        self.stop()

    def _start(self) -> None:
        self._sink("up", f"broker: {self.backing.broker_source}, database: {self.backing.database_source}")
        self.backing.start()
        if self.backing.broker_source is Source.DOCKER:
            shutil.rmtree(self._state_dir, ignore_errors=True)  # a new container has none of the old topics
        topics = TopicAdmin(self.settings.kafka)
        topics.apply(topics.plan(load_topics()))
        migrate(self.settings.postgres)
        if self.backing.database is not None:
            self._role_password = secrets.token_urlsafe(18)
            with connect(self.settings.postgres, role="up") as connection, translated("let the roles in"):
                grant_all(connection)
                let_in(connection, password=self._role_password)
        self._identity = with_api_key(
            self._identity,
            self._identity_file,
            postgres=self.settings.postgres,
            account_id=self.settings.accounts[0].account_id,
            clock=SystemClock(shift_seconds=self.settings.clock.shift_seconds),
        )
        if self._simulator_port is not None:
            # Before the roles: whoever finds no Zoom counts that as a failure, and creates wait.
            self.group.start(self._simulator(self._simulator_port))
            self._wait_until_ready(f"{self._simulator_url}/control/health")
        for role, command in ROLES.items():
            for name in self._names(role):
                self.group.start(self._program(name, command, role=role))
        self._wait_until_ready(f"{self.addresses.ingress}/health/ready")

    def _simulator(self, port: int) -> Program:
        where = ("--port", str(port), "--webhook-url", f"{self.addresses.ingress}/webhooks/zoom")
        return self._program("simulator", ("simulate", *where, *self._shape.simulator), role="simulator")

    def _names(self, role: str) -> list[str]:
        copies = self._shape.copies.get(role, 1)
        return [role] if copies == 1 else [f"{role}-{number}" for number in range(1, copies + 1)]

    def _program(self, name: str, command: Sequence[str], *, role: str) -> Program:
        streams = self.settings.streams.model_copy(update={"data_dir": self._state_dir / name})
        own = {"streams": streams, "postgres": self._postgres_of(role)}
        env = environment_for_children(self.settings.model_copy(update=own))
        # Unbuffered, so that the joint log shows a line when it is said.
        env |= {"PYTHONUNBUFFERED": "1"} | ({"FORCE_COLOR": "1"} if self._shape.colors else {})
        return Program(name=name, command=(sys.executable, "-m", "roomkeeper", *command), env=env)

    def _postgres_of(self, role: str) -> PostgresSettings:
        """With the rights that the role needs, where the database is the stack's own; a given one is given as it is."""
        postgres = self.settings.postgres
        if self._role_password is None or postgres.dsn is None:
            return postgres
        if role not in declared():
            return postgres.model_copy(update={"dsn": None})
        dsn = login(postgres.dsn.get_secret_value(), role, password=self._role_password)
        return postgres.model_copy(update={"dsn": SecretStr(dsn)})

    def _wait_until_ready(self, url: str) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while not _is_ready(url):
            if self.group.failed:
                raise Misconfigured(f"{', '.join(self.group.failed)} ended: its last lines above say why")
            if time.monotonic() > deadline:
                raise Unavailable(f"{url} was not ready within {_READY_SECONDS:.0f} s")
            self.group.something_failed.wait(_PROBE_SECONDS)

    def _completed(self, settings: Settings) -> Settings:
        """The given settings with a port for ingress, readable logs, and an invented account where none is given."""
        ingress = settings.ingress.model_copy(update={"port": self._ingress_port})
        log = settings.log.model_copy(update={"format": "pretty"} if settings.log.format == "auto" else {})
        found: dict[str, object] = {"ingress": ingress, "log": log}
        if self._simulator_url is not None:
            found["accounts"] = (self._identity.account(zoom_url=self._simulator_url),)
        if not settings.security.encryption_keys:
            keys = (SecretStr(self._identity.encryption_key),)
            found["security"] = settings.security.model_copy(update={"encryption_keys": keys})
        return settings.model_copy(update=found)

    @property
    def _simulator_url(self) -> str | None:
        return None if self._simulator_port is None else f"http://127.0.0.1:{self._simulator_port}"

    @property
    def _identity_file(self) -> Path:
        return self._folder / "local.json"

    @property
    def _state_dir(self) -> Path:
        return self._folder / "streams"


def _is_ready(url: str) -> bool:
    try:
        return httpx.get(url, timeout=2.0).is_success
    except httpx.HTTPError:
        return False
