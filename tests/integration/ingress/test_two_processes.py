"""The same request to two processes of ingress at once, and a request whose first acknowledgement never came."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import httpx

from runtime.settings import Settings
from runtime.topics import MEETING_COMMANDS
from schemas.codec import decode
from schemas.ids import AccountId, meeting_id_for
from schemas.records.meeting_commands import CreateMeeting
from tests.deciding import deciding
from tests.ingress import new_api_key, prepared, process, records, serving
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


def test_a_command_that_was_never_acknowledged_is_sent_again_when_it_is_repeated(private_stack: Stack) -> None:
    """503 while the broker is frozen, and nothing to be read; the repeat is taken, and all copies are one record."""
    broker = private_stack.backing.broker
    assert broker is not None
    with private_stack.corner() as corner:
        settings = prepared(corner)
        headers = {"authorization": f"Bearer {new_api_key(settings)}", "idempotency-key": "cmd-0001"}
        with serving(settings) as url:
            broker.pause()
            refused = ask_once(url, headers)
            hidden = [httpx.get(f"{url}/v1/meetings/{_meeting_id(settings)}", headers=headers)]
            hidden += [httpx.delete(f"{url}/v1/meetings/{_meeting_id(settings)}", headers=headers)]
            broker.resume()
            accepted = ask_once(url, headers)
            shown = httpx.get(f"{url}/v1/meetings/{_meeting_id(settings)}", headers=headers)
            listed = httpx.get(f"{url}/v1/meetings", headers=headers).json()["items"]
        commands = [decode(message.value(), CreateMeeting) for message in records(settings, MEETING_COMMANDS)]
    assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
    assert [answer.status_code for answer in hidden] == [404, 404]
    assert (accepted.status_code, shown.status_code, len(listed)) == (202, 200, 1)
    assert len(set(commands)) == 1


def _meeting_id(settings: Settings) -> str:
    return meeting_id_for(AccountId(settings.accounts[0].account_id), "cmd-0001")
