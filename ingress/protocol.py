"""uvicorn's HTTP/1.1 protocol with bounds on the head of a request, which the server itself has none for.

Guarantees: a request line and headers that are larger than `HEAD_BYTES`, or not complete within `HEAD_SECONDS`, cost
the connection; so does a connection that never sends anything.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 65_536
HEAD_SECONDS = 10.0


class BoundedHttp(HttpToolsProtocol):
    """Counts and times what comes before a request's body."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """As uvicorn makes it."""
        super().__init__(*args, **kwargs)
        self._head_bytes = 0
        self._in_head = True
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts the clock."""
        super().connection_made(transport)
        self._patience = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops the clock."""
        self._stop_clock()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Reads on, while the head is within its bounds."""
        super().data_received(data)
        if not self._in_head:
            return
        self._head_bytes += len(data)
        if self._head_bytes > HEAD_BYTES:
            self._give_up()
        elif self._patience is None:
            self._patience = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def on_headers_complete(self) -> None:
        """The head is over."""
        self._in_head = False
        self._head_bytes = 0
        self._stop_clock()
        super().on_headers_complete()

    def on_message_begin(self) -> None:
        """The first byte of a head has come."""
        self._in_head = True
        super().on_message_begin()

    def _stop_clock(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _give_up(self) -> None:
        self._patience = None
        if not self.transport.is_closing():
            self.transport.close()
