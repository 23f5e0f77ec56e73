"""What happens when a part fails, row by row, and when a room worker dies: processes, a simulated Zoom, nothing faked."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from reconciler.gateway.alerts import Alerts
from reconciler.gateway.tokens import SharedTokens
from runtime.cipher import Cipher, new_key
from runtime.kafka.producer import Outgoing, Producer
from runtime.postgres import AsyncDatabase
from runtime.settings import Settings
from runtime.topics import MEETING_COMMANDS, SECURITY_ALERTS, physical
from schemas.codec import decode
from schemas.ids import AccountId
from schemas.records.security_alerts import SecurityAlert
from simulator.faults import Kind
from tests.command_plane import Plane, command_plane
from tests.ingress import client, new_api_key, records
from tests.meeting_commands import Caller
from tests.soak.faults import outage
from tests.soak.pace import Pace
from tests.soak.stage import Cast, Stage
from tests.stack import Stack
from tests.waiting import wait_for
from tests.zoom_calls import calls, order
from zoom.client.tokens import TokenCall

ACCOUNT = "acct-one"
START = "2031-03-20T09:00:00Z"
PACE = Pace(divisor=24.0)
MORE_THAN_THE_LEASE_SECONDS = 5.0


@pytest.fixture(scope="module")
def stage(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """All roles, two room workers among them; each test leaves it in order."""
    cast = Cast(accounts=(ACCOUNT,), hosts=3, seed=1, workers=("rooms-1", "rooms-2"))
    with stack.corner() as settings:
        small = settings.model_copy(update={"kafka": settings.kafka.model_copy(update={"partitions": 2})})
        with Stage(given=small, pace=PACE, cast=cast, folder=tmp_path_factory.mktemp("stage")) as running:
            yield running


@pytest.fixture
def plane(settings: Settings) -> Iterator[Plane]:
    """A command plane moved step by step, for what a clock of its own shows best."""
    with command_plane(settings) as made:
        yield made


def ask(stage: Stage, key: str) -> str:
    """A create on its way; gives the meeting's id."""
    caller = Caller(key=key, account=AccountId(ACCOUNT))
    stage.send(caller.create(start_time=START, timezone="UTC", topic=key))
    return caller.meeting_id


def status_of(stage: Stage, meeting_id: str) -> str | None:
    """What the read model says of the meeting's room."""
    rows = stage.rows("SELECT room_status FROM meetings WHERE meeting_id = %s", meeting_id)
    return str(rows[0]["room_status"]) if rows else None


def wait_until_ready(stage: Stage, meeting_id: str) -> None:
    """Until the meeting has its room."""
    wait_for(lambda: status_of(stage, meeting_id) == "ready", what=f"a room, see {stage.folder}")


def rooms_made(stage: Stage, topic: str) -> int:
    """Rooms that were ever made under a topic."""
    return sum(room["topic"] == topic for room in stage.control("GET", "/truth")["rooms"])


@contextmanager
def faults(stage: Stage, *orders: dict[str, object]) -> Iterator[None]:
    """Faults in force while the context lasts."""
    stage.order(orders)
    try:
        yield
    finally:
        stage.control("DELETE", "/faults")


def test_dead_workers_call_is_taken_up_and_makes_no_second_room(stage: Stage) -> None:
    """Kill -9 in the middle of a create: within the lease and 5 s another takes it up, and finds the room."""
    meeting_id = ask(stage, "warm")
    wait_until_ready(stage, meeting_id)
    with faults(stage, {"kind": "hang", "names": ["create"], "acts": True, "seconds": 60, "count": 1}):
        meeting_id = ask(stage, "killed")
        query = "SELECT epoch, leased_by FROM room_requests WHERE meeting_id = %s"
        wait_for(lambda: rooms_made(stage, "killed"), what="the create acted")
        ((epoch, leased_by),) = [tuple(row.values()) for row in stage.rows(query, meeting_id)]
        holder = next(name for name in ("rooms-1", "rooms-2") if str(leased_by).endswith(f":{stage.pid(name)}"))
        stage.kill(holder)
        died = time.monotonic()
        claimed_again = "SELECT 1 FROM room_requests WHERE meeting_id = %s AND epoch > %s"
        wait_for(lambda: stage.rows(claimed_again, meeting_id, epoch), what="taken up")
        taken_up_seconds = time.monotonic() - died
    wait_until_ready(stage, meeting_id)
    assert taken_up_seconds <= PACE.rooms.lease_seconds + MORE_THAN_THE_LEASE_SECONDS
    assert rooms_made(stage, "killed") == 1


async def test_token_refresh_that_fails_pauses_creates_and_resumes_by_itself(plane: Plane) -> None:
    """Row "token refresh fails": retried once, then an alert and no create until there is a token again."""
    order(plane.zoom, Kind.ERROR, "token", count=None, status=500)
    plane.create()
    async with AsyncDatabase(plane.settings.postgres, role="tests") as database, httpx.AsyncClient() as http:
        call = TokenCall(http, clock=plane.clock, timeout_seconds=1.0)
        alerts, cipher = Alerts(database, clock=plane.clock), Cipher([SecretStr(new_key())])
        tokens = SharedTokens(database, call=call, cipher=cipher, alerts=alerts, clock=plane.clock)
        async with plane.worker(tokens=tokens) as worker:
            worked = [await worker.run_once(), await worker.run_once()]
            asked, standing = calls(plane.zoom, "token"), plane.rows("SELECT name FROM alerts WHERE until_at IS NULL")
            waits = plane.rows("SELECT error_code, attempts FROM room_requests")
            plane.zoom.service.faults.clear()
            plane.clock.advance(seconds=16)
            await worker.run_once()
            plane.deliver()
    assert (worked, asked, standing) == ([1, 0], {500: 2}, [("zoom_token_unavailable",)])
    assert (waits, calls(plane.zoom, "create")) == ([("token_unavailable", 0)], {201: 1})
    assert (plane.meeting.room_status, plane.rows("SELECT 1 FROM alerts WHERE until_at IS NULL")) == ("ready", [])


async def test_failing_calls_are_kept_for_as_long_as_zoom_asks(plane: Plane) -> None:
    """Row "REST 429, 5xx, network": each form of Retry-After is honoured; a daily limit parks the host until midnight."""
    plane.create()
    wishes = ("40", "{:%Y-%m-%dT%H:%M:%SZ}", "{:%a, %d %b %Y %H:%M:%S GMT}")
    async with plane.worker(gated=True) as worker:
        for said in wishes:
            until_at = plane.clock.now() + timedelta(seconds=40)
            headers = {"Retry-After": said.format(until_at)}
            order(plane.zoom, Kind.ERROR, count=1, status=429, code=429, message="rate limit", headers=headers)
            await worker.run_once()
            assert plane.rows("SELECT due_at >= %s FROM room_requests", until_at.replace(microsecond=0)) == [(True,)]
            plane.clock.advance(seconds=41)
        order(plane.zoom, Kind.ERROR, "list", status=503, body="")
        order(plane.zoom, Kind.TOO_MANY, limit="host_daily")
        await worker.run_once()
        parked = plane.rows("SELECT scope, until_at >= '2026-12-02Z' FROM parked WHERE scope = 'host'")
        early = await worker.run_once()
        plane.clock.advance(hours=9, minutes=2)
        await worker.run_once()
        plane.deliver()
    assert (parked, early, calls(plane.zoom, "create")) == ([("host", True)], 0, {429: 4, 201: 1})
    assert (plane.meeting.room_status, plane.rows("SELECT 1 FROM room_requests")) == ("ready", [])


def test_zoom_down_means_202_and_a_degraded_status_and_a_queue(stage: Stage) -> None:
    """Row "Zoom down": the breaker opens, callers get 202, the status says how much waits; all is done by itself later."""
    wait_until_ready(stage, ask(stage, "before the outage"))
    with client(stage.ingress_url, new_api_key(stage.settings, ACCOUNT)) as caller:
        with faults(stage, *map(dict, outage())):
            asked = {"host": "host-02@example.com", "topic": "during", "start_time": START, "timezone": "UTC"}
            headers = {"idempotency-key": "during", "prefer": "wait=1"}
            for number in range(6):
                ask(stage, f"during the outage {number}")
            accepted = caller.post("/v1/meetings", json=asked, headers=headers)
            down = wait_for(lambda: _degraded(caller), what="a degraded status")
            waiting = [
                row["room_status"] for row in stage.rows("SELECT room_status FROM meetings WHERE topic = 'during'")
            ]
        meeting_id = accepted.json()["meeting_id"]
        wait_until_ready(stage, meeting_id)
        well = wait_for(lambda: caller.get("/v1/status").json()["status"] == "ok", what="an ok status")
    assert (accepted.status_code, waiting, well) == (202, ["pending"], True)
    assert down["queue"]["depth"] >= 1
    assert down["queue"]["oldest_seconds"] > 0


def _degraded(caller: httpx.Client) -> dict[str, Any]:
    """The status while Zoom is down and work waits for it; empty before."""
    status: dict[str, Any] = caller.get("/v1/status").json()
    return status if "breaker" in str(status["reasons"]) and status["queue"]["depth"] else {}


def test_stream_processor_down_means_that_events_wait(stage: Stage) -> None:
    """Row "stream processor down": commands wait in Kafka; what nobody can read becomes a dead letter, the rest goes on."""
    wait_until_ready(stage, ask(stage, "before the stop"))
    stage.stop("streams")
    meeting_id = ask(stage, "while it is down")
    _garbage(stage.settings, key=meeting_id)
    another = ask(stage, "also while it is down")
    during = status_of(stage, meeting_id)
    stage.start("streams")
    for each in (meeting_id, another):
        wait_until_ready(stage, each)
    letters = wait_for(lambda: stage.rows("SELECT topic, stage FROM dead_letters"), what="a dead letter")
    assert (during, [row["topic"] for row in letters]) == (None, [MEETING_COMMANDS])


def _garbage(settings: Settings, *, key: str) -> None:
    topic = physical(MEETING_COMMANDS, prefix=settings.kafka.topic_prefix)
    with Producer(settings.kafka, client_id="tests") as producer:
        producer.send(Outgoing(topic=topic, key=key.encode(), value=b"no command"))


def test_wrong_signatures_are_401_and_one_alert(stage: Stage) -> None:
    """Row "webhook signature wrong": 401 at once for each, and one record a reason, minute and process tells of them."""
    forged = {"x-zm-signature": f"v0={'0' * 64}", "x-zm-request-timestamp": str(int(stage.clock.now().timestamp()))}
    body = b'{"event":"meeting.started","payload":{"object":{"id":1}}}'
    began = time.monotonic()
    with httpx.Client() as sender:
        found = [sender.post(f"{stage.ingress_url}/webhooks/zoom", content=body, headers=forged) for _ in range(20)]
    seconds = time.monotonic() - began
    stage.stop("ingress")  # which tells of the minute that is not over yet
    alerts = [decode(each.value() or b"", SecurityAlert) for each in records(stage.settings, SECURITY_ALERTS)]
    assert ({answer.status_code for answer in found}, seconds < 20 * 0.5) == ({401}, True)
    assert (sum(alert.count for alert in alerts), len(alerts) <= 2) == (20, True)
