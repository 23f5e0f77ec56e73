"""The simulated Zoom's webhooks over HTTP: signatures, retries, the challenge, the logs, and webhooks that go wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import httpx
import orjson
import pytest

from simulator.signature import sign
from tests.simulated_zoom import (
    ACCOUNT,
    HOST,
    Endpoint,
    Received,
    SimulatedZoom,
    config,
    simulated_zoom,
    webhook_endpoint,
)
from tests.waiting import wait_for

SPEED = 6_000.0
"""At which retries come 0.05, 0.2 and 0.6 s after the failure."""


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """An endpoint that answers 204."""
    with webhook_endpoint() as running:
        yield running


@pytest.fixture
def zoom(endpoint: Endpoint) -> Iterator[SimulatedZoom]:
    """A fast simulator that sends to the endpoint."""
    with simulated_zoom(config(speed=SPEED, limits=False)) as running:
        running.control("PUT", "/webhooks/target", json={"url": endpoint.url})
        yield running


def make_room(zoom: SimulatedZoom, **body: Any) -> int:
    """A room made by hand in Zoom, which tells `meeting.created`."""
    order = {"account_id": ACCOUNT.account_id, "host": HOST, "body": body}
    return int(zoom.control("POST", "/meetings", json=order)["id"])


def order_fault(zoom: SimulatedZoom, kind: str, **order: Any) -> None:
    """Puts a fault in force."""
    zoom.control("POST", "/faults", json={"kind": kind, **order})


def settle(zoom: SimulatedZoom) -> None:
    """Waits until every webhook was delivered or given up."""
    assert zoom.control("GET", "/settled?wait=20")["settled"]


def counts(zoom: SimulatedZoom) -> dict[str, int]:
    """What the simulator counted of webhooks."""
    counted: dict[str, int] = zoom.control("GET", "/stats")["webhooks"]
    return counted


def names(endpoint: Endpoint) -> Counter[str]:
    """How often each event came."""
    return Counter(orjson.loads(each.body)["event"] for each in endpoint.received)


def is_signed(received: Received, secret: str = ACCOUNT.webhook_secret) -> bool:
    """Whether the signature is right for the bytes as they came."""
    timestamp = int(received.headers["x-zm-request-timestamp"])
    return received.headers["x-zm-signature"] == sign(secret, timestamp=timestamp, body=received.body)


def test_a_webhook_comes_signed_with_zooms_headers(zoom: SimulatedZoom, endpoint: Endpoint) -> None:
    """An event is one POST of compact UTF-8 with the recorded headers and a right signature."""
    make_room(zoom, topic="Wöchentlich")
    settle(zoom)
    (received,) = endpoint.received
    assert is_signed(received)
    assert received.headers["user-agent"] == "Zoom Marketplace/1.0a"
    assert received.headers["content-type"] == "application/json; charset=utf-8"
    assert {"x-zm-request-id", "x-zm-trackingid", "traceparent", "clientid"} <= received.headers.keys()
    assert ("Wöchentlich".encode() in received.body, b'": ' in received.body) == (True, False)


def test_a_server_error_is_retried_three_times_with_the_same_bytes(zoom: SimulatedZoom, endpoint: Endpoint) -> None:
    """After 500, 503 and 500 the fourth delivery succeeds; bytes and request id stay, each is signed anew."""
    endpoint.statuses = [500, 503, 500]
    make_room(zoom)
    settle(zoom)
    ids = {each.headers["x-zm-request-id"] for each in endpoint.received}
    assert (len(endpoint.received), len(ids), len({each.body for each in endpoint.received})) == (4, 1, 1)
    assert all(is_signed(each) for each in endpoint.received)
    assert (counts(zoom)["retried"], counts(zoom)["acknowledged"]) == (3, 1)


def test_retries_keep_zooms_pace_divided_by_the_speed(zoom: SimulatedZoom, endpoint: Endpoint) -> None:
    """Retries come 5, 20 and 60 minutes apart, divided by the speed, and then Zoom gives up."""
    endpoint.statuses = [500] * 10
    make_room(zoom)
    settle(zoom)
    times = [each.at for each in endpoint.received]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    expected = [300 / SPEED, 1_200 / SPEED, 3_600 / SPEED]
    assert len(gaps) == 3
    assert all(wanted <= gap < wanted + 0.5 for gap, wanted in zip(gaps, expected, strict=True)), gaps
    assert counts(zoom)["given_up"] == 1


@pytest.mark.parametrize("status", [301, 400, 401, 404, 429])
def test_redirects_and_client_errors_are_final(zoom: SimulatedZoom, endpoint: Endpoint, status: int) -> None:
    """3xx and 4xx are never retried: the event is lost."""
    endpoint.statuses = [status]
    make_room(zoom)
    settle(zoom)
    assert (len(endpoint.received), counts(zoom)["refused"]) == (1, 1)


def test_an_endpoint_that_is_away_is_retried(zoom: SimulatedZoom, endpoint: Endpoint) -> None:
    """A refused connection counts as no answer: four attempts, all in the logs as failed."""
    zoom.control("PUT", "/webhooks/target", json={"url": "http://127.0.0.1:1/webhooks/zoom"})
    make_room(zoom)
    settle(zoom)
    attempts = zoom.control("GET", "/webhooks/deliveries")
    assert [(each["retry_num"], each["status"], each["reason"]) for each in attempts] == [
        (retry, -1, 2) for retry in (3, 2, 1, 0)
    ]


def test_three_seconds_without_an_answer_are_a_failure(zoom: SimulatedZoom, endpoint: Endpoint) -> None:
    """An answer later than three seconds, which no speed divides, is a time-out and is retried."""
    endpoint.answer_seconds = 3.5
    make_room(zoom)
    wait_for(lambda: endpoint.received, what="the first delivery")
    wait_for(lambda: zoom.control("GET", "/webhooks/deliveries"), what="the time-out", within_seconds=10)
    endpoint.answer_seconds = 0.0
    settle(zoom)
    first = zoom.control("GET", "/webhooks/deliveries")[-1]
    assert (first["retry_num"], first["status"], first["reason"]) == (0, -1, 1)


def test_a_receiver_heard_too_late_gets_the_event_again(zoom: SimulatedZoom, endpoint: Endpoint) -> None:
    """When Zoom does not hear the answer, the same event comes again under the same request id."""
    order_fault(zoom, "unheard", names=["meeting.created"], count=1)
    make_room(zoom)
    settle(zoom)
    assert len({each.headers["x-zm-request-id"] for each in endpoint.received}) == 1
    assert len(endpoint.received) == 2


def test_a_delivery_that_fails_comes_again(zoom: SimulatedZoom, endpoint: Endpoint) -> None:
    """When the first two attempts do not reach the endpoint, the third does."""
    order_fault(zoom, "fail", attempts=2, count=1)
    make_room(zoom)
    settle(zoom)
    assert (len(endpoint.received), counts(zoom)["retried"]) == (1, 2)


def test_doubles_have_a_request_id_of_their_own(zoom: SimulatedZoom, endpoint: Endpoint) -> None:
    """A doubled event comes twice under two request ids, its event_ts shifted where that was ordered."""
    order_fault(zoom, "duplicate", count=1, shift_ms=3)
    make_room(zoom)
    settle(zoom)
    first, second = (orjson.loads(each.body) for each in endpoint.received)
    assert len({each.headers["x-zm-request-id"] for each in endpoint.received}) == 2
    assert abs(second["event_ts"] - first["event_ts"]) == 3


def test_a_doubled_recording_has_another_download_token(zoom: SimulatedZoom, endpoint: Endpoint) -> None:
    """The two deliveries of one recording differ in their download token and links alone."""
    order_fault(zoom, "duplicate", names=["recording.completed"])
    number = make_room(zoom)
    zoom.control("POST", f"/meetings/{number}/start")
    for what in ("started", "stopped", "completed"):
        zoom.control("POST", f"/meetings/{number}/record?what={what}")
    settle(zoom)
    bodies = [orjson.loads(each.body) for each in endpoint.received if b'"recording.completed"' in each.body]
    first, second = (body["payload"]["object"]["recording_files"][0] for body in bodies)
    assert bodies[0]["download_token"] != bodies[1]["download_token"]
    assert (first["id"], first["play_url"]) == (second["id"], second["play_url"])
    assert first["download_url"] != second["download_url"]


def test_dropped_events_leave_no_trace_and_given_up_ones_four(zoom: SimulatedZoom, endpoint: Endpoint) -> None:
    """A dropped event is nowhere; one that Zoom gave up on is in the logs with its original bytes."""
    order_fault(zoom, "drop", names=["meeting.created"], count=1)
    order_fault(zoom, "give_up", names=["meeting.started"], count=1)
    number = make_room(zoom)
    zoom.control("POST", f"/meetings/{number}/start")
    settle(zoom)
    with zoom.client() as client:
        answer = client.get(f"/v2/marketplace/apps/{ACCOUNT.client_id}/webhook_logs").json()
    logs = answer["webhook_logs"]
    assert endpoint.received == []
    assert [(each["event"], each["retry_num"]) for each in logs] == [("meeting.started", n) for n in (3, 2, 1, 0)]
    assert orjson.loads(logs[0]["request_body"])["payload"]["object"]["host_email"] == HOST
    assert len({each["request_id"] for each in logs}) == 1


def test_reordered_events_come_in_another_order(zoom: SimulatedZoom, endpoint: Endpoint) -> None:
    """With reordering on, twenty events arrive whole, but not as they happened."""
    order_fault(zoom, "reorder", seconds=1_200)
    number = make_room(zoom)
    for count in range(20):
        zoom.control("PATCH", f"/meetings/{number}", json={"topic": f"{count:02d}"})
    settle(zoom)
    bodies = [orjson.loads(each.body) for each in endpoint.received]
    topics = [body["payload"]["object"]["topic"] for body in bodies if body["event"] == "meeting.updated"]
    assert sorted(topics) == [f"{count:02d}" for count in range(20)] != topics


def test_a_bad_signature_does_not_verify(zoom: SimulatedZoom, endpoint: Endpoint) -> None:
    """An event ordered to be signed badly does not verify under the account's secret."""
    order_fault(zoom, "bad_signature", count=1)
    make_room(zoom)
    settle(zoom)
    assert not is_signed(endpoint.received[0])


def test_bytes_of_any_kind_can_be_sent(zoom: SimulatedZoom, endpoint: Endpoint) -> None:
    """A test can have its own bytes sent as a webhook, signed by the account or with another secret."""
    for secret in (None, "another"):
        order = {"account_id": ACCOUNT.account_id, "body": '{ "event" : "x" }', "secret": secret}
        zoom.control("POST", "/webhooks/raw", json=order)
    settle(zoom)
    assert [each.body for each in endpoint.received] == [b'{ "event" : "x" }'] * 2
    assert sorted(is_signed(each) for each in endpoint.received) == [False, True]


@pytest.mark.parametrize(("secret", "valid"), [(ACCOUNT.webhook_secret, True), ("another", False)])
def test_the_challenge_is_signed_and_its_answer_checked(
    zoom: SimulatedZoom, endpoint: Endpoint, secret: str, valid: bool
) -> None:
    """A challenge comes signed; an answer under the account's secret is valid, any other is not."""
    endpoint.challenge_secret = secret
    answered = zoom.control("POST", f"/webhooks/challenge?account_id={ACCOUNT.account_id}")
    assert is_signed(endpoint.received[0])
    assert answered == {"valid": valid, "status": 200}


def test_webhook_logs_tell_kinds_apart(zoom: SimulatedZoom, endpoint: Endpoint) -> None:
    """The logs of an app can be asked for failures, successes, retries and single events."""
    endpoint.statuses = [500]
    make_room(zoom)
    settle(zoom)
    path = f"/v2/marketplace/apps/{ACCOUNT.client_id}/webhook_logs"
    queries: list[dict[str, str]] = [{}, {"type": "1"}, {"type": "3"}]
    queries += [{"type": "1", "retry_num": "1"}, {"type": "1", "event": "x"}]
    with zoom.client() as client:
        failed, all_of_them, delivered, retried, other = (
            [each["retry_num"] for each in client.get(path, params=query).json()["webhook_logs"]] for query in queries
        )
        refused = client.get(path, params={"retry_num": 4}).json()["code"]
        foreign = client.get("/v2/marketplace/apps/another/webhook_logs").json()["code"]
    assert (failed, all_of_them, delivered, retried, other) == ([0], [1, 0], [1], [1], [])
    assert (refused, foreign) == (1506, 1401)


def test_a_changed_secret_signs_from_then_on(zoom: SimulatedZoom, endpoint: Endpoint) -> None:
    """After the account's secret was changed, events are signed with the new one."""
    zoom.control("PATCH", f"/accounts/{ACCOUNT.account_id}", json={"webhook_secret": "rotated"})
    make_room(zoom)
    settle(zoom)
    assert is_signed(endpoint.received[0], "rotated")


def test_a_webhook_can_overtake_the_answer(zoom: SimulatedZoom, endpoint: Endpoint) -> None:
    """With a slow answer after acting, `meeting.created` arrives before the create is answered."""
    order_fault(zoom, "slow", names=["create"], acts=True, seconds=1.0)
    with zoom.client() as client:
        answered = client.post(f"/v2/users/{HOST}/meetings", json={})
    assert (answered.status_code, names(endpoint)) == (201, Counter({"meeting.created": 1}))


def test_a_misspelt_fault_is_refused(zoom: SimulatedZoom) -> None:
    """An order with an unknown field is refused, for it would never strike."""
    answer = httpx.post(f"{zoom.address}/control/faults", json={"kind": "drop", "event": "meeting.created"})
    assert answer.status_code == 422
