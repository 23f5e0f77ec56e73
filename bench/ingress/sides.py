"""`python -m bench.ingress.sides bare|hello BOOTSTRAP TOPIC`: what ours is measured against, on the same server.

`bare` is the least that an honest receiver can do: it checks the signature and answers when the broker has the bytes.
`hello` does nothing at all, so it is what the server itself can do.
"""

from __future__ import annotations

import asyncio
import sys
from hmac import compare_digest, digest
from typing import Any

import uvicorn
import uvloop

from bench.ingress.deliveries import SECRET
from ingress.body import AsgiApp, Receive, Scope, Send
from ingress.server import server_config
from runtime.kafka.async_producer import AsyncProducer
from runtime.kafka.producer import Outgoing
from runtime.settings import IngressSettings, KafkaSettings

MARK = "listening on "


async def hello(_scope: Scope, _receive: Receive, send: Send) -> None:
    """Answers, whatever it is asked."""
    await _no_content(send)


def bare(producer: AsyncProducer, topic: str) -> AsgiApp:
    """Checks the signature and waits for the broker."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        body = (await receive())["body"]
        headers = dict(scope["headers"])
        signed = b"v0:" + headers[b"x-zm-request-timestamp"] + b":" + body
        expected = b"v0=" + digest(SECRET, signed, "sha256").hex().encode()
        if not compare_digest(expected, headers[b"x-zm-signature"]):
            raise ValueError("signature")
        await producer.deliver(Outgoing(topic=topic, key=headers[b"x-zm-request-id"], value=body))
        await _no_content(send)

    return app


async def _no_content(send: Send) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


class _Server(uvicorn.Server):
    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets=sockets)
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        print(f"{MARK}http://{host}:{port}", flush=True)


async def _serve(side: str, bootstrap_servers: str, topic: str) -> None:
    kafka = KafkaSettings(bootstrap_servers=bootstrap_servers)
    async with AsyncProducer(kafka, client_id=f"bench-{side}", timeout_seconds=2.0, max_in_flight=2_000) as producer:
        app = hello if side == "hello" else bare(producer, topic)
        await _Server(server_config(app, IngressSettings(port=0))).serve()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(*sys.argv[1:]))
