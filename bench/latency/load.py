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
_ANSWER_SECONDS = 10.0


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

    async def open(self) -> None:
        """Connect."""
        for _ in range(_SOCKETS):
            self._idle.put_nowait(await asyncio.open_connection(self._host, self._port))

    async def close(self) -> None:
        """Disconnect."""
        while not self._idle.empty():
            _, writer = self._idle.get_nowait()
            writer.close()

    async def run(self, *, rate: int, seconds: float, due: Callable[[int, Connection, float], None]) -> list[Post]:
        """Post for so long; `due` is told of each delivery when it leaves: its number, its row, when it was due.

        Raises:
            Broken: one was not acknowledged.
        """
        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            tasks = []
            for number in range(round(rate * seconds)):
                due_at = began + number / rate
                await asyncio.sleep(max(0.0, due_at - time.monotonic()))
                request, row = self._deliveries.request(self.posted)
                due(self.posted, row, due_at)
                self.posted += 1
                tasks.append(group.create_task(self._post(request, due_at=due_at)))
        return [task.result() for task in tasks]

    async def _post(self, request: bytes, *, due_at: float) -> Post:
        reader, writer = socket = await self._idle.get()
        writer.write(request)
        async with asyncio.timeout(_ANSWER_SECONDS):
            answer = await reader.readuntil(b"\r\n\r\n")
        if not answer.startswith(_ACKNOWLEDGED):
            raise Broken(f"a delivery was answered {answer.splitlines()[0].decode()}")
        self._idle.put_nowait(socket)
        return Post(due_at, time.monotonic())
