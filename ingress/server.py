"""The HTTP server: uvicorn on uvloop and httptools, with bounds on heads, and an orderly end.

On SIGTERM or SIGINT no new connection is taken, waits end with 202, requests under way get their answers, and what the
producer holds is sent. A producer that can never send again, or background work that fails, ends the process.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from types import FrameType

import structlog
import uvicorn
import uvloop

from ingress.app import ROLE, Ingress, ingress, running
from ingress.body import AsgiApp
from ingress.protocol import bounded_http
from runtime.clock import Clock
from runtime.garbage import collect_seldom
from runtime.open_files import allow_files
from runtime.settings import IngressSettings, Settings
from runtime.topic_admin import require_topics
from schemas.errors import Misconfigured

DRAIN_SECONDS = 10
"""How long requests under way may still take after the signal."""
OTHER_FILES = 512
"""Besides connections from outside: sockets to brokers and the database, libraries."""

Announce = Callable[[str], None]


def run(settings: Settings, *, clock: Clock) -> None:
    """Serve until a signal comes.

    Raises:
        Misconfigured: a setting, a topic or the address does not hold.
        Unavailable: no broker answers at the start.
        Broken: the producer can never send again.
    """
    allow_files(settings.ingress.max_connections + OTHER_FILES)
    require_topics(settings, ROLE)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(settings, clock=clock, announce=_announce))


async def serve(settings: Settings, *, clock: Clock, announce: Announce, stop: asyncio.Event | None = None) -> None:
    """Serve on the running loop, until a signal comes or `stop` is set; `announce` gets the URL once that is so.

    Raises:
        Misconfigured: a setting or the address does not hold.
        Broken: the producer can never send again.
    """
    async with ingress(settings, clock=clock) as parts:
        server = Server(server_config(parts.app, settings.ingress), parts, announce=announce)
        parts.producer.broken.add_done_callback(lambda _: server.stop())
        for job in parts.jobs:
            job.add_done_callback(lambda _: server.stop())
        try:
            async with running(*([_stopping(server, stop)] if stop else [])):
                await server.serve()
        except SystemExit as error:  # uvicorn's way to say that it cannot listen
            where = f"{settings.ingress.host}:{settings.ingress.port}"
            reason = f" ({os.strerror(why.errno or 0)})" if isinstance(why := error.__context__, OSError) else ""
            name = "ROOMKEEPER_INGRESS__HOST and ROOMKEEPER_INGRESS__PORT"
            raise Misconfigured(f"{name}: cannot listen on {where}{reason}") from error
        if parts.producer.broken.done():
            raise parts.producer.broken.result()


class Server(uvicorn.Server):
    """uvicorn's server, which tells where it listens and ends waits before it waits for them."""

    def __init__(self, config: uvicorn.Config, parts: Ingress, *, announce: Announce) -> None:
        """Serves `parts`."""
        super().__init__(config)
        self._parts = parts
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say where."""
        # Most of what start-up made stays for good, and walking it holds up all requests.
        collect_seldom()
        await super().startup(sockets=sockets)
        for listening in self.servers:
            for each in listening.sockets:
                host, port = each.getsockname()[:2]
                self._announce(f"http://{host}:{port}")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn gives it
        """A signal: end waits, and then everything; a second Ctrl-C does not wait for what is under way.

        uvicorn's own handler would raise the signal again when it is done, before the producer is closed.
        """
        self._parts.bell.close()
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True

    def stop(self) -> None:
        """As a signal would."""
        self.handle_exit(signal.SIGTERM, None)


async def _stopping(server: Server, stop: asyncio.Event) -> None:
    await stop.wait()
    server.stop()


def server_config(app: AsgiApp, settings: IngressSettings) -> uvicorn.Config:
    """How the server serves this application."""
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        interface="asgi3",
        http=bounded_http(patience_seconds=settings.receive_timeout_seconds, most_connections=settings.max_connections),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,  # longer than a load balancer's, so that it is the one to close
        timeout_graceful_shutdown=DRAIN_SECONDS,
        backlog=2048,
    )


def _announce(url: str) -> None:
    structlog.get_logger("roomkeeper.ingress").info("ingress.listening", url=url)
