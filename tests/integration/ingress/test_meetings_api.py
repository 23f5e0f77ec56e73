"""`/v1/meetings` from a caller's side: accepted, decided, refused, waited for, listed, and seen by nobody else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import httpx
import pytest

from runtime.topics import MEETING_COMMANDS
from schemas.codec import decode
from schemas.ids import AccountId, command_id_for, meeting_id_for
from streams.meetings.fold import COMMANDS
from tests.deciding import Decider, deciding
from tests.ingress import ACCOUNT, records
from tests.integration.ingress.conftest import Running
from tests.meeting_commands import Caller
from tests.waiting import wait_for

MEETING = {
    "host": "host@example.com",
    "topic": "Planning call",
    "start_time": "2027-03-20T09:00:00",
    "timezone": "Europe/Madrid",
    "duration_minutes": 45,
}
WAIT = {"prefer": "wait=20"}


@pytest.fixture
def decider(running: Running) -> Iterator[Decider]:
    """Commands are decided, and rooms made."""
    with deciding(running.settings, makes_rooms=True) as at_work:
        yield at_work


def create(api: httpx.Client, key: str | None = None, *, headers: Any = None, **other: Any) -> httpx.Response:
    """Ask for the usual meeting, but for what is named."""
    named = {"idempotency-key": key or uuid4().hex, **(headers or {})}
    return api.post("/v1/meetings", json=MEETING | other, headers=named)


def created(api: httpx.Client, **other: Any) -> dict[str, Any]:
    """The usual meeting with its room."""
    answer = create(api, headers=WAIT, **other)
    assert answer.status_code == 201, answer.text
    meeting: dict[str, Any] = answer.json()
    return meeting


def test_a_create_is_accepted_and_its_meeting_readable_at_once(api: httpx.Client) -> None:
    """202 with a Location, and there the meeting is, pending, with what was asked for and both ways to say its start."""
    answer = create(api, "first")
    found = api.get(answer.headers["location"])
    meeting = found.json()
    assert answer.status_code == 202
    assert answer.json()["meeting_id"] == meeting_id_for(AccountId(ACCOUNT), "first")
    assert (meeting["status"], meeting["version"], meeting["room"]["status"]) == ("pending", None, "pending")
    assert {name: meeting[name] for name in MEETING} == MEETING
    assert meeting["start_at"] == "2027-03-20T08:00:00Z"
    assert "etag" not in found.headers


def test_a_create_that_waits_is_answered_with_its_room(api: httpx.Client, decider: Decider) -> None:
    """201 with the meeting, its room and its version; the same under its Location, and on the command."""
    answer = create(api, headers=WAIT)
    meeting = answer.json()
    found = api.get(answer.headers["location"])
    assert answer.status_code == 201
    assert (meeting["status"], meeting["version"], meeting["room"]["status"]) == ("scheduled", 1, "ready")
    assert meeting["room"]["zoom_id"]
    assert (answer.headers["etag"], answer.headers["preference-applied"]) == ('"1"', "wait")
    assert (found.json(), found.headers["etag"]) == (meeting, '"1"')


def test_a_wait_ends_in_time_with_what_is_so_far(api: httpx.Client) -> None:
    """With nobody to decide, `wait=1` is 202 after about a second."""
    began = time.monotonic()
    answer = create(api, headers={"prefer": "wait=1"})
    assert answer.status_code == 202
    assert 0.9 < time.monotonic() - began < 5


def test_a_create_without_a_key_is_refused(api: httpx.Client) -> None:
    """400 that names the header and the cure."""
    answer = api.post("/v1/meetings", json=MEETING)
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")
    assert (answer.json()["code"], "Idempotency-Key" in answer.json()["cure"]) == ("idempotency_key_missing", True)


def test_a_repeated_create_is_one_command(api: httpx.Client, decider: Decider) -> None:
    """The same key and content get the same answer, before and after the decision, and are produced once."""
    key = uuid4().hex
    answers = [create(api, key), create(api, key), create(api, key, headers=WAIT), create(api, key, headers=WAIT)]
    ids = {answer.json()["meeting_id"] for answer in answers}
    sent = [decode(each.value(), *COMMANDS) for each in records(decider.settings, MEETING_COMMANDS)]
    assert [answer.status_code for answer in answers] == [202, 202, 201, 201]
    assert len(ids) == 1
    assert len([command for command in sent if command.meeting_id in ids]) == 1


def test_the_same_key_written_another_way_is_the_same_request(api: httpx.Client) -> None:
    """An offset instead of the wall time, and defaults spelled out, mean the same."""
    key = uuid4().hex
    first = create(api, key)
    second = create(api, key, start_time="2027-03-20T08:00:00Z", agenda="", recurrence=None)
    assert (second.status_code, second.json()) == (202, first.json())


def test_a_key_with_other_content_is_refused_at_once(api: httpx.Client) -> None:
    """422, and the meeting stays as it was asked for first."""
    key = uuid4().hex
    first = create(api, key)
    second = create(api, key, topic="Other topic")
    assert (second.status_code, second.json()["code"]) == (422, "idempotency_key_reused")
    assert api.get(first.headers["location"]).json()["topic"] == "Planning call"


def test_a_key_that_an_outbox_used_meanwhile_is_refused(api: httpx.Client, decider: Decider) -> None:
    """ZC34: other content was decided first under the key: 422 for who waits, and the command tells why."""
    key = uuid4().hex
    decider.table.put(replace(Caller(key=key, account=AccountId(ACCOUNT)).create(), issued_by="outbox:bookings"))
    answer = create(api, key, headers=WAIT)
    command = command_id_for(AccountId(ACCOUNT), meeting_id_for(AccountId(ACCOUNT), key), key)
    told = api.get(f"/v1/commands/{command}").json()
    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key_reused")
    assert (told["status"], told["code"], bool(told["message"])) == ("rejected", "idempotency_conflict", True)
    assert create(api, key).status_code == 202


def test_a_change_with_the_right_version_is_made(api: httpx.Client, decider: Decider) -> None:
    """200 with the next version; what was not named stays; the start moves by wall time alone."""
    meeting = created(api)
    answer = api.patch(
        f"/v1/meetings/{meeting['meeting_id']}",
        json={"start_time": "2027-07-20T09:00:00"},
        headers={"if-match": '"1"', **WAIT},
    )
    changed = answer.json()
    assert (answer.status_code, answer.headers["etag"]) == (200, '"2"')
    assert (changed["start_at"], changed["topic"]) == ("2027-07-20T07:00:00Z", "Planning call")


def test_a_change_of_a_version_that_has_moved_on_is_refused(api: httpx.Client, decider: Decider) -> None:
    """412 for who waits; for who does not, 202, and the command tells why."""
    meeting = created(api)
    path = f"/v1/meetings/{meeting['meeting_id']}"
    api.patch(path, json={"topic": "Newer"}, headers=WAIT)
    waited = api.patch(path, json={"topic": "Late"}, headers={"if-match": '"1"', **WAIT})
    not_waited = api.patch(path, json={"topic": "Late"}, headers={"if-match": '"1"'})
    told = wait_for(lambda: _decided(api, not_waited), what="the command's decision") or {}
    assert (waited.status_code, waited.json()["code"]) == (412, "version_conflict")
    assert not_waited.status_code == 202
    assert (told["status"], told["code"], told["command"]) == ("rejected", "version_conflict", "change")
    assert api.get(path).json()["topic"] == "Newer"


def test_a_series_over_the_change_of_the_clocks_moves_to_another_host(api: httpx.Client, decider: Decider) -> None:
    """ZC31 h: wall time and UTC are both right, before and after; host and recurrence change like any other detail."""
    series = {"type": 2, "weekly_days": "2", "end_times": 3}
    denver = {"start_time": "2027-11-01T17:00:00", "timezone": "America/Denver"}
    meeting = created(api, recurrence=series, **denver)
    path = f"/v1/meetings/{meeting['meeting_id']}"
    later = api.patch(path, json={"start_time": "2027-11-08T17:00:00"}, headers=WAIT).json()
    moved = api.patch(path, json={"host": "other@example.com", "recurrence": None}, headers=WAIT).json()
    assert {name: meeting["recurrence"][name] for name in series} == series
    assert [each["start_at"] for each in (meeting, later)] == ["2027-11-01T23:00:00Z", "2027-11-09T00:00:00Z"]
    assert [each["start_time"] for each in (meeting, later)] == ["2027-11-01T17:00:00", "2027-11-08T17:00:00"]
    assert (moved["host"], moved["recurrence"], moved["version"], moved["room"]["status"]) == (
        "other@example.com",
        None,
        3,
        "ready",
    )


def test_a_cancelled_meeting_stays_cancelled(api: httpx.Client, decider: Decider) -> None:
    """200 with the room removed; then changing and cancelling are 409."""
    path = f"/v1/meetings/{created(api)['meeting_id']}"
    cancelled = api.delete(path, params={"reason": "no longer needed"}, headers=WAIT)
    again = [api.delete(path, headers=WAIT), api.patch(path, json={"topic": "x"}, headers=WAIT)]
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    assert cancelled.json()["room"]["status"] == "removed"
    assert [(answer.status_code, answer.json()["code"]) for answer in again] == [(409, "meeting_cancelled")] * 2


def test_a_change_under_a_key_is_one_command(api: httpx.Client, decider: Decider) -> None:
    """Repeating it changes nothing more; other content under it is 422, a create's key included."""
    key = uuid4().hex
    meeting = create(api, key, headers=WAIT).json()
    path = f"/v1/meetings/{meeting['meeting_id']}"
    change_key = {"idempotency-key": uuid4().hex, **WAIT}
    first = api.patch(path, json={"topic": "One"}, headers=change_key)
    repeated = api.patch(path, json={"topic": "One"}, headers=change_key)
    other = api.patch(path, json={"topic": "Two"}, headers=change_key)
    creates = api.patch(path, json={"topic": "Two"}, headers={"idempotency-key": key})
    assert [first.json()["version"], repeated.json()["version"]] == [2, 2]
    assert [other.status_code, creates.status_code] == [422, 422]


def test_what_is_another_accounts_is_not_found(api: httpx.Client, other_api: httpx.Client, decider: Decider) -> None:
    """Reading, changing, cancelling and looking up commands across accounts are all 404, as for what never was."""
    accepted = create(api, headers=WAIT)
    command = create(api).json()["command"]
    path = accepted.headers["location"]
    refused = [
        other_api.get(path),
        other_api.patch(path, json={"topic": "mine"}),
        other_api.delete(path),
        other_api.get(command),
        api.get(f"/v1/meetings/{uuid4()}"),
        api.get("/v1/meetings/not-a-uuid"),
        api.delete(f"/v1/meetings/{uuid4()}"),
        api.get(f"/v1/commands/{uuid4()}"),
        api.get("/v1/commands/x"),
    ]
    assert {answer.status_code for answer in refused} == {404}
    assert {answer.json()["code"] for answer in refused} == {"not_found"}
    assert other_api.get("/v1/meetings").json()["items"] == []
    assert api.get(path).json()["topic"] == "Planning call"


def test_two_accounts_may_use_one_key(api: httpx.Client, other_api: httpx.Client) -> None:
    """A key is the caller's account's own."""
    key = uuid4().hex
    first, second = create(api, key), create(other_api, key, topic="Another")
    assert [first.status_code, second.status_code] == [202, 202]
    assert first.json()["meeting_id"] != second.json()["meeting_id"]


def _decided(api: httpx.Client, accepted: httpx.Response) -> dict[str, Any] | None:
    """The command once it is decided."""
    found: dict[str, Any] = api.get(accepted.json()["command"]).json()
    return found if found["status"] != "pending" else None
