"""A simulated Zoom on a thread of its own, and an endpoint that keeps what it was sent."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import uvicorn
from starlette.types import Receive, Scope, Send

from runtime.clock import Clock, SystemClock
from simulator.config import AccountConfig, Plan, SimulatorConfig
from simulator.server import address_of, listen, server_for
from simulator.service import Service

ACCOUNT = AccountConfig(
    account_id="Acct0ExampleNeutral001",
    client_id="Client0ExampleNeutral1",
    client_secret="invented-client-secret",
    webhook_secret="invented-secret-token",
    plan=Plan.BUSINESS,
    hosts=5,
    tracking_fields=("command_id",),
)
HOST = "host-01@example.com"
MOMENT = datetime(2026, 12, 1, 14, 58, 31, 640_000, tzinfo=UTC)


def config(**changes: Any) -> SimulatorConfig:
    """One account, no latency; `changes` replace settings of the simulator."""
    return SimulatorConfig(**{"accounts": (ACCOUNT,), "latency_seconds": 0.0, **changes})


@dataclass
class ManualClock:
    """A clock that moves when it is told to."""

    at: datetime = MOMENT

    def now(self) -> datetime:
        """The moment it was set to."""
        return self.at

    def monotonic_seconds(self) -> float:
        """The same in seconds."""
        return self.at.timestamp()

    def advance(self, **duration: float) -> None:
        """Moves on by a timedelta's arguments."""
        self.at += timedelta(**duration)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedZoom:
    """A running simulator."""

    address: str
    service: Service

    def client(self, token: str | None = None) -> httpx.Client:
        """A client of the simulator, with an access token unless another is given."""
        bearer = self.token() if token is None else token
        return httpx.Client(base_url=self.address, headers={"authorization": f"Bearer {bearer}"}, timeout=20)

    def token(self, account: AccountConfig = ACCOUNT) -> str:
        """A new access token."""
        answer = httpx.post(
            f"{self.address}/oauth/token",
            data={"grant_type": "account_credentials", "account_id": account.account_id},
            auth=(account.client_id, account.client_secret),
        )
        return str(answer.json()["access_token"])

    def control(self, method: str, path: str, **arguments: Any) -> Any:
        """The answer of the control API, which must not refuse."""
        answer = httpx.request(method, f"{self.address}/control{path}", timeout=130, **arguments)
        assert answer.is_success, answer.text
        return answer.json()


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One request as it came."""

    headers: dict[str, str]
    body: bytes
    at: float


@dataclass
class Endpoint:
    """An endpoint for webhooks: answers with the next of `statuses`, then 204."""

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    answer_seconds: float = 0.0
    received: list[Received] = field(default_factory=list)
    challenge_answer: bytes | None = None

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI application."""
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.received.append(Received(headers=headers, body=body, at=asyncio.get_running_loop().time()))
        if self.answer_seconds:
            await asyncio.sleep(self.answer_seconds)
        status = self.statuses.pop(0) if self.statuses else 204
        answer = self.challenge_answer or b""
        length = [(b"content-length", str(len(answer)).encode())] if status != 204 else []
        await send({"type": "http.response.start", "status": 200 if answer else status, "headers": length})
        await send({"type": "http.response.body", "body": answer})


@contextmanager
def simulated_zoom(configuration: SimulatorConfig | None = None, clock: Clock | None = None) -> Iterator[SimulatedZoom]:
    """A simulator that runs until the end of the block."""
    service = Service(configuration or config(), clock or SystemClock())
    listener = listen("127.0.0.1", 0)
    with _running(server_for(service), listener):
        yield SimulatedZoom(address=address_of(listener), service=service)


@contextmanager
def webhook_endpoint() -> Iterator[Endpoint]:
    """An endpoint that runs until the end of the block."""
    endpoint, listener = Endpoint(), listen("127.0.0.1", 0)
    endpoint.url = f"{address_of(listener)}/webhooks/zoom"
    server = uvicorn.Server(uvicorn.Config(endpoint.app, log_config=None, lifespan="off", timeout_graceful_shutdown=1))
    with _running(server, listener):
        yield endpoint


@contextmanager
def _running(server: uvicorn.Server, listener: socket.socket) -> Iterator[None]:
    def run() -> None:
        with asyncio.Runner() as runner:
            runner.run(server.serve(sockets=[listener]))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(timeout=20)
        listener.close()
