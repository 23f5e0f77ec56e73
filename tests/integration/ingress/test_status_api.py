"""`/v1/status`: what a caller sees of Zoom's troubles, and that requests are taken meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from runtime.postgres import Connection, connect
from tests.deciding import deciding
from tests.ingress import ACCOUNT
from tests.integration.ingress.conftest import Running
from tests.waiting import wait_for

MEETING = {"host": "host@example.com", "topic": "Planning call", "start_time": "2027-03-20T09:00:00Z"}


@pytest.fixture
def database(running: Running) -> Iterator[Connection]:
    """The database of the running ingress; its room work is forgotten afterwards."""
    with connect(running.settings.postgres, role="tests", autocommit=True) as connection:
        yield connection
        for table in ("room_requests", "zoom_breakers", "parked"):
            connection.execute(f"DELETE FROM {table}")


@pytest.fixture
def waiting(running: Running, api: httpx.Client, database: Connection) -> int:
    """Status of the answer to a create whose room work waits, as it does when Zoom is not called."""
    with deciding(running.settings):
        answer = api.post("/v1/meetings", json=MEETING, headers={"idempotency-key": uuid4().hex, "prefer": "wait=1"})
        wait_for(lambda: status(api)["queue"]["depth"], what="the request")
    return answer.status_code


def status(api: httpx.Client) -> dict[str, Any]:
    """What the status says."""
    found: dict[str, Any] = api.get("/v1/status").json()
    return found


def test_an_open_breaker_degrades(running: Running, api: httpx.Client, database: Connection, waiting: int) -> None:
    """202 for who waits, and the status names the breaker, the queue's depth and age, and the next attempt."""
    database.execute("INSERT INTO zoom_breakers VALUES (%s, 'open', 5, now() + interval '15 seconds')", (ACCOUNT,))
    database.execute("UPDATE room_requests SET due_at = %s", (running.clock.now() + timedelta(minutes=5),))
    running.clock.advance(seconds=90)
    told = status(api)
    assert (waiting, told["status"], told["reasons"], told["breaker"]) == (202, "degraded", ["breaker_open"], "open")
    assert (told["queue"]["depth"], told["queue"]["due"], told["queue"]["oldest_seconds"]) == (1, 0, 90.0)
    assert told["queue"]["next_attempt_at"] is not None


def test_a_provider_that_is_off_degrades(api: httpx.Client, database: Connection, waiting: int) -> None:
    """As long as requests wait for it."""
    database.execute("UPDATE room_requests SET outcome = 'provider_unavailable'")
    off = status(api)
    database.execute("UPDATE room_requests SET outcome = NULL")
    assert (off["status"], off["reasons"], status(api)["status"]) == ("degraded", ["provider_unavailable"], "ok")


def test_pauses_are_shown(running: Running, api: httpx.Client, other_api: httpx.Client, database: Connection) -> None:
    """An account that is paused is degraded; a host at its daily limit is only told of; others see nothing of either."""
    until = running.clock.now() + timedelta(hours=1)
    rows = [("creates", "", "9999-12-31Z", "maintenance"), ("host", "host@example.com", until, "daily_limit")]
    for row in rows:
        database.execute("INSERT INTO parked VALUES (%s, %s, %s, now(), %s, %s)", (ACCOUNT, *row))
    told = status(api)
    assert (told["status"], told["reasons"]) == ("degraded", ["creates_paused"])
    assert [(each["scope"], each["host"], each["until_at"] is None) for each in told["pauses"]] == [
        ("creates", None, True),
        ("host", "host@example.com", False),
    ]
    assert (status(other_api)["status"], status(other_api)["pauses"]) == ("ok", [])
