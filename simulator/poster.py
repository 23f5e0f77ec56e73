"""A small HTTP/1.1 client for POSTs, made for one core to send thousands of webhooks a second.

Connections are kept and used again. It follows no redirect and reads at most 64 KiB of an answer.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast
from urllib.parse import SplitResult, urlsplit

from httptools import HttpParserError, HttpResponseParser

_IDLE_KEPT = 256
_MOST_ANSWER_BYTES = 65_536


class PostFailed(Exception):
    """No answer came; `reason` is Zoom's number for why."""

    TIMED_OUT, REFUSED, LOST, NO_NAME = 1, 2, 7, 13

    def __init__(self, reason: int) -> None:
        """`reason` is one of the constants."""
        super().__init__(f"no answer, reason {reason}")
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the endpoint said."""

    status: int
    body: bytes


class Poster:
    """Posts bodies over kept connections."""

    def __init__(self) -> None:
        """Opens nothing yet."""
        self._idle: dict[tuple[str, str], deque[_Connection]] = {}
        self._tls: ssl.SSLContext | None = None

    async def post(self, url: str, *, headers: Mapping[str, str], body: bytes, timeout_seconds: float) -> Answer:
        """The endpoint's answer.

        Raises:
            PostFailed: none came in time.
        """
        parts = urlsplit(url)
        request = _request(parts, headers=headers, body=body)
        try:
            async with asyncio.timeout(timeout_seconds):
                return await self._exchange(parts, request)
        except TimeoutError as error:
            raise PostFailed(PostFailed.TIMED_OUT) from error

    def close(self) -> None:
        """Closes the kept connections."""
        for idle in self._idle.values():
            for connection in idle:
                connection.abort()
        self._idle.clear()

    async def _exchange(self, parts: SplitResult, request: bytes) -> Answer:
        idle = self._idle.setdefault((parts.scheme, parts.netloc), deque())
        while idle:
            connection = idle.pop()
            try:
                return await self._use(connection, request, idle)
            except PostFailed:
                # The other side closed a kept connection; only a fresh one shows whether it is there.
                continue
        return await self._use(await self._connect(parts), request, idle)

    async def _use(self, connection: _Connection, request: bytes, idle: deque[_Connection]) -> Answer:
        try:
            answer = await connection.exchange(request)
        except BaseException:
            connection.abort()
            raise
        if connection.reusable and len(idle) < _IDLE_KEPT:
            idle.append(connection)
        else:
            connection.abort()
        return answer

    async def _connect(self, parts: SplitResult) -> _Connection:
        secure = parts.scheme == "https"
        port = parts.port or (443 if secure else 80)
        if secure and self._tls is None:
            self._tls = ssl.create_default_context()
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.create_connection(
                _Connection, parts.hostname or "", port, ssl=self._tls if secure else None
            )
        except ConnectionError as error:
            raise PostFailed(PostFailed.REFUSED) from error
        except OSError as error:
            raise PostFailed(PostFailed.NO_NAME) from error
        return connection


class _Connection(asyncio.Protocol):
    """One kept connection; carries one exchange at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Answer] | None = None
        self._parser = HttpResponseParser(self)
        self._body = bytearray()
        self.reusable = True

    async def exchange(self, request: bytes) -> Answer:
        """Sends a request and gives its answer."""
        if self._transport is None or self._transport.is_closing():
            raise PostFailed(PostFailed.LOST)
        self._parser, self._waiter = HttpResponseParser(self), asyncio.get_running_loop().create_future()
        self._body.clear()
        self._transport.write(request)
        return await self._waiter

    def abort(self) -> None:
        """Closes without ceremony."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, received: bytes) -> None:
        try:
            self._parser.feed_data(received)
        except HttpParserError:
            self.connection_lost(None)

    def connection_lost(self, _error: Exception | None) -> None:
        self.reusable = False
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(PostFailed(PostFailed.LOST))

    def on_body(self, part: bytes) -> None:
        """Called by the parser."""
        if len(self._body) < _MOST_ANSWER_BYTES:
            self._body += part

    def on_message_complete(self) -> None:
        """Called by the parser."""
        self.reusable = self._parser.should_keep_alive()
        if self._waiter is not None and not self._waiter.done():
            answer = Answer(status=self._parser.get_status_code(), body=bytes(self._body))
            self._waiter.set_result(answer)


def _request(parts: SplitResult, *, headers: Mapping[str, str], body: bytes) -> bytes:
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"POST {path} HTTP/1.1", f"host: {parts.netloc}", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body
