"""The producers: an acknowledgement for each record, a deadline for each, and errors in Roomkeeper's families."""

from __future__ import annotations

import asyncio
import time

import pytest

from runtime.kafka.async_producer import AsyncProducer
from runtime.kafka.config import MESSAGE_MAX_BYTES
from runtime.kafka.producer import Outgoing, Producer
from runtime.settings import KafkaSettings, Settings
from runtime.topics import DEAD_LETTERS, SECURITY_ALERTS, physical
from schemas.errors import BadMessage, Unavailable
from tests.ingress import prepared, records

NOBODY = KafkaSettings(bootstrap_servers="127.0.0.1:1")


def alert(settings: Settings, number: int) -> Outgoing:
    """A record for a topic of one partition."""
    topic = physical(SECURITY_ALERTS, prefix=settings.kafka.topic_prefix)
    return Outgoing(topic=topic, key=b"k", value=str(number).encode(), headers=[("n", b"1")])


async def test_every_record_gets_its_own_acknowledgement_in_order(settings: Settings) -> None:
    """Two thousand records at once: each future has its own offset, and the topic has them in their order."""
    ready = prepared(settings)
    async with AsyncProducer(ready.kafka, client_id="t", timeout_seconds=30, max_in_flight=2_000) as producer:
        places = await asyncio.gather(*(producer.deliver(alert(ready, number)) for number in range(2_000)))
        in_flight = producer.in_flight
    assert [place.offset for place in places] == list(range(2_000))
    assert in_flight == 0
    assert [message.value() for message in records(ready, SECURITY_ALERTS)] == [b"%d" % n for n in range(2_000)]


def test_a_blocking_producer_waits_for_all_of_its_records(settings: Settings) -> None:
    """`send_all` gives the place of each record, in their order."""
    ready = prepared(settings)
    with Producer(ready.kafka, client_id="t") as producer:
        places = producer.send_all([alert(ready, number) for number in range(100)])
        one = producer.send(alert(ready, 100))
    assert [place.offset for place in (*places, one)] == list(range(101))


def test_a_dead_letter_of_the_largest_record_passes_with_its_headers(settings: Settings) -> None:
    """The largest record of any other topic fits into `dead-letters` with a long history beside it."""
    ready = prepared(settings)
    topic = physical(DEAD_LETTERS, prefix=ready.kafka.topic_prefix)
    letter = Outgoing(topic=topic, key=b"k", value=bytes(MESSAGE_MAX_BYTES), headers=[("history", bytes(20_000))])
    with Producer(ready.kafka, client_id="t") as producer:
        assert producer.send(letter).offset == 0


async def test_a_deadline_holds_whatever_the_broker_does() -> None:
    """With no broker at all, a record fails as unavailable soon after its time, and not a second later."""
    async with AsyncProducer(NOBODY, client_id="t", timeout_seconds=1.0, max_in_flight=10) as producer:
        began = time.monotonic()
        with pytest.raises(Unavailable):
            await producer.deliver(Outgoing(topic="t", key=None, value=b""))
        assert 0.9 < time.monotonic() - began < 1.5


async def test_more_than_may_wait_is_refused_at_once() -> None:
    """Beyond `max_in_flight` nothing is queued, so memory is bounded while the broker is away."""
    async with AsyncProducer(NOBODY, client_id="t", timeout_seconds=1.0, max_in_flight=3) as producer:
        waiting = [producer.deliver(Outgoing(topic="t", key=None, value=b"")) for _ in range(3)]
        with pytest.raises(Unavailable, match="3 records wait"):
            producer.deliver(Outgoing(topic="t", key=None, value=b""))
        assert all(isinstance(each, Unavailable) for each in await asyncio.gather(*waiting, return_exceptions=True))


async def test_what_nobody_awaits_any_more_does_no_harm(settings: Settings) -> None:
    """A cancelled wait leaves the record on its way, and the next one is served."""
    ready = prepared(settings)
    async with AsyncProducer(ready.kafka, client_id="t", timeout_seconds=30, max_in_flight=10) as producer:
        producer.deliver(alert(ready, 0)).cancel()
        place = await producer.deliver(alert(ready, 1))
    assert place.offset == 1


def test_a_record_that_is_too_large_is_a_bad_message(settings: Settings) -> None:
    """It is refused before it is sent."""
    with Producer(settings.kafka, client_id="t") as producer, pytest.raises(BadMessage):
        producer.send(Outgoing(topic="t", key=None, value=b"x" * 2_000_000))
