"""`roomkeeper poll` as an operator runs it in a pipe, against a real broker, a real database and a simulated Zoom."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
import structlog
from psycopg.types.json import Jsonb

from roomkeeper.cli import main
from runtime.clock import SystemClock
from runtime.environment import environment_for_children
from runtime.postgres import connect
from runtime.settings import Settings
from schemas.codec import decode
from schemas.records.zoom_events import ZoomEvent
from tests.ingress import prepared, records
from tests.simulated_zoom import ACCOUNT, HOST, SimulatedZoom, config, simulated_zoom
from tests.zoom_calls import gateway_account

Run = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def zoom() -> Iterator[SimulatedZoom]:
    """A simulated Zoom at the present time."""
    with simulated_zoom(config(limits=False)) as running:
        yield running


@pytest.fixture
def own(settings: Settings, zoom: SimulatedZoom) -> Settings:
    """Settings with an account whose gateway leads to the simulator."""
    account = gateway_account(zoom.address, plan="business")
    return prepared(settings, account)


@pytest.fixture
def poll(own: Settings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Runs `roomkeeper poll ...`; gives exit code, JSON of the output, and the words of the error."""
    for name, value in environment_for_children(own).items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str) -> tuple[int, Any, str]:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["poll", *arguments])
        out, err = capfd.readouterr()
        code = ended.value.code
        return code if isinstance(code, int) else 0, json.loads(out) if out else None, err

    yield run
    structlog.reset_defaults()  # a command logs to what was its standard error


def late_room(own: Settings, zoom: SimulatedZoom) -> str:
    """A room that was to start an hour ago, as the read model has it."""
    now = SystemClock().now()
    start_at = now - timedelta(hours=1)
    body = {"topic": "Late", "type": 2, "start_time": f"{now + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}", "duration": 30}
    made = zoom.control("POST", "/meetings", json={"account_id": ACCOUNT.account_id, "host": HOST, "body": body})
    with connect(own.postgres, role="test", autocommit=True) as connection:
        connection.execute(
            "INSERT INTO room_states (account_id, zoom_id, topic, host_id, start_at, duration_minutes, said, said_at,"
            " proven_at, last_seen_event_at, shown, generation, revision)"
            " VALUES (%s, %s, 'Late', %s, %s, 30, 'created', %s, %s, %s, %s, 0, 0)",
            (
                ACCOUNT.account_id,
                str(made["id"]),
                made["host_id"],
                start_at,
                start_at,
                start_at,
                start_at,
                Jsonb({"topic": "Late", "duration": 30}),
            ),
        )
    return str(made["id"])


def test_one_pass_and_what_it_knows(poll: Run, own: Settings, zoom: SimulatedZoom) -> None:
    """`explain` says what would be asked, `--once` asks and tells Kafka, and `explain` says that it did."""
    room = late_room(own, zoom)
    _, before, _ = poll("explain", room)
    code, report, error = poll("--once")
    _, after, _ = poll("explain", room)
    told = [decode(each.value() or b"", ZoomEvent) for each in records(own, "zoom-events")]
    held = {rule["name"]: rule for rule in before["rules"] if rule["holds"]}
    assert (set(held), before["would_ask"]) == ({"should_have_started"}, ["past", "room"])
    assert (code, report["rooms"], report["rules"], report["outcomes"]) == (
        0,
        1,
        {"should_have_started": 1},
        {"done": 1},
    ), error
    assert [(each.name, each.zoom_id, each.source) for each in told] == [("observation.meeting", room, "poll")]
    assert (after["would_ask"], after["visit"]["rules"]) == ([], ["should_have_started"])
    assert datetime.fromisoformat(after["visit"]["next_at"]) > SystemClock().now()


def test_account_without_a_gateway_is_asked_nothing(
    poll: Run, own: Settings, zoom: SimulatedZoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`explain` says so, whatever rule holds, and a pass calls nobody."""
    room = late_room(own, zoom)
    without = own.model_copy(update={"accounts": (own.accounts[0].model_copy(update={"gateway": False}),)})
    for name, value in environment_for_children(without).items():
        monkeypatch.setenv(name, value)
    _, found, _ = poll("explain", room)
    _, report, _ = poll("--once")
    assert ([rule["name"] for rule in found["rules"] if rule["holds"]], found["would_ask"], found["paused"]) == (
        ["should_have_started"],
        [],
        "no_gateway",
    )
    assert (report["rooms"], sum(zoom.service.calls.values())) == (0, 0)


def test_day_whose_share_is_used_up_ends_the_accounts_part(
    poll: Run, own: Settings, zoom: SimulatedZoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a plan with limits a day, a pass stops at the poller's share of them, and says why."""
    late_room(own, zoom)
    free = own.model_copy(update={"accounts": (own.accounts[0].model_copy(update={"plan": "free"}),)})
    for name, value in environment_for_children(free).items():
        monkeypatch.setenv(name, value)
    with connect(own.postgres, role="test", autocommit=True) as connection:
        connection.execute(
            "INSERT INTO daily_budgets SELECT %s, 'poller', label, %s, 6000 FROM unnest('{light,medium}'::text[]) AS label",
            (ACCOUNT.account_id, SystemClock().now()),
        )
    _, report, _ = poll("--once")
    assert report["stopped"] == {ACCOUNT.account_id: "poller_share_used_up"}
    assert sum(zoom.service.calls.values()) == 0


def test_room_of_several_accounts_is_explained_for_one(
    poll: Run, own: Settings, zoom: SimulatedZoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where two accounts know the number, `explain` wants to be told which."""
    room = late_room(own, zoom)
    other = own.accounts[0].model_copy(update={"account_id": "Acct0ExampleNeutral002"})
    both = own.model_copy(update={"accounts": (*own.accounts, other)})
    for name, value in environment_for_children(both).items():
        monkeypatch.setenv(name, value)
    with connect(own.postgres, role="test", autocommit=True) as connection:
        connection.execute(
            "INSERT INTO room_states (account_id, zoom_id, generation, revision) VALUES ('Acct0ExampleNeutral002', %s, 0, 0)",
            (room,),
        )
    code, _, error = poll("explain", room)
    _, found, _ = poll("explain", room, "--account", ACCOUNT.account_id)
    assert (code, error.count("\n"), "--account" in error) == (2, 1, True)
    assert found["known"]["account_id"] == ACCOUNT.account_id


def test_once_goes_with_no_further_command(poll: Run) -> None:
    """It is refused before anything is asked."""
    code, _, error = poll("--once", "run")
    assert (code, "--once" in error) == (2, True)


def test_a_room_that_nobody_knows_is_said_so(poll: Run) -> None:
    """It ends with one line and exit code 2."""
    code, _, error = poll("explain", "91000000009")
    assert (code, error) == (2, "roomkeeper: 91000000009: no such room\n")
