"""Every refusal of the API is a problem that names the field and says what to do."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from ingress.problems import KINDS
from tests.ingress import client
from tests.integration.ingress.conftest import Running

MEETING: dict[str, Any] = {"host": "host@example.com", "topic": "x", "start_time": "2027-03-20T09:00:00Z"}


def post(api: httpx.Client, **other: Any) -> httpx.Response:
    """A create with these fields instead."""
    return api.post("/v1/meetings", json=MEETING | other, headers={"idempotency-key": "problems"})


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"topic": ""}, "topic"),
        ({"topic": "x" * 201}, "topic"),
        ({"topic": None}, "topic"),
        ({"topic": 7}, "topic"),
        ({"topic": "a\0b"}, "topic"),
        ({"host": "me"}, "host"),
        ({"host": "a b"}, "host"),
        ({"agenda": "x" * 1_901}, "agenda"),
        ({"duration_minutes": 0}, "duration_minutes"),
        ({"duration_minutes": 1_441}, "duration_minutes"),
        ({"duration_minutes": "60"}, "duration_minutes"),
        ({"start_time": "tomorrow"}, "start_time"),
        ({"start_time": "2027-02-30T09:00:00Z"}, "start_time"),
        ({"start_time": "2027-03-28T02:30:00", "timezone": "Europe/Madrid"}, "start_time"),
        ({"start_time": "2027-03-20T09:00:00"}, "timezone"),
        ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"recurrence": {"type": 9, "end_times": 2}}, "recurrence.type"),
        ({"recurrence": {"type": 1}}, "recurrence"),
        ({"settings": {"waiting_roo": True}}, "settings.waiting_roo"),
        ({"zoom_id": "1"}, "zoom_id"),
    ],
)
def test_a_field_that_does_not_hold_is_named(api: httpx.Client, fields: dict[str, Any], named: str) -> None:
    """422 with the field's name, a sentence, and nothing of what was sent."""
    answer = post(api, **fields)
    problem = answer.json()
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert (problem["code"], problem["errors"][0]["in"], problem["errors"][0]["field"]) == (
        "invalid_request",
        "body",
        named,
    )
    assert problem["errors"][0]["message"]


def test_all_faults_are_told_at_once(api: httpx.Client) -> None:
    """A body with three faults names three fields."""
    fields = {error["field"] for error in post(api, topic="", host="", extra=1).json()["errors"]}
    assert fields == {"topic", "host", "extra"}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({}, "(the whole)"),
        ({"topic": None}, "(the whole)"),
        ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"start_time": "noon"}, "start_time"),
        ({"version": 2}, "version"),
    ],
)
def test_a_change_that_does_not_hold_is_named(api: httpx.Client, change: dict[str, Any], named: str) -> None:
    """Changes are judged like creates, before anybody asks whether the meeting is there."""
    answer = api.patch("/v1/meetings/0b0e0000-0000-5000-8000-000000000000", json=change)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, named)


@pytest.mark.parametrize(
    ("headers", "named"),
    [({"if-match": "latest"}, "If-Match"), ({"idempotency-key": "x" * 256}, "Idempotency-Key")],
)
def test_a_header_that_does_not_hold_is_named(api: httpx.Client, headers: dict[str, str], named: str) -> None:
    """400 with the header's name."""
    meeting = api.post("/v1/meetings", json=MEETING, headers={"idempotency-key": "headers"}).headers["location"]
    answer = api.patch(meeting, json={"topic": "y"}, headers=headers)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, named)


@pytest.mark.parametrize(
    ("method", "path", "sent", "status", "code"),
    [
        ("GET", "/v1/nothing", {}, 404, "not_found"),
        ("GET", "/", {}, 404, "not_found"),
        ("PUT", "/v1/meetings", {"json": {}}, 405, "method_not_allowed"),
        ("POST", "/v1/meetings", {"content": b"a=b", "headers": {"content-type": "text/plain"}}, 415, "unsupported_media_type"),
        ("POST", "/v1/meetings", {"content": b"a=b"}, 415, "unsupported_media_type"),
        ("POST", "/v1/meetings", {"content": b"{", "headers": {"content-type": "application/json"}}, 400, "malformed_body"),
        ("POST", "/v1/meetings", {"content": b"\xff", "headers": {"content-type": "application/json"}}, 400, "malformed_body"),
        ("POST", "/v1/meetings", {"content": b"[" * 60_000, "headers": {"content-type": "application/json"}}, 400, "malformed_body"),
        ("POST", "/v1/meetings", {"json": []}, 422, "invalid_request"),
        ("POST", "/v1/meetings", {}, 422, "invalid_request"),
        ("POST", "/v1/meetings", {"json": {"topic": "x" * 70_000}}, 413, "too_large"),
        ("GET", "/v1/rooms/abc", {}, 404, "not_found"),
        ("GET", "/v1/rooms/%00", {}, 404, "not_found"),
        ("GET", "/v1/instances/%00/attendance", {}, 404, "not_found"),
    ],
)  # fmt: skip
def test_what_the_framework_refuses_is_a_problem_too(
    api: httpx.Client, method: str, path: str, sent: dict[str, Any], status: int, code: str
) -> None:
    """Unknown paths, wrong methods, wrong media types, broken JSON and large bodies have the same form."""
    answer = api.request(method, path, **sent)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert answer.json()["code"] == code


@pytest.mark.parametrize("key", [None, "x", "rk_x", "rk_aaaaaaaaaaaa_" + "A" * 43, "a b", "é"])
def test_without_a_key_that_holds_nothing_is_told(running: Running, key: str | None) -> None:
    """401 with how to authenticate, for every path of /v1."""
    headers = {} if key is None else {"authorization": b"Bearer " + key.encode()}
    answers = [
        httpx.get(running.url + path, headers=headers)  # type: ignore[arg-type]  # bytes, for what is not ASCII
        for path in ("/v1/meetings", "/v1/status", "/v1/rooms/1")
    ]
    assert {answer.status_code for answer in answers} == {401}
    assert {answer.headers["www-authenticate"] for answer in answers} == {'Bearer realm="roomkeeper"'}


def test_every_kind_of_problem_has_a_page(running: Running) -> None:
    """The `type` of a problem is a path of this server that says what it means."""
    for code, kind in KINDS.items():
        assert httpx.get(f"{running.url}/problems/{code}").json()["title"] == kind.title
    assert httpx.get(f"{running.url}/problems/other").status_code == 404


def test_the_openapi_page_tells_of_problems(running: Running, api: httpx.Client) -> None:
    """Every operation of /v1 is described, with its problems in their own media type."""
    document = httpx.get(running.url + "/openapi.json").json()
    operations = [
        operation
        for path, methods in document["paths"].items()
        if path.startswith("/v1/")
        for operation in methods.values()
    ]
    assert operations
    assert all(operation.get("description") for operation in operations)
    assert all(
        set(answer["content"]) == {"application/problem+json"}
        for operation in operations
        for status, answer in operation["responses"].items()
        if int(status) >= 400
    )


def test_the_docs_page_needs_no_other_server(running: Running) -> None:
    """Its scripts, styles and pictures come from this server, and are there."""
    page = httpx.get(running.url + "/docs").text
    named = re.findall(r"(?:src|href)=\"([^\"]+)\"", page)
    assert len(named) >= 3
    assert {httpx.get(running.url + path).status_code for path in named} == {200}


def test_health_needs_no_key_and_no_url_validation(running: Running) -> None:
    """Live and ready, before Zoom has ever called."""
    with client(running.url, "none") as anonymous:
        answers = [anonymous.get(f"/health/{which}") for which in ("live", "ready")]
    assert [(answer.status_code, answer.json()["status"]) for answer in answers] == [(200, "ok"), (200, "ok")]


def test_metrics_are_shown(running: Running, api: httpx.Client) -> None:
    """Requests are counted by the pattern of their route."""
    api.get("/v1/meetings/0b0e0000-0000-5000-8000-000000000000")
    page = httpx.get(running.url + "/metrics").text
    assert 'roomkeeper_ingress_requests_total{method="GET",route="/v1/meetings/{meeting_id}",status="404"}' in page
