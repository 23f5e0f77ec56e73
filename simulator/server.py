"""The simulator's HTTP server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from types import FrameType

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from schemas.errors import Misconfigured
from simulator.control.app import create_control
from simulator.rest.gateway import Gateway
from simulator.server_protocol import AbortableProtocol
from simulator.service import Service

_METHODS = ["GET", "POST", "PATCH", "PUT", "DELETE"]


def create_app(service: Service) -> Starlette:
    """Zoom's token endpoint and REST API, and the control API."""
    gateway = Gateway(service)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await service.close()

    return Starlette(
        routes=[
            Route("/oauth/token", gateway.token, methods=["POST"]),
            Route("/v2/{rest:path}", gateway.call, methods=_METHODS),
            Mount("/control", _made_when_asked(service)),
        ],
        lifespan=lifespan,
    )


def _made_when_asked(service: Service) -> ASGIApp:
    """The control API: many a simulator is never asked for it, and its forty routes are half of a start."""
    made: list[ASGIApp] = []

    async def control(scope: Scope, receive: Receive, send: Send) -> None:
        if not made:
            made.append(create_control(service))
        await made[0](scope, receive, send)

    return control


def listen(host: str, port: int) -> socket.socket:
    """A bound socket; port 0 takes a free one.

    Raises:
        Misconfigured: the address cannot be had.
    """
    try:
        return socket.create_server((host, port), backlog=1024)
    except OSError as error:
        raise Misconfigured(
            f"--host and --port: cannot listen on {host}:{port} ({os.strerror(error.errno or 0)})"
        ) from error


def address_of(listener: socket.socket) -> str:
    """`http://host:port` of a bound socket."""
    host, port = listener.getsockname()[:2]
    return f"http://{host}:{port}"


def server_for(service: Service) -> uvicorn.Server:
    """A server that does not run yet; its `should_exit` ends it."""
    config = uvicorn.Config(
        create_app(service),
        http=AbortableProtocol,
        loop="uvloop",
        access_log=False,
        log_config=None,
        date_header=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    return uvicorn.Server(config)


def serve(service: Service, *, listener: socket.socket, address_file: Path | None = None) -> None:
    """Serves until a signal ends the process; the address is written once the socket listens."""
    if address_file is not None:
        written = address_file.with_suffix(f"{address_file.suffix}.part")
        written.write_text(address_of(listener), encoding="utf-8")
        written.replace(address_file)
    server = server_for(service)
    signal.signal(signal.SIGTERM, _exit)
    with (
        contextlib.suppress(KeyboardInterrupt),
        asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner,
    ):
        runner.run(server.serve(sockets=[listener]))


def _exit(_number: int, _frame: FrameType | None) -> None:
    # uvicorn stops by itself at the signal, and then raises it once more: the wish to end is no failure.
    raise SystemExit(0)
