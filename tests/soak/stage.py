"""Where a soak takes place: all roles as processes, three room workers among them, and a simulated Zoom."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, LiteralString, Self, TextIO

import httpx
from pydantic import SecretStr

from roomkeeper.embedded.ports import free_ports
from roomkeeper.local.process_group import ProcessGroup, Program
from runtime.cipher import new_key
from runtime.clock import SystemClock
from runtime.environment import environment_for_children
from runtime.kafka.producer import Outgoing, Producer
from runtime.postgres import connect
from runtime.settings import Account, LogSettings, Settings, WebhookSecret
from runtime.topic_admin import TopicAdmin
from runtime.topics import MEETING_COMMANDS, physical
from runtime.topics import load as load_topics
from schemas.codec import encode
from streams.meetings.answering import AnyCommand
from tests.soak.pace import Pace
from tests.waiting import wait_for

WORKERS = ("rooms-1", "rooms-2", "rooms-3")
_START_SECONDS = 120.0
_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Who takes part."""

    accounts: tuple[str, ...]
    hosts: int
    seed: int
    workers: tuple[str, ...] = WORKERS
    midnight_in_seconds: float | None = None
    """When the UTC day of all processes' clocks ends, counted from the start; None leaves the clock alone."""


@dataclass(kw_only=True)
class Stage:
    """Processes that run while the context lasts. What they say goes to `folder`/processes.log."""

    given: Settings
    pace: Pace
    cast: Cast
    folder: Path
    settings: Settings = field(init=False)
    zoom: httpx.Client = field(init=False)
    """The simulator's control API, and its token endpoint."""
    ingress_url: str = field(init=False)
    _group: ProcessGroup = field(init=False)
    _producer: Producer = field(init=False)
    _open: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        """Start everything; return when Zoom and ingress answer. What is sent before the others are there waits."""
        try:
            self._begin()
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop everything."""
        self._open.close()

    def send(self, command: AnyCommand) -> None:
        """A command, as ingress or the outbox relay would send it; acknowledged when the context ends."""
        topic = physical(MEETING_COMMANDS, prefix=self.settings.kafka.topic_prefix)
        asked_now = replace(command, issued_at=self.clock.now())  # work is due from when it was asked for
        self._producer.send(Outgoing(topic=topic, key=command.meeting_id.encode(), value=encode(asked_now)))

    def start(self, role: str) -> None:
        """Run a role of which there is one process."""
        self._start(role, role, "run")

    def stop(self, role: str) -> None:
        """Stop it in order; it is not started again."""
        self._group.stop(role)

    def pid(self, name: str) -> int | None:
        """A process's id, None while it is down."""
        return self._group.pid(name)

    def kill(self, worker: str) -> None:
        """SIGKILL; it is started again."""
        self._group.kill(worker)

    def pause(self, worker: str) -> None:
        """SIGSTOP."""
        self._group.pause(worker)

    def resume(self, worker: str) -> None:
        """SIGCONT."""
        self._group.resume(worker)

    def control(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The answer of the simulator's control API, which must not refuse."""
        answer = self.zoom.request(method, f"/control{path}", json=body)
        answer.raise_for_status()
        return answer.json()

    def order(self, faults: Iterable[Mapping[str, Any]]) -> list[int]:
        """Put these faults in force; gives their numbers."""
        return [int(self.control("POST", "/faults", fault)["fault_id"]) for fault in faults]

    def lift(self, numbers: Iterable[int]) -> None:
        """Lift these faults."""
        for number in numbers:
            self.control("DELETE", f"/faults/{number}")

    def take_a_token(self, account_id: str) -> None:
        """Somebody else gets a token of the account, which kills the one in use."""
        account = next(each for each in self.settings.accounts if each.account_id == account_id)
        secret = account.client_secret.get_secret_value() if account.client_secret else ""
        form = {"grant_type": "account_credentials", "account_id": account_id}
        with suppress(httpx.HTTPError):  # the thief meets the same faults
            self.zoom.post("/oauth/token", data=form, auth=(account.client_id or "", secret))

    def rows(self, query: LiteralString, *values: Any) -> Sequence[Mapping[str, Any]]:
        """Rows of the read model."""
        with connect(self.settings.postgres, role="soak", autocommit=True) as connection:
            cursor = connection.execute(query, values)
            return cursor.fetchall() if cursor.description else []

    def _begin(self) -> None:
        ingress_port, zoom_port = free_ports(2)
        address = f"http://127.0.0.1:{zoom_port}"
        self.settings = self._settings(address, ingress_port)
        self.clock = SystemClock(shift_seconds=self.settings.clock.shift_seconds)
        self._make_topics()
        log = self._open.enter_context((self.folder / "processes.log").open("w", encoding="utf-8"))
        self._group = self._open.enter_context(ProcessGroup(partial(_note, log)))
        self.zoom = self._open.enter_context(httpx.Client(base_url=address, timeout=_TIMEOUT_SECONDS))
        self._producer = self._open.enter_context(Producer(self.settings.kafka, client_id="soak"))
        hook = self.ingress_url = f"http://127.0.0.1:{ingress_port}"
        simulate = ("--port", str(zoom_port), "--webhook-url", f"{hook}/webhooks/zoom", "--latency", "0.1")
        size = ("--hosts", str(self.cast.hosts), "--seed", str(self.cast.seed), "--speed", str(self.pace.divisor))
        self._start("simulator", "simulate", *simulate, *size)
        for role in ("streams", "projectors", "ingress"):
            self.start(role)
        for name in self.cast.workers:
            self._start(name, "rooms", "run")
        for url in (f"{address}/control/health", f"{hook}/health/ready"):
            wait_for(partial(_answers, url), what=f"{url}, see {log.name}", within_seconds=_START_SECONDS)

    def _start(self, name: str, *command: str) -> None:
        streams = self.settings.streams.model_copy(update={"data_dir": self.folder / name})
        env = environment_for_children(self.settings.model_copy(update={"streams": streams}))
        program = Program(name=name, command=(sys.executable, "-m", "roomkeeper", *command), env=env, grace_seconds=5.0)
        self._group.start(program)

    def _make_topics(self) -> None:
        topics = TopicAdmin(self.settings.kafka)
        topics.apply(topics.plan(load_topics()))

    def _settings(self, zoom: str, ingress_port: int) -> Settings:
        accounts = tuple(_account(account_id, zoom=zoom) for account_id in self.cast.accounts)
        ingress = self.given.ingress.model_copy(update={"port": ingress_port})
        security = self.given.security.model_copy(update={"encryption_keys": (SecretStr(new_key()),)})
        clock = self.given.clock.model_copy(update={"shift_seconds": self._shift_seconds()})
        own = {"accounts": accounts, "ingress": ingress, "security": security, "clock": clock}
        return self.pace.settings(self.given).model_copy(update={**own, "log": LogSettings(format="json")})

    def _shift_seconds(self) -> float:
        if self.cast.midnight_in_seconds is None:
            return 0.0
        now = SystemClock().now()
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        return (midnight - now).total_seconds() - self.cast.midnight_in_seconds


def _account(account_id: str, *, zoom: str) -> Account:
    return Account(
        account_id=account_id,
        webhook_secrets=(WebhookSecret(value=SecretStr(f"invented secret of {account_id}")),),
        client_id=f"client-{account_id}",
        client_secret=SecretStr(f"invented client secret of {account_id}"),
        gateway=True,
        api_url=zoom,
        token_url=f"{zoom}/oauth/token",
        plan="business",
    )


def _note(log: TextIO, name: str, line: str) -> None:
    log.write(f"{name:>10} | {line}\n")
    log.flush()


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=2.0).is_success
    except httpx.HTTPError:
        return False
