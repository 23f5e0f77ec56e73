"""Ingress as tests run it: the real server on a free port, in a thread or as a process, and signed requests to it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from queue import Queue
from typing import Any
from uuid import uuid4

import httpx
import orjson
import uvloop
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
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
from runtime.topics import DEAD_LETTERS, ZOOM_EVENTS, physical
from runtime.topics import load as load_topics
from schemas.codec import decode
from schemas.records.zoom_events import ZoomEvent
from tests.plain_http import NO_TLS
from tests.waiting import wait_for
from zoom.signature import sign

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
def process(settings: Settings, *, log: list[str] | None = None) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`roomkeeper ingress run` as a process of its own; gives its URL and the process, and puts its lines into `log`."""
    lines = [] if log is None else log
    logged = settings.model_copy(update={"log": settings.log.model_copy(update={"format": "json"})})
    child = subprocess.Popen(
        [sys.executable, "-m", "roomkeeper", "ingress", "run"],
        env=environment_for_children(logged),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stderr is not None
    try:
        for line in child.stderr:
            lines.append(line)
            if '"ingress.listening"' in line:
                rest = threading.Thread(target=lambda: lines.extend(child.stderr or ()), daemon=True)
                rest.start()
                yield json.loads(line)["url"], child
                break
        else:
            raise AssertionError("".join(lines))
    finally:
        if child.poll() is None:
            child.terminate()
        child.wait(timeout=30)


def signed(
    body: bytes, *, secret: str = SECRET, at: datetime | None = None, request_id: str = "f35c4be2_0a1b"
) -> dict[str, str]:
    """The headers that Zoom sends with this body."""
    seconds = str(int((at or SystemClock().now()).timestamp()))
    signature = sign(body, timestamp=seconds.encode(), secret=secret.encode())
    return {
        "content-type": "application/json; charset=utf-8",
        "x-zm-request-timestamp": seconds,
        "x-zm-signature": signature.decode(),
        "x-zm-request-id": request_id,
    }


@cache
def _http() -> httpx.Client:
    """One client for all deliveries: making one takes longer than any delivery."""
    return httpx.Client(
        timeout=10, verify=NO_TLS, limits=httpx.Limits(max_connections=None, max_keepalive_connections=None)
    )


@dataclass(slots=True, kw_only=True)
class Receiver:
    """A running ingress, as Zoom and the broker see it; each test has a request id of its own to find its records by."""

    url: str
    settings: Settings
    clock: FixedClock
    request_id: str = field(default_factory=lambda: uuid4().hex)

    def post(
        self,
        body: bytes | dict[str, Any],
        *,
        secret: str = SECRET,
        at: datetime | None = None,
        path: str = "/webhooks/zoom",
        headers: Mapping[str, str | None] | None = None,
    ) -> httpx.Response:
        """One signed delivery; `headers` replace its own, None leaves one out."""
        raw = body if isinstance(body, bytes) else orjson.dumps(body)
        given = {**signed(raw, secret=secret, at=at or self.clock.at, request_id=self.request_id), **(headers or {})}
        encoded = [(name.encode(), value.encode()) for name, value in given.items() if value is not None]
        return _http().post(self.url + path, content=raw, headers=encoded)

    def events(self) -> list[ZoomEvent]:
        """What lies on `zoom-events` of this test's deliveries."""
        found = [decode(message.value(), ZoomEvent) for message in records(self.settings, ZOOM_EVENTS)]
        return [event for event in found if event.request_id == self.request_id]

    def dead_letters(self) -> list[Message]:
        """What lies on `dead-letters` of this test's deliveries."""
        mine = ("x-zm-request-id", self.request_id.encode())
        return [message for message in records(self.settings, DEAD_LETTERS) if mine in headers_of(message)]


def new_api_key(settings: Settings, account_id: str = ACCOUNT) -> str:
    """An API key of an account, in clear."""
    with connect(settings.postgres, role="tests") as connection:
        return create_key(connection, account_id=account_id, name="test", actor="tests", at=SystemClock().now())


def client(url: str, key: str) -> httpx.Client:
    """An HTTP client with this key."""
    return httpx.Client(base_url=url, headers={"authorization": f"Bearer {key}"}, timeout=40, verify=NO_TLS)


def headers_of(message: Message) -> list[tuple[str, bytes | None]]:
    """A record's headers as bytes."""
    found = message.headers() or []
    pairs = found.items() if isinstance(found, dict) else found
    return [(name, value.encode() if isinstance(value, str) else value) for name, value in pairs]


def records(settings: Settings, topic: str) -> list[Message]:
    """Everything on a topic, each partition in its order."""
    name = physical(topic, prefix=settings.kafka.topic_prefix)
    # A short wait at the broker: what is read is there already.
    quick = {**consumer_config(settings.kafka, client_id="tests", group="tests"), "fetch.wait.max.ms": 5}
    consumer = Consumer(dict(quick))
    try:
        places = [TopicPartition(name, each) for each in consumer.list_topics(name, timeout=10).topics[name].partitions]
        ends = wait_for(lambda: _ends(consumer, places), what=f"leaders of {name}")
        consumer.assign(
            [TopicPartition(name, place.partition, low) for place, (low, _) in zip(places, ends, strict=True)]
        )
        wanted = sum(high - low for low, high in ends)
        found: list[Message] = []
        while len(found) < wanted:
            message = consumer.poll(10)
            assert message is not None, f"{name}: {len(found)} of {wanted} records"
            assert message.error() is None, message.error()
            found.append(message)
        return found
    finally:
        consumer.close()


def _ends(consumer: Consumer, places: list[TopicPartition]) -> list[tuple[int, int]]:
    """First and next offset of each partition; nothing while a fresh topic has no leaders yet."""
    try:
        return [consumer.get_watermark_offsets(place, timeout=10) for place in places]
    except KafkaException as error:
        if error.args[0].retriable() or error.args[0].code() == KafkaError.NOT_LEADER_FOR_PARTITION:
            return []
        raise
