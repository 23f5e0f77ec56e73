"""uvicorn's HTTP/1.1 protocol with bounds that the server itself has none for: on connections, heads and time.

Guarantees: there are at most `most_connections`, so that what they hold is bounded; one more is closed unanswered, and
Zoom sends again. A request line and headers larger than `HEAD_BYTES` cost the connection; so does a request that is not
complete, body included, within `patience_seconds` of its first byte, and a connection that never sends anything. A
request that comes in one piece, as nearly all do, starts no timer.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 65_536
QUIET_SECONDS = 10.0


class BoundedHttp(HttpToolsProtocol):
    """Counts connections and the bytes of heads, and times what is incomplete."""

    patience_seconds: ClassVar[float] = 5.0
    most_connections: ClassVar[int] = 4_000
    quiet_until: ClassVar[float] = float("-inf")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """As uvicorn makes it."""
        super().__init__(*args, **kwargs)
        self._head_bytes = 0
        self._in_head = False
        self._incomplete = False
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts the clock for the first byte; one connection too many ends here."""
        super().connection_made(transport)
        if len(self.connections) > self.most_connections:
            self._tell_crowd()
            transport.abort()
            return
        self._patience = self.loop.call_later(self.patience_seconds, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops the clock."""
        self._stop_clock()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Reads on, while the request is within its bounds."""
        super().data_received(data)
        if not self._incomplete:
            return
        if self._patience is None:
            self._patience = self.loop.call_later(self.patience_seconds, self._give_up)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self._give_up()

    def on_message_begin(self) -> None:
        """The first byte of a request has come."""
        self._in_head = self._incomplete = True
        self._head_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is over."""
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is whole: from now on it is we who take time."""
        self._incomplete = False
        self._stop_clock()
        super().on_message_complete()

    def _tell_crowd(self) -> None:
        """One line in ten seconds: whoever opens so many connections goes on."""
        now, own = self.loop.time(), type(self)
        if now >= own.quiet_until:
            own.quiet_until = now + QUIET_SECONDS
            structlog.get_logger("roomkeeper.ingress").warning("ingress.crowded", connections=self.most_connections)

    def _stop_clock(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _give_up(self) -> None:
        self._stop_clock()
        if not self.transport.is_closing():
            self.transport.close()


def bounded_http(*, patience_seconds: float, most_connections: int) -> type[BoundedHttp]:
    """The protocol with these bounds; uvicorn takes a class."""
    bounds = {"patience_seconds": patience_seconds, "most_connections": most_connections}
    return type("BoundedHttp", (BoundedHttp,), bounds)
