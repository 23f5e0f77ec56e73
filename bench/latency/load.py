"""A steady load: so many deliveries a second, each at its time whether or not earlier ones are answered.

Latency counts from the time at which a delivery was due, so that a stalled server cannot hide its stall.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

from bench.latency.deliveries import Connection, Deliveries
from schemas.errors import Broken

_SOCKETS = 64
_ACKNOWLEDGED = b"HTTP/1.1 204"
_LATER = b"HTTP/1.1 503"
_PATIENCE_SECONDS = 30.0
_AGAIN_SECONDS = 0.1


class Post(NamedTuple):
    """One delivery, acknowledged."""

    due_at: float
    acknowledged_at: float


Socket = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Load:
    """Posts to one ingress through a handful of sockets that stay open."""

    def __init__(self, deliveries: Deliveries, *, host: str, port: int) -> None:
        """Numbers go on from one `run` to the next."""
        self._deliveries = deliveries
        self._host = host
        self._port = port
        self._idle: asyncio.LifoQueue[Socket] = asyncio.LifoQueue()
        self.posted = 0
        self.refused = 0
        """Answers that asked for another try."""

    async def open(self) -> None:
        """Connect."""
        for _ in range(_SOCKETS):
            self._idle.put_nowait(await self._connect())

    async def close(self) -> None:
        """Disconnect."""
        while not self._idle.empty():
            _, writer = self._idle.get_nowait()
            writer.close()

    async def run(self, *, rate: int, seconds: float, due: Callable[[int, Connection, float], None]) -> list[Post]:
        """Post for so long; `due` is told of each delivery when it leaves: its number, its row, when it was due.

        Raises:
            Broken: one was not acknowledged at all.
        """
        began = time.monotonic()
        tasks: list[asyncio.Task[Post]] = []
        for number in range(round(rate * seconds)):
            due_at = began + number / rate
            await asyncio.sleep(max(0.0, due_at - time.monotonic()))
            request, row = self._deliveries.request(self.posted)
            due(self.posted, row, due_at)
            self.posted += 1
            tasks.append(asyncio.create_task(self._post(request, due_at=due_at)))
        return await asyncio.gather(*tasks)

    async def _post(self, request: bytes, *, due_at: float) -> Post:
        """Post until it is acknowledged: a 503 asks for another try, as it does of Zoom."""
        socket = await self._idle.get()
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                status = await _ask(socket, request)
            except (asyncio.IncompleteReadError, ConnectionError):
                socket = await self._connect()  # it was idle for too long
                continue
            if status.startswith(_ACKNOWLEDGED):
                self._idle.put_nowait(socket)
                return Post(due_at, time.monotonic())
            if not status.startswith(_LATER) or time.monotonic() > deadline:
                raise Broken(f"a delivery was answered {status.decode()}")
            self.refused += 1
            await asyncio.sleep(_AGAIN_SECONDS)

    async def _connect(self) -> Socket:
        return await asyncio.open_connection(self._host, self._port)


async def _ask(socket: Socket, request: bytes) -> bytes:
    """The status line of the answer, once all of the answer is read."""
    reader, writer = socket
    writer.write(request)
    status, _, headers = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")
    await _skip_body(reader, headers)
    return status


async def _skip_body(reader: asyncio.StreamReader, headers: bytes) -> None:
    """Read past the body of an answer."""
    if b"chunked" in headers.lower():
        await reader.readuntil(b"0\r\n\r\n")
        return
    lengths = (
        line.partition(b":")[2] for line in headers.lower().split(b"\r\n") if line.startswith(b"content-length:")
    )
    await reader.readexactly(int(next(lengths, b"0")))
