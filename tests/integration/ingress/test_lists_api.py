"""Lists of meetings, page by page."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.deciding import deciding
from tests.integration.ingress.conftest import Running
from tests.waiting import wait_for


def create(running: Running, api: httpx.Client, host: str) -> str:
    """A meeting, a second after the last one; gives its id."""
    running.clock.advance(seconds=1)
    body = {"host": host, "topic": "x", "start_time": "2027-03-20T09:00:00Z"}
    answer = api.post("/v1/meetings", json=body, headers={"idempotency-key": uuid4().hex})
    return str(answer.json()["meeting_id"])


def pages(api: httpx.Client, **parameters: Any) -> list[list[str]]:
    """Ids on every page."""
    found: list[list[str]] = []
    cursor: dict[str, str] = {}
    while True:
        page = api.get("/v1/meetings", params={**parameters, **cursor}).json()
        found.append([item["meeting_id"] for item in page["items"]])
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}


def test_pages_hold_every_meeting_once_newest_first_and_stay_stable(running: Running, api: httpx.Client) -> None:
    """Decided and pending ones stand in one order; what is created meanwhile moves nothing."""
    host = f"{uuid4().hex}@example.com"
    first = [create(running, api, host) for _ in range(3)]
    with deciding(running.settings):
        wait_for(lambda: _all_decided(api, host), what="the first meetings decided")
    later = [create(running, api, host) for _ in range(2)]
    begun = api.get("/v1/meetings", params={"host": host, "limit": 2}).json()
    newest = create(running, api, host)
    rest = pages(api, host=host, limit=2, cursor=begun["next_cursor"])
    seen = [item["meeting_id"] for item in begun["items"]]
    assert seen == later[::-1]
    assert [meeting for page in rest for meeting in page] == first[::-1]
    assert pages(api, host=host, limit=4) == [[newest, *later[::-1], first[2]], [first[1], first[0]]]


def test_a_list_can_be_narrowed(running: Running, api: httpx.Client) -> None:
    """By status and by host."""
    host = f"{uuid4().hex}@example.com"
    kept = create(running, api, host)
    with deciding(running.settings):
        wait_for(lambda: _all_decided(api, host), what="the meeting decided")
    pending = create(running, api, host)
    assert pages(api, host=host, status="scheduled") == [[kept]]
    assert pages(api, host=host, status="pending") == [[pending]]
    assert pages(api, host=host, status="cancelled") == [[]]


def test_a_host_that_no_text_can_be_is_named(api: httpx.Client) -> None:
    """PostgreSQL holds no NUL: 400 with the parameter, and no fault of ours."""
    answer = api.get("/v1/meetings?host=%00")
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["in"], error["field"]) == (400, "query", "host")


@pytest.mark.parametrize("limit", ["0", "201", "x", "-1"])
def test_a_limit_out_of_bounds_is_named(api: httpx.Client, limit: str) -> None:
    """400 that names `limit`."""
    answer = api.get("/v1/meetings", params={"limit": limit})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "limit")


@pytest.mark.parametrize("cursor", ["", "x", "AAAA", "é", "a" * 2_000])
def test_a_cursor_that_was_never_given_is_refused(api: httpx.Client, cursor: str) -> None:
    """400 that names `cursor`."""
    answer = api.get("/v1/meetings", params={"cursor": cursor})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "cursor")


def test_a_cursor_counts_only_for_its_own_list(running: Running, api: httpx.Client, other_api: httpx.Client) -> None:
    """Another account, or another filter, does not take it."""
    host = f"{uuid4().hex}@example.com"
    for _ in range(2):
        create(running, api, host)
    cursor = api.get("/v1/meetings", params={"host": host, "limit": 1}).json()["next_cursor"]
    answers = [
        other_api.get("/v1/meetings", params={"host": host, "cursor": cursor}),
        api.get("/v1/meetings", params={"cursor": cursor}),
    ]
    assert [answer.status_code for answer in answers] == [400, 400]


def _all_decided(api: httpx.Client, host: str) -> bool:
    items = api.get("/v1/meetings", params={"host": host}).json()["items"]
    return all(item["status"] == "scheduled" for item in items)
