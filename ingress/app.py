"""Ingress, put together: one ASGI application, and everything behind it, for one event loop."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from ingress.api.application import create_api
from ingress.body import AsgiApp, Receive, Scope, Send
from ingress.bounds import Bounded
from ingress.commands import CommandGate
from ingress.intake import Intake
from ingress.key_ring import KeyRing
from ingress.readiness import PATIENCE_SECONDS, Readiness
from ingress.reading import Reader
from ingress.refusals import Refusals
from ingress.secrets import secrets_of
from ingress.services import Services
from ingress.waiting import Bell
from ingress.watching import Watched
from ingress.webhooks import PATH, Webhooks
from runtime.cipher import Cipher
from runtime.clock import Clock
from runtime.kafka.async_producer import AsyncProducer
from runtime.metrics.catalogue.ingress import INGRESS_IN_FLIGHT
from runtime.metrics.registry import Metrics
from runtime.postgres import AsyncDatabase
from runtime.settings import Settings
from runtime.topic_admin import require_topics
from runtime.topics import Catalogue, Role, physical
from runtime.topics import load as load_topics

ROLE: Role = "ingress"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingress:
    """The running parts that the server needs to know."""

    app: AsgiApp
    producer: AsyncProducer
    bell: Bell
    jobs: tuple[asyncio.Task[None], ...]
    """Background work that never ends by itself: one that does has failed, and leaving `ingress` raises its error."""


class Split:
    """Webhooks to their own fast path, all else to the API."""

    def __init__(self, *, webhooks: AsgiApp, api: AsgiApp) -> None:
        """Both are complete applications."""
        self._webhooks = webhooks
        self._api = api

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """What answers one request."""
        path: str = scope["path"]
        if path == PATH or (path.startswith(PATH + "/") and "/" not in path[len(PATH) + 1 :]):
            return self._webhooks(scope, receive, send)
        return self._api(scope, receive, send)


@asynccontextmanager
async def ingress(settings: Settings, *, clock: Clock) -> AsyncIterator[Ingress]:
    """Ingress while the context lasts, on the running loop.

    Raises:
        Misconfigured: no broker, database or encryption key is named, or one of them does not hold.
    """
    cipher = Cipher(settings.security.encryption_keys)
    secrets = secrets_of(settings.accounts)
    metrics = Metrics()
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(AsyncDatabase(settings.postgres, role=ROLE))
        producer = await stack.enter_async_context(_producer(settings))
        metrics.gauge(INGRESS_IN_FLIGHT).set_function(lambda: producer.in_flight)
        prefix = settings.kafka.topic_prefix
        refusals = Refusals(clock=clock, producer=producer, topic_prefix=prefix, process=process_name())
        stack.push_async_callback(refusals.flush)
        bell = Bell(settings.postgres, most_waiting=settings.ingress.max_waiting)
        jobs = await stack.enter_async_context(running(refusals.run(), bell.listen()))
        webhooks = Webhooks(
            settings.ingress,
            secrets=secrets,
            intake=Intake(topic_prefix=prefix, cipher=cipher),
            producer=producer,
            refusals=refusals,
            clock=clock,
            metrics=metrics,
        )
        services = _services(settings, clock=clock, database=database, producer=producer, bell=bell, metrics=metrics)
        yield Ingress(app=Split(webhooks=webhooks, api=_api(services)), producer=producer, bell=bell, jobs=jobs)


def process_name() -> str:
    """This process among all that run."""
    return f"{socket.gethostname()}:{os.getpid()}"


def _producer(settings: Settings) -> AsyncProducer:
    return AsyncProducer(
        settings.kafka,
        client_id=ROLE,
        timeout_seconds=settings.ingress.produce_timeout_seconds,
        max_in_flight=settings.ingress.max_in_flight,
    )


def _services(
    settings: Settings, *, clock: Clock, database: AsyncDatabase, producer: AsyncProducer, bell: Bell, metrics: Metrics
) -> Services:
    check_topics = partial(_check_topics, settings, producer, load_topics())
    readiness = Readiness(database=database, check_topics=check_topics, clock=clock)
    return Services(
        settings=settings.ingress,
        clock=clock,
        keys=KeyRing(database, clock=clock, cache_seconds=settings.ingress.key_cache_seconds),
        gate=CommandGate(database=database, producer=producer, clock=clock, topic_prefix=settings.kafka.topic_prefix),
        reader=Reader(database),
        bell=bell,
        metrics=metrics,
        faults=readiness.faults,
    )


def _check_topics(settings: Settings, producer: AsyncProducer, catalogue: Catalogue) -> None:
    """Also over the producer's own connection: the first record of a process that is ready waits for nothing."""
    require_topics(settings, ROLE, catalogue=catalogue)
    names = [physical(name, prefix=settings.kafka.topic_prefix) for name in catalogue.used_by(ROLE)]
    producer.look_up(names, timeout_seconds=PATIENCE_SECONDS)


def _api(services: Services) -> AsgiApp:
    bounded = Bounded(create_api(services), limit_bytes=services.settings.max_request_bytes)
    return Watched(bounded, clock=services.clock, metrics=services.metrics)


@asynccontextmanager
async def running(*jobs: Coroutine[Any, Any, None]) -> AsyncIterator[tuple[asyncio.Task[None], ...]]:
    """Background work while the context lasts; leaving it raises the error of a job that failed."""
    tasks = tuple(asyncio.create_task(job) for job in jobs)
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
