"""REST calls that go wrong to order, each as a caller of Zoom may see it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.simulated_zoom import HOST, SimulatedZoom, config, simulated_zoom

MEETINGS = f"/v2/users/{HOST}/meetings"


@pytest.fixture
def zoom() -> Iterator[SimulatedZoom]:
    """A simulator without limits."""
    with simulated_zoom(config(limits=False)) as running:
        yield running


@pytest.fixture
def client(zoom: SimulatedZoom) -> Iterator[httpx.Client]:
    """A client that waits two seconds."""
    with zoom.client() as opened:
        opened.timeout = httpx.Timeout(2.0)
        yield opened


def order(zoom: SimulatedZoom, kind: str, **more: Any) -> None:
    """Orders one strike on creates."""
    zoom.control("POST", "/faults", json={"kind": kind, "names": ["create"], "count": 1, **more})


def rooms_made(zoom: SimulatedZoom) -> int:
    """How many rooms there ever were."""
    made: int = zoom.control("GET", "/stats")["rooms_made"]
    return made


@pytest.mark.parametrize(("acts", "made"), [(False, 0), (True, 1)])
@pytest.mark.parametrize("kind", ["hang", "abort"])
def test_no_answer_comes_before_or_after_acting(
    zoom: SimulatedZoom, client: httpx.Client, kind: str, acts: bool, made: int
) -> None:
    """A caller that hears nothing cannot tell whether the room was made; the simulator can."""
    order(zoom, kind, acts=acts)
    with pytest.raises(httpx.TransportError):
        client.post(MEETINGS, json={})
    assert rooms_made(zoom) == made


@pytest.mark.parametrize(("acts", "made"), [(False, 0), (True, 1)])
def test_a_server_error_comes_before_or_after_acting(
    zoom: SimulatedZoom, client: httpx.Client, acts: bool, made: int
) -> None:
    """A 504 may hide a room that was made."""
    order(zoom, "error", acts=acts, status=504, body="<html>Gateway Timeout</html>", content_type="text/html")
    answer = client.post(MEETINGS, json={})
    assert (answer.status_code, answer.text) == (504, "<html>Gateway Timeout</html>")
    assert rooms_made(zoom) == made


def test_a_201_can_hold_half_a_json(zoom: SimulatedZoom, client: httpx.Client) -> None:
    """A truncated 201 is a complete response whose JSON is not."""
    order(zoom, "truncate")
    answer = client.post(MEETINGS, json={})
    with pytest.raises(ValueError, match=r"JSON|Expecting|Unterminated"):
        answer.json()
    assert (answer.status_code, rooms_made(zoom)) == (201, 1)


def test_a_201_can_break_off(zoom: SimulatedZoom, client: httpx.Client) -> None:
    """A connection may close in the middle of the answer."""
    order(zoom, "cut")
    with pytest.raises(httpx.TransportError):
        client.post(MEETINGS, json={})
    assert rooms_made(zoom) == 1


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("per_second", "per-second"),
        ("daily", "maximum daily"),
        ("host_daily", "(100)"),
        ("registrant_daily", "(3)"),
        ("concurrent", "concurrent"),
    ],
)
def test_each_kind_of_429_can_be_ordered(zoom: SimulatedZoom, client: httpx.Client, limit: str, words: str) -> None:
    """Every 429 that Zoom knows comes to order, and nothing is made."""
    order(zoom, "too_many", limit=limit, retry_after="seconds")
    answer = client.post(MEETINGS, json={})
    assert (answer.status_code, answer.json()["code"], rooms_made(zoom)) == (429, 429, 0)
    assert words in answer.json()["message"]
    assert ("retry-after" in answer.headers) == (limit == "daily")


def test_a_token_can_die_in_mid_flight(zoom: SimulatedZoom, client: httpx.Client) -> None:
    """The call gets 401 code 124, a new token works."""
    order(zoom, "token_death")
    refused = client.post(MEETINGS, json={})
    with zoom.client() as renewed:
        accepted = renewed.post(MEETINGS, json={})
    assert (refused.status_code, refused.json()["code"], accepted.status_code) == (401, 124, 201)


def test_two_tokens_can_kill_each_other(zoom: SimulatedZoom, client: httpx.Client) -> None:
    """In the stricter mode asking for a token makes the one in use invalid."""
    zoom.control("PUT", "/tokens", json={"one_at_a_time": True})
    zoom.token()
    assert client.post(MEETINGS, json={}).json()["code"] == 124


def test_the_token_endpoint_fails_to_order(zoom: SimulatedZoom) -> None:
    """Errors can be ordered for the token endpoint too."""
    zoom.control("POST", "/faults", json={"kind": "error", "names": ["token"], "status": 503, "count": 1})
    answer = httpx.post(f"{zoom.address}/oauth/token", data={})
    assert answer.status_code == 503


def test_a_room_can_stay_out_of_lists_for_a_while(zoom: SimulatedZoom, client: httpx.Client) -> None:
    """A room that lists do not show yet can be read by its number."""
    order(zoom, "unlisted", seconds=3_600)
    number = client.post(MEETINGS, json={}).json()["id"]
    client.post(MEETINGS, json={})
    listed = {item["id"] for item in client.get(MEETINGS).json()["meetings"]}
    assert (number in listed, len(listed)) == (False, 1)
    assert client.get(f"/v2/meetings/{number}").status_code == 200


def test_a_personal_room_can_be_the_answer(zoom: SimulatedZoom, client: httpx.Client) -> None:
    """A create may come back with the host's personal meeting room in use."""
    order(zoom, "personal")
    answer = client.post(MEETINGS, json={"settings": {"use_pmi": False}}).json()
    assert (answer["settings"]["use_pmi"], "pmi" in answer) == (True, True)


def test_fields_can_be_ignored_and_coerced_in_silence(zoom: SimulatedZoom, client: httpx.Client) -> None:
    """A change is answered 204 although Zoom left out some of it and took other values."""
    path = f"/v2/meetings/{client.post(MEETINGS, json={}).json()['id']}"
    ignored = ["topic", "settings.waiting_room"]
    zoom.control("POST", "/faults", json={"kind": "ignore", "names": ["update"], "fields": ignored})
    zoom.control("POST", "/faults", json={"kind": "coerce", "names": ["update"], "values": {"duration": 15}})
    changed = client.patch(path, json={"topic": "N", "duration": 90, "settings": {"waiting_room": True}})
    read = client.get(path).json()
    assert changed.status_code == 204
    assert (read["topic"], read["duration"], read["settings"]["waiting_room"]) == ("Zoom Meeting", 15, False)


def test_faults_are_listed_counted_and_cleared(zoom: SimulatedZoom, client: httpx.Client) -> None:
    """Orders in force can be seen with how often they struck, and lifted."""
    zoom.control("POST", "/faults", json={"kind": "error", "names": ["*"], "host": HOST})
    statuses = [client.post(MEETINGS, json={}).status_code for _ in range(2)]
    (listed,) = zoom.control("GET", "/faults")
    cleared = zoom.control("DELETE", "/faults")
    assert (statuses, listed["struck"], cleared) == ([500, 500], 2, {"cleared": 1})
    assert client.post(MEETINGS, json={}).status_code == 201


def test_calls_are_counted_by_endpoint_and_host(zoom: SimulatedZoom, client: httpx.Client) -> None:
    """The simulator's own count tells calls by endpoint, status and host, and each host's budget."""
    for _ in range(3):
        client.post(MEETINGS, json={})
    client.get(MEETINGS)
    stats = zoom.control("GET", "/stats")
    assert (stats["calls"]["create"], stats["calls"]["list"]) == ({"201": 3}, {"200": 1})
    assert (stats["calls_by_host"][HOST], stats["host_budget"][HOST]) == ({"create": 3, "list": 1}, 3)


def test_secrets_given_out_can_be_looked_up(zoom: SimulatedZoom, client: httpx.Client) -> None:
    """Every start link and its key can be asked for, so that a test can look for leaks."""
    created = client.post(MEETINGS, json={}).json()
    secrets = zoom.control("GET", "/secrets")
    assert created["start_url"] in secrets["start_urls"]
    assert created["start_url"].endswith(secrets["start_keys"][0])
