"""`python -m bench.ingress.load HOST PORT CONNECTIONS WARM_UP SECONDS`: the load, and one JSON line of what came back.

Every connection sends its next request when the answer to the last one is there. Only what is both sent and answered
after the warm-up is timed; everything that was acknowledged is counted, for the topic is counted too.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import cast

import uvloop

from bench.ingress.deliveries import requests

_STATUS = slice(9, 12)


@dataclass(slots=True, kw_only=True)
class Tally:
    """What came back."""

    statuses: Counter[bytes] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    """How long each timed answer took."""


class Connection(asyncio.Protocol):
    """One connection: a request, its answer, the next request."""

    def __init__(self, bodies: list[bytes], *, first: int, begin: float, end: float, tally: Tally) -> None:
        """`begin` and `end` are monotonic seconds between which answers are timed."""
        self._bodies = bodies
        self._next = first
        self._begin = begin
        self._end = end
        self._tally = tally
        self._sent_at = 0.0
        self._buffer = b""
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first one."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name
        self._send()

    def data_received(self, data: bytes) -> None:
        """An answer; all answers here are without a body, or have it in one piece with their head."""
        self._buffer += data
        if b"\r\n\r\n" not in self._buffer:
            return
        now = time.monotonic()
        self._tally.statuses[self._buffer[_STATUS]] += 1
        if self._sent_at >= self._begin and now <= self._end:
            self._tally.seconds.append(now - self._sent_at)
        self._buffer = b""
        if now < self._end:
            self._send()
        else:
            self._transport.close()

    def connection_lost(self, _exc: Exception | None) -> None:
        """Over, as planned or not."""
        if not self.done.done():
            self.done.set_result(None)

    def _send(self) -> None:
        self._next = (self._next + 1) % len(self._bodies)
        self._sent_at = time.monotonic()
        self._transport.write(self._bodies[self._next])


async def load(host: str, port: int, *, connections: int, warm_up_seconds: float, seconds: float) -> Tally:
    """Load the server and give what came back."""
    loop = asyncio.get_running_loop()
    bodies = requests(timestamp=int(time.time()))
    tally = Tally()
    begin = time.monotonic() + warm_up_seconds
    made = [
        Connection(bodies, first=index * len(bodies) // connections, begin=begin, end=begin + seconds, tally=tally)
        for index in range(connections)
    ]
    for connection in made:
        await loop.create_connection(lambda each=connection: each, host, port)  # type: ignore[misc]
    await asyncio.gather(*(connection.done for connection in made))
    return tally


def percentile(ordered: list[float], share: float) -> float:
    """The value below which this share of the ordered values lies."""
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def main(host: str, port: str, connections: str, warm_up: str, seconds: str) -> None:
    """Load, and print the line."""
    tally = uvloop.run(
        load(host, int(port), connections=int(connections), warm_up_seconds=float(warm_up), seconds=float(seconds))
    )
    ordered = sorted(tally.seconds)
    line = {
        "statuses": {status.decode(): count for status, count in tally.statuses.items()},
        "per_second": len(ordered) / float(seconds),
        "p50_ms": percentile(ordered, 0.50) * 1000,
        "p99_ms": percentile(ordered, 0.99) * 1000,
    }
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
