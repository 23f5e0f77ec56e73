"""The bytes of a request, bounded in size and time before and while they are read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from enum import Enum
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]


class BodyFault(Enum):
    """Why there is no body."""

    TOO_LARGE = "too_large"
    TOO_SLOW = "too_slow"
    DISCONNECTED = "disconnected"


async def read_body(
    receive: Receive, *, declared: bytes | None, limit_bytes: int, timeout_seconds: float
) -> bytes | BodyFault:
    """The whole body. A declared length over the limit is refused unread; what is streamed is counted as it comes."""
    if declared is not None and not (declared.isdigit() and len(declared) <= 12 and int(declared) <= limit_bytes):
        return BodyFault.TOO_LARGE
    try:
        async with asyncio.timeout(timeout_seconds):
            return await _read(receive, limit_bytes=limit_bytes)
    except TimeoutError:
        return BodyFault.TOO_SLOW


async def _read(receive: Receive, *, limit_bytes: int) -> bytes | BodyFault:
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return BodyFault.DISCONNECTED
        piece: bytes = message.get("body", b"")
        size += len(piece)
        if size > limit_bytes:
            return BodyFault.TOO_LARGE
        if not message.get("more_body", False):
            return piece if not pieces else b"".join((*pieces, piece))
        pieces.append(piece)
