"""The same request to two processes of ingress at once."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import httpx

from tests.deciding import deciding
from tests.ingress import new_api_key, prepared, process
from tests.stack import Stack

MEETING = {"host": "host@example.com", "topic": "Planning call", "start_time": "2027-03-20T09:00:00Z"}


def test_zc34_one_key_at_two_processes_at_once_is_one_meeting(stack: Stack) -> None:
    """Twenty requests under one key, half to each process, wait for and get the same meeting and the same room."""
    with stack.corner() as corner:
        settings = prepared(corner)
        headers = {
            "authorization": f"Bearer {new_api_key(settings)}",
            "idempotency-key": "cmd-0001",
            "prefer": "wait=20",
        }
        start = Barrier(20)

        def ask(url: str) -> httpx.Response:
            with httpx.Client(timeout=40) as api:
                start.wait()
                return api.post(f"{url}/v1/meetings", json=MEETING, headers=headers)

        with (
            process(settings) as (one, _),
            process(settings) as (other, _),
            deciding(settings, makes_rooms=True) as decider,
            ThreadPoolExecutor(20) as pool,
        ):
            answers = list(pool.map(ask, [one, other] * 10))
            repeated = ask_once(one, headers)
            refused = ask_once(other, headers, topic="Other topic")
        creates = Counter(event.kind for event in decider.events)
    assert Counter(answer.status_code for answer in answers) == {201: 20}
    assert len({answer.text for answer in answers} | {repeated.text}) == 1
    assert (refused.status_code, refused.json()["code"]) == (422, "idempotency_key_reused")
    assert creates["room_ready"] == 1
    assert len(decider.table.events[0].meeting.pending if decider.table.events[0].meeting else ()) == 1


def ask_once(url: str, headers: dict[str, str], **other: str) -> httpx.Response:
    """One request."""
    return httpx.post(f"{url}/v1/meetings", json=MEETING | other, headers=headers, timeout=40)
