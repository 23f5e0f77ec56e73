"""Readiness: a process that says it is ready has nothing left to wait for."""

from __future__ import annotations

import asyncio
import socket

import httpx
import pytest

from runtime.clock import SystemClock
from runtime.kafka.async_producer import AsyncProducer
from runtime.settings import KafkaSettings, Settings
from runtime.topics import ZOOM_EVENTS, physical
from schemas.errors import Misconfigured, RoomkeeperError, Unavailable
from tests.ingress import FixedClock, Receiver, new_api_key, prepared, serving
from tests.waiting import wait_for

BODY = b'{"event":"meeting.started","event_ts":1773136800000,"payload":{"object":{"id":91000000002,"uuid":"u"}}}'


def test_the_first_requests_to_a_process_that_is_ready_are_taken(settings: Settings) -> None:
    """Once `/health/ready` says so, the very first webhook and the very first create are acknowledged."""
    ready = prepared(settings)
    with serving(ready) as url:
        wait_for(lambda: httpx.get(url + "/health/ready", timeout=10).is_success, what="readiness")
        receiver = Receiver(url=url, settings=ready, clock=FixedClock(at=SystemClock().now()))
        webhook = receiver.post(BODY)
        create = httpx.post(
            url + "/v1/meetings",
            json={"host": "h@example.com", "topic": "t", "start_time": "2026-12-01T10:00:00Z"},
            headers={"authorization": f"Bearer {new_api_key(ready)}", "idempotency-key": "first-0001"},
            timeout=10,
        )
    assert (webhook.status_code, create.status_code) == (204, 202)


@pytest.mark.parametrize(("topic", "fault"), [("no-such-topic", Misconfigured), (ZOOM_EVENTS, None)])
async def test_a_producer_looks_up_its_topics_over_its_own_connection(
    settings: Settings, topic: str, fault: type[RoomkeeperError] | None
) -> None:
    """A topic that is there is known afterwards; one that is not is a misconfiguration."""
    kafka = prepared(settings).kafka
    assert await _looked_up(kafka, physical(topic, prefix=kafka.topic_prefix)) is fault


async def test_a_producer_without_a_broker_is_not_connected() -> None:
    """Nobody listening is an outage, told within the time-out."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        kafka = KafkaSettings(bootstrap_servers=f"127.0.0.1:{nobody.getsockname()[1]}")
        assert await _looked_up(kafka, "any") is Unavailable


async def _looked_up(kafka: KafkaSettings, topic: str) -> type[RoomkeeperError] | None:
    """What a fresh producer raises when it looks up the topic."""
    async with AsyncProducer(kafka, client_id="test", timeout_seconds=2.0, max_in_flight=10) as producer:
        try:
            await asyncio.to_thread(producer.look_up, [topic], timeout_seconds=2.0)
        except RoomkeeperError as error:
            return type(error)
    return None
