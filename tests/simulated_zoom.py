"""A simulated Zoom on a thread of its own, and an endpoint that keeps what it was sent."""

from __future__ import annotations

import asyncio
import hmac
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import orjson
import uvicorn
from starlette.types import Receive, Scope, Send

from runtime.clock import Clock, SystemClock
from simulator.config import AccountConfig, Plan, SimulatorConfig
from simulator.server import address_of, listen, server_for
from simulator.service import Service
from tests.plain_http import NO_TLS

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
    http: httpx.Client

    def client(self, token: str | None = None) -> httpx.Client:
        """A client of the simulator, with an access token unless another is given."""
        bearer = self.token() if token is None else token
        return httpx.Client(
            base_url=self.address, headers={"authorization": f"Bearer {bearer}"}, timeout=20, verify=NO_TLS
        )

    def token(self, account: AccountConfig = ACCOUNT) -> str:
        """A new access token."""
        answer = self.http.post(
            "/oauth/token",
            data={"grant_type": "account_credentials", "account_id": account.account_id},
            auth=(account.client_id, account.client_secret),
        )
        return str(answer.json()["access_token"])

    def control(self, method: str, path: str, **arguments: Any) -> Any:
        """The answer of the control API, which must not refuse."""
        answer = self.http.request(method, f"/control{path}", **arguments)
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
    challenge_secret: str | None = None
    """Answers challenges under it."""

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
        answer = self._answer(body)
        status = 200 if answer else self.statuses.pop(0) if self.statuses else 204
        length = [] if status == 204 else [(b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": length})
        await send({"type": "http.response.body", "body": answer})

    def _answer(self, body: bytes) -> bytes:
        if self.challenge_secret is None:
            return b""
        plain = orjson.loads(body)["payload"]["plainToken"]
        encrypted = hmac.digest(self.challenge_secret.encode(), plain.encode(), "sha256").hex()
        return orjson.dumps({"plainToken": plain, "encryptedToken": encrypted})


@contextmanager
def simulated_zoom(configuration: SimulatorConfig | None = None, clock: Clock | None = None) -> Iterator[SimulatedZoom]:
    """A simulator that runs until the end of the block."""
    service = Service(configuration or config(), clock or SystemClock())
    listener = listen("127.0.0.1", 0)
    address = address_of(listener)
    with _running(server_for(service), listener), httpx.Client(base_url=address, timeout=130, verify=NO_TLS) as http:
        yield SimulatedZoom(address=address, service=service, http=http)


@contextmanager
def webhook_endpoint() -> Iterator[Endpoint]:
    """An endpoint that runs until the end of the block."""
    endpoint, listener = Endpoint(), listen("127.0.0.1", 0)
    endpoint.url = f"{address_of(listener)}/webhooks/zoom"
    server = uvicorn.Server(
        uvicorn.Config(endpoint.app, interface="asgi3", log_config=None, lifespan="off", timeout_graceful_shutdown=1)
    )
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
