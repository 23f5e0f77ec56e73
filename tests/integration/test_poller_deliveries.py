"""Webhooks that Zoom gave up on, taken from its logs: over the simulated Zoom's HTTP and a real PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import orjson
import pytest
from pydantic import SecretStr

from reconciler.poller.deliveries import PAGES, Deliveries
from runtime.cipher import Cipher, new_key
from runtime.kafka.producer import Outgoing
from runtime.metrics.catalogue.poller import POLLER_DELIVERIES
from runtime.metrics.registry import Metrics
from runtime.postgres import AsyncDatabase, connect
from runtime.settings import SecuritySettings, Settings
from schemas.codec import decode
from schemas.dead_letters import letter_id_of, parse_dead_letter
from schemas.errors import Unavailable
from schemas.records.zoom_events import ZoomEvent
from simulator.delivery_log import Attempt
from simulator.faults import Kind
from tests.command_plane import Sent
from tests.simulated_zoom import ACCOUNT, HOST, ManualClock, SimulatedZoom, config, simulated_zoom
from tests.zoom_calls import calls, order, zoom_client
from zoom.client.client import always
from zoom.webhooks import parse

OURS = ACCOUNT.account_id


class Deposed(Exception):
    """Another process leads."""


@dataclass(kw_only=True)
class Logs:
    """An app whose webhooks do not arrive, and who reads its logs."""

    zoom: SimulatedZoom
    clock: ManualClock
    settings: Settings
    sent: Sent = field(default_factory=Sent)
    metrics: Metrics = field(default_factory=Metrics)

    @asynccontextmanager
    async def reader(self) -> AsyncIterator[Deliveries]:
        """A process that reads them."""
        async with (
            AsyncDatabase(self.settings.postgres, role="poller") as database,
            zoom_client(self.zoom, self.clock) as client,
        ):
            yield Deliveries(
                database,
                client=client,
                sender=self.sent,
                settings=self.settings,
                clock=self.clock,
                metrics=self.metrics,
            )

    async def fetch(self) -> int:
        """One pass of a process of its own."""
        async with self.reader() as deliveries:
            return await deliveries.fetch(OURS, permit=always)

    def failed(self, body: bytes, *, number: int = 0, at: datetime | None = None, **other: Any) -> None:
        """An attempt that failed stands in the logs."""
        attempt: dict[str, Any] = {
            "account_id": OURS,
            "event": "meeting.started",
            "zoom_id": "91000000001",
            "request_id": f"request_{number:06d}",
            "tracking_id": "WEB_1",
            "endpoint": "https://rooms.example.com/webhooks/zoom",
            "headers": {"x-zm-request-id": f"request_{number:06d}"},
            "body": body,
            "retry_num": 3,
            "at": at or self.clock.now(),
            "status": 503,
            "reason": None,
            "answer": b"",
        }
        self.zoom.service.deliveries.log.add(Attempt(**{**attempt, **other}))

    def events(self) -> list[ZoomEvent]:
        """What went to `zoom-events`."""
        return [decode(each.value, ZoomEvent) for each in self.sent.records if each.topic.endswith("zoom-events")]

    def dead_letters(self) -> list[Outgoing]:
        """What went to `dead-letters`."""
        return [each for each in self.sent.records if each.topic.endswith("dead-letters")]

    def counted(self) -> tuple[float, float, float]:
        """Deliveries taken, unreadable and refused."""
        taken, unreadable, refused = (
            self.metrics.value(POLLER_DELIVERIES, outcome=each) for each in ("taken", "unreadable", "refused")
        )
        return taken, unreadable, refused


@pytest.fixture
def logs(settings: Settings) -> Iterator[Logs]:
    """Logs of the test's own."""
    clock = ManualClock()
    sealed = settings.model_copy(update={"security": SecuritySettings(encryption_keys=(SecretStr(new_key()),))})
    with simulated_zoom(config(limits=False), clock) as zoom:
        yield Logs(zoom=zoom, clock=clock, settings=sealed)


def started(number: int, **other: Any) -> bytes:
    """A body of its own."""
    run = {"id": "91000000001", "uuid": f"uuid-{number:06d}==", "start_time": "2026-12-01T14:00:00Z"}
    return orjson.dumps(
        {"event": "meeting.started", "event_ts": 1_796_133_600_000, "payload": {"account_id": OURS, "object": run}}
        | other
    )


async def test_deliveries_given_up_on_are_sent_as_they_would_have_come(logs: Logs) -> None:
    """Each once, with its own bytes and request id, whatever its number of attempts; new ones with the next pass."""
    logs.zoom.control("PUT", "/webhooks/target", json={"url": "http://127.0.0.1:1/webhooks/zoom"})
    logs.zoom.control("POST", "/faults", json={"kind": "give_up"})
    room = logs.zoom.control(
        "POST", "/meetings", json={"account_id": OURS, "host": HOST, "body": {"topic": "Übersicht"}}
    )
    logs.zoom.control("POST", f"/meetings/{room['id']}/join", json={"name": "Guest"})
    first, again = await logs.fetch(), await logs.fetch()
    logs.clock.advance(minutes=5)
    logs.zoom.control("POST", f"/meetings/{room['id']}/end")
    later = await logs.fetch()
    attempts = list(logs.zoom.service.deliveries.log.newest(OURS, now=logs.clock.now()))
    expected = {
        (each.request_id, parse(each.body, account_id=OURS, request_id="", received_at=logs.clock.now()).body)
        for each in attempts
    }
    assert (first, again, later, len(attempts)) == (3, 0, 2, 20)
    assert {(each.request_id, each.body) for each in logs.events()} == expected
    assert {(each.source, each.account_id, each.zoom_id) for each in logs.events()} == {
        ("webhook_log", OURS, str(room["id"]))
    }


async def test_bodies_that_cannot_be_read_become_dead_letters(logs: Logs) -> None:
    """As at ingress: the bytes as they came, sealed; sent again after a crash it is the same letter."""
    raw = b'{"event": "meeting.started", "payload": {"account_id": 1}, "url": "https://example.com?zak=secret"}'
    logs.failed(raw)
    await logs.fetch()
    with connect(logs.settings.postgres, role="crash", autocommit=True) as connection:
        connection.execute("DELETE FROM taken_deliveries")
    await logs.fetch()
    letters = logs.dead_letters()
    opened = [Cipher(logs.settings.security.encryption_keys).open(each.value or b"") for each in letters]
    headers = [parse_dead_letter(each.headers) for each in letters]
    assert opened == [raw, raw]
    assert len({letter_id_of(each) for each in headers}) == 1
    assert {each.failure.stage for each in headers} == {"poller"}
    assert ("x-zm-request-id", b"request_000000") in letters[0].headers


async def test_a_body_too_large_as_an_event_becomes_a_dead_letter(logs: Logs) -> None:
    """As at ingress: the broker would refuse it, and with it each pass would end; what stands beside it is taken."""
    numbers = b",".join([b"1e15"] * 70_000)
    logs.failed(started(0).replace(b'"payload":{', b'"payload":{"numbers":[' + numbers + b"],"), number=0)
    logs.failed(started(1), number=1)
    await logs.fetch()
    assert ([each.request_id for each in logs.events()], len(logs.dead_letters())) == (["request_000001"], 1)
    assert logs.counted() == (1, 1, 0)


async def test_what_ingress_would_refuse_is_left_out(logs: Logs) -> None:
    """Another account's, too large, the URL validation, and entries without a body; what stands beside them is taken."""
    foreign = {"account_id": "Acct0ExampleNeutral002", "object": {"id": 1}}
    logs.failed(started(0, payload=foreign), number=0)
    logs.failed(started(1, filler="x" * 700_000), number=1)
    logs.failed(orjson.dumps({"event": "endpoint.url_validation", "payload": {"plainToken": "abc"}}), number=2)
    logs.failed(b"", number=3)
    logs.failed(started(4), number=4)
    await logs.fetch()
    assert ([each.request_id for each in logs.events()], logs.dead_letters()) == (["request_000004"], [])
    assert logs.counted() == (1, 0, 3)


async def test_many_are_taken_in_bounded_passes_each_once(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bad hour among a whole week: no pass makes many calls, none is left out or sent twice."""
    monkeypatch.setattr("reconciler.poller.deliveries.PAGE_SIZE", 5)
    monkeypatch.setattr("reconciler.poller.deliveries.CALLS", 10)
    crowded = [logs.clock.now() - timedelta(hours=30, seconds=10 * each) for each in range(60)]
    spread = [logs.clock.now() - timedelta(hours=6 * each) for each in range(32)]
    for number, at in enumerate(sorted([*crowded, *spread])):
        logs.failed(started(number), number=number, at=at)
    made = [0]
    async with logs.reader() as deliveries:
        while not made[1:] or made[-1] > made[-2] + 1:
            await deliveries.fetch(OURS, permit=always)
            made.append(calls(logs.zoom, "webhook_logs")[200])
    ids = [each.request_id for each in logs.events()]
    within_a_week = 60 + len([each for each in spread if each > logs.clock.now() - timedelta(days=7)])
    assert (len(ids), len(set(ids))) == (within_a_week, within_a_week)
    assert 10 <= max(after - before for before, after in pairwise(made)) < 10 + PAGES


async def test_nothing_is_lost_where_zoom_or_the_broker_fails(logs: Logs) -> None:
    """An outage of Zoom, a broker that is away and a lost lead each end the pass; the next goes on from the same place."""
    for number in range(150):
        logs.failed(started(number), number=number)
    order(logs.zoom, Kind.ERROR, "webhook_logs", status=500, count=4)
    failed = await logs.fetch()
    logs.sent.down = True
    with pytest.raises(Unavailable):
        await logs.fetch()
    logs.sent.down = False
    async with logs.reader() as deliveries:
        asked = 0

        async def permit() -> None:
            nonlocal asked
            asked += 1
            if asked > 1:
                raise Deposed

        with pytest.raises(Deposed):
            await deliveries.fetch(OURS, permit=permit)
    rest = await logs.fetch()
    ids = [each.request_id for each in logs.events()]
    assert (failed, rest, len(ids), len(set(ids))) == (0, 50, 150, 150)


async def test_app_that_may_not_read_its_logs_is_not_asked_again_for_a_day(logs: Logs) -> None:
    """Without the scope every pass would be refused, and alert; when the app has it, what is a day old is taken."""
    logs.failed(started(1))
    order(logs.zoom, Kind.ERROR, "webhook_logs", status=400, code=4711, message="does not contain scopes")
    refused = [await logs.fetch() for _ in range(3)]
    asked = calls(logs.zoom, "webhook_logs")
    logs.clock.advance(hours=24, minutes=1)
    assert (refused, asked, await logs.fetch()) == ([0, 0, 0], {400: 1}, 1)
