"""Bounds on requests to the API, before the framework reads a byte: size, and JSON or nothing."""

from __future__ import annotations

from ingress.body import AsgiApp, BodyFault, Message, Receive, Scope, Send, read_body
from ingress.problems import MEDIA_TYPE, Problem

_CODES = {BodyFault.TOO_LARGE: "too_large", BodyFault.DISCONNECTED: "malformed_body"}


class Bounded:
    """Reads the body within its bounds, and hands it on whole."""

    def __init__(self, app: AsgiApp, *, limit_bytes: int) -> None:
        """Stands before `app`."""
        self._app = app
        self._limit_bytes = limit_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if b"transfer-encoding" not in headers and headers.get(b"content-length", b"0") == b"0":
            await self._app(scope, receive, send)
            return
        declared = headers.get(b"content-length")
        body = await read_body(receive, declared=declared, limit_bytes=self._limit_bytes)
        if isinstance(body, BodyFault):
            await _answer(Problem(_CODES[body]), send)
        elif body and not _is_json(headers.get(b"content-type", b"")):
            await _answer(Problem("unsupported_media_type"), send)
        else:
            await self._app(scope, _once(body, receive), send)


def _is_json(content_type: bytes) -> bool:
    media = content_type.split(b";", 1)[0].strip().lower()
    return media == b"application/json" or (media.startswith(b"application/") and media.endswith(b"+json"))


def _once(body: bytes, receive: Receive) -> Receive:
    """The body as one message; after it, what the connection says."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


async def _answer(problem: Problem, send: Send) -> None:
    headers = [(b"content-type", MEDIA_TYPE.encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": problem.kind.status, "headers": headers})
    await send({"type": "http.response.body", "body": problem.body()})
