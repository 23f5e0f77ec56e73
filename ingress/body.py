"""The bytes of a request, bounded before and while they are read. That they come in time is the protocol's to see."""

from __future__ import annotations

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
    DISCONNECTED = "disconnected"
    """The sender went away, or was too slow and was cut off."""


async def read_body(receive: Receive, *, declared: bytes | None, limit_bytes: int) -> bytes | BodyFault:
    """The whole body. A declared length over the limit is refused unread; what is streamed is counted as it comes."""
    if declared is not None and not (declared.isdigit() and len(declared) <= 12 and int(declared) <= limit_bytes):
        return BodyFault.TOO_LARGE
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
            return b"".join((*pieces, piece)) if pieces else piece
        pieces.append(piece)
