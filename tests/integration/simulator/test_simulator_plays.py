"""The driver of meetings: scenarios against the clock, the truth, speed and throughput."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import orjson

from tests.simulated_zoom import ACCOUNT, HOST, SimulatedZoom, config, simulated_zoom, webhook_endpoint
from tests.waiting import wait_for


def make_room(zoom: SimulatedZoom) -> int:
    """A room made by hand."""
    order = {"account_id": ACCOUNT.account_id, "host": HOST, "body": {}}
    return int(zoom.control("POST", "/meetings", json=order)["id"])


def play(zoom: SimulatedZoom, number: int, **scenario: Any) -> dict[str, Any]:
    """Plays a scenario to its end and gives the room's truth."""
    zoom.control("POST", f"/meetings/{number}/play", json=scenario)
    played = zoom.control("GET", f"/meetings/{number}/play?wait=60")
    assert (played["done"], played["failed"]) == (True, [])
    truth: dict[str, Any] = zoom.control("GET", f"/truth/{number}")
    return truth


def instant(text: str) -> datetime:
    """An ISO time."""
    return datetime.fromisoformat(text)


def test_forty_five_minutes_at_speed_600_last_four_and_a_half_seconds() -> None:
    """The speed divides a meeting's length, and what is told of its times is true."""
    with simulated_zoom(config(speed=600)) as zoom:
        number, before = make_room(zoom), datetime.now(UTC)
        (run,) = play(zoom, number, minutes=45)["instances"]
        after = datetime.now(UTC)
    length = (instant(run["ended_at"]) - instant(run["started_at"])).total_seconds()
    assert 4 <= length <= 6
    assert before.replace(microsecond=0) <= instant(run["started_at"]) < instant(run["ended_at"]) <= after


def test_a_scenario_has_what_was_asked_for() -> None:
    """Rejoins, a second device, a breakout room, a restart and two who leave in one second all happen."""
    scenario = {"people": 9, "minutes": 60, "restarts": 1, "rejoins": 1, "second_devices": 1, "same_second": 1}
    with webhook_endpoint() as endpoint, simulated_zoom(config(speed=600)) as zoom:
        zoom.control("PUT", "/webhooks/target", json={"url": endpoint.url})
        truth = play(zoom, make_room(zoom), **scenario)
        assert zoom.control("GET", "/settled?wait=20")["settled"]
        bodies = [orjson.loads(each.body) for each in endpoint.received]
    names = Counter(body["event"] for body in bodies)
    left = Counter(
        (body["payload"]["object"]["uuid"], body["payload"]["object"]["participant"]["leave_time"])
        for body in bodies
        if body["event"] == "meeting.participant_left" and "ended" not in str(body).lower()
    )
    first, second = truth["instances"]
    assert first["uuid"] != second["uuid"]
    assert all(run["people"] and run["ended_at"] for run in (first, second))
    assert max(left.values()) >= 2
    assert max(len(person["connections"]) for person in first["people"]) >= 2
    assert names["meeting.participant_joined_breakout_room"] == 2


def test_a_person_who_rejoins_is_one_person_with_two_connections() -> None:
    """By hand: join, leave and join again under one name gives one person, whose stays are summed."""
    with simulated_zoom(config()) as zoom:
        number = make_room(zoom)
        guest = {"name": "Guest", "email": "g@example.com", "person": "g"}
        first = zoom.control("POST", f"/meetings/{number}/join", json=guest)
        zoom.control("POST", f"/meetings/{number}/people/{first['user_id']}/leave")
        second = zoom.control("POST", f"/meetings/{number}/join", json=guest)
        zoom.control("POST", f"/meetings/{number}/end")
        (run,) = zoom.control("GET", f"/truth/{number}")["instances"]
    (person,) = run["people"]
    assert first["user_id"] != second["user_id"]
    assert [each["user_id"] for each in person["connections"]] == [first["user_id"], second["user_id"]]
    assert person["identity"] == "g@example.com"


def test_hundreds_of_meetings_run_at_once() -> None:
    """Two hundred meetings of ten people play at once and every webhook of them arrives."""
    with webhook_endpoint() as endpoint, simulated_zoom(config(speed=600, limits=False)) as zoom:
        zoom.control("PUT", "/webhooks/target", json={"url": endpoint.url})
        for _ in range(200):
            make_room(zoom)
        zoom.control("POST", "/plays", json={"scenario": {"people": 10, "minutes": 45}})
        assert zoom.control("GET", "/plays?wait=100") == {"plays": 200, "done": 200, "failed": {}}
        assert zoom.control("GET", "/settled?wait=60")["settled"]
        counted = zoom.control("GET", "/stats")["webhooks"]
    assert counted["emitted"] == counted["acknowledged"] == len(endpoint.received)
    assert counted["emitted"] > 200 * 25


def test_it_runs_as_a_command(tmp_path: Path) -> None:
    """`roomkeeper simulate` writes its address, serves, and ends on a signal."""
    accounts = [
        {
            "account_id": ACCOUNT.account_id,
            "client_id": ACCOUNT.client_id,
            "client_secret": ACCOUNT.client_secret,
            "webhook_secrets": [{"value": ACCOUNT.webhook_secret}],
        }
    ]
    address_file = tmp_path / "address"
    program = Path(sys.executable).with_name("roomkeeper")
    command = [str(program), "simulate", "--address-file", str(address_file), "--speed", "60"]
    environment = {"ROOMKEEPER_ACCOUNTS": orjson.dumps(accounts).decode()}
    process = subprocess.Popen(command, env=environment)
    try:
        wait_for(address_file.exists, what="the address file")
        health = httpx.get(f"{address_file.read_text()}/control/health").json()
    finally:
        process.terminate()
        process.wait(timeout=20)
    assert (health["status"], health["speed"], process.returncode) == ("ok", 60.0, 0)
