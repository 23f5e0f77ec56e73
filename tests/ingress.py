"""Ingress as tests run it: the real server on a free port, in a thread or as a process, and signed requests to it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hmac import digest
from queue import Queue

import httpx
import uvloop
from confluent_kafka import Consumer, Message, TopicPartition
from pydantic import SecretStr

from ingress.keys import create_key
from ingress.server import serve
from runtime.cipher import new_key
from runtime.clock import Clock, SystemClock
from runtime.environment import environment_for_children
from runtime.kafka.config import consumer_config
from runtime.postgres import connect
from runtime.settings import Account, SecuritySettings, Settings, WebhookSecret
from runtime.topic_admin import TopicAdmin
from runtime.topics import load as load_topics
from runtime.topics import physical

ACCOUNT = "Acct0ExampleNeutral001"
OTHER_ACCOUNT = "Acct0ExampleNeutral002"
SECRET = "unit-test-secret-A"
OTHER_SECRET = "unit-test-secret-B"


@dataclass(slots=True)
class FixedClock:
    """A clock that stands where a test puts it; the monotonic seconds go on."""

    at: datetime = field(default_factory=lambda: datetime(2026, 3, 10, 10, 0, tzinfo=UTC))

    def now(self) -> datetime:
        """Where it stands."""
        return self.at

    def monotonic_seconds(self) -> float:
        """Real seconds."""
        return SystemClock().monotonic_seconds()

    def advance(self, **by: float) -> None:
        """Put it forward."""
        self.at += timedelta(**by)


def account(account_id: str = ACCOUNT, *secrets: str, expires_at: datetime | None = None) -> Account:
    """An account with webhook secrets; with `expires_at` the last of several ends then."""
    listed = [WebhookSecret(value=SecretStr(secret)) for secret in secrets]
    if expires_at is not None:
        listed[-1] = listed[-1].model_copy(update={"expires_at": expires_at})
    return Account(account_id=account_id, webhook_secrets=tuple(listed))


def prepared(settings: Settings, *accounts: Account, topics: bool = True) -> Settings:
    """Settings of ingress on a free port with an encryption key and these accounts; its topics are there."""
    ready = settings.model_copy(
        update={
            "accounts": accounts or (account(ACCOUNT, SECRET),),
            "kafka": settings.kafka.model_copy(update={"partitions": 2}),
            "ingress": settings.ingress.model_copy(update={"port": 0}),
            "security": SecuritySettings(encryption_keys=(SecretStr(new_key()),)),
        }
    )
    if topics:
        admin = TopicAdmin(ready.kafka)
        admin.apply(admin.plan(load_topics()))
    return ready


@contextmanager
def serving(settings: Settings, *, clock: Clock | None = None) -> Iterator[str]:
    """Ingress in a thread of this process while the context lasts; gives its URL."""
    announced: Queue[str | BaseException] = Queue()
    stops: Queue[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Queue()

    async def main() -> None:
        stop = asyncio.Event()
        stops.put((asyncio.get_running_loop(), stop))
        await serve(settings, clock=clock or SystemClock(), announce=announced.put, stop=stop)

    def run() -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(main())
        except BaseException as error:  # noqa: BLE001 - handed to the test
            announced.put(error)

    thread = threading.Thread(target=run, name="ingress")
    thread.start()
    first = announced.get(timeout=30)
    if isinstance(first, BaseException):
        thread.join()
        raise first
    try:
        yield first
    finally:
        loop, stop = stops.get()
        loop.call_soon_threadsafe(stop.set)
        thread.join(timeout=30)
        assert not thread.is_alive()


@contextmanager
def process(settings: Settings) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`roomkeeper ingress run` as a process of its own while the context lasts; gives its URL and the process."""
    logged = settings.model_copy(update={"log": settings.log.model_copy(update={"format": "json"})})
    child = subprocess.Popen(
        [sys.executable, "-m", "roomkeeper", "ingress", "run"],
        env=environment_for_children(logged),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stderr is not None
    try:
        lines = []
        for line in child.stderr:
            lines.append(line)
            if '"ingress.listening"' in line:
                threading.Thread(target=child.stderr.read, daemon=True).start()
                yield json.loads(line)["url"], child
                break
        else:
            raise AssertionError("".join(lines))
    finally:
        if child.poll() is None:
            child.terminate()
        child.wait(timeout=30)


def signed(body: bytes, *, secret: str = SECRET, at: datetime | int | None = None) -> dict[str, str]:
    """The headers that Zoom sends with this body."""
    moment = at if at is not None else SystemClock().now()
    seconds = str(moment if isinstance(moment, int) else int(moment.timestamp()))
    signature = digest(secret.encode(), f"v0:{seconds}:".encode() + body, "sha256").hex()
    return {
        "content-type": "application/json; charset=utf-8",
        "x-zm-request-timestamp": seconds,
        "x-zm-signature": f"v0={signature}",
        "x-zm-request-id": "f35c4be2_0a1b_2c3d_4e5f_0123456789ab",
    }


def post(
    url: str,
    body: bytes,
    *,
    secret: str = SECRET,
    at: datetime | int | None = None,
    path: str = "/webhooks/zoom",
) -> httpx.Response:
    """One signed delivery."""
    return httpx.post(url + path, content=body, headers=signed(body, secret=secret, at=at), timeout=10)


def new_api_key(settings: Settings, account_id: str = ACCOUNT) -> str:
    """An API key of an account, in clear."""
    with connect(settings.postgres, role="tests") as connection:
        return create_key(connection, account_id=account_id, name="test", actor="tests", at=SystemClock().now())


def client(url: str, key: str) -> httpx.Client:
    """An HTTP client with this key."""
    return httpx.Client(base_url=url, headers={"authorization": f"Bearer {key}"}, timeout=40)


def records(settings: Settings, topic: str) -> list[Message]:
    """Everything on a topic, partition by partition."""
    name = physical(topic, prefix=settings.kafka.topic_prefix)
    consumer = Consumer(dict(consumer_config(settings.kafka, client_id="tests", group="tests")))
    found: list[Message] = []
    try:
        for partition in consumer.list_topics(name, timeout=10).topics[name].partitions:
            found += _partition(consumer, name, partition)
    finally:
        consumer.close()
    return found


def _partition(consumer: Consumer, name: str, partition: int) -> list[Message]:
    low, high = consumer.get_watermark_offsets(TopicPartition(name, partition), timeout=10)
    consumer.assign([TopicPartition(name, partition, low)])
    found: list[Message] = []
    while len(found) < high - low:
        message = consumer.poll(10)
        assert message is not None, f"{name}-{partition}: {len(found)} of {high - low} records"
        assert message.error() is None, message.error()
        found.append(message)
    return found
