"""`/v1/meetings/{id}/registrants` from a caller's side: people in bulk, each with an outcome of its own (ZC39)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

import httpx
import pytest

from runtime.topics import MEETING_COMMANDS
from schemas.codec import decode
from schemas.records.meeting_commands import AddRegistrant
from streams.meetings.fold import COMMANDS
from tests.deciding import Decider, deciding
from tests.ingress import records
from tests.integration.ingress.conftest import Running
from tests.waiting import wait_for

WAIT = {"prefer": "wait=20"}


@pytest.fixture
def decider(running: Running) -> Iterator[Decider]:
    """Commands are decided, rooms made, people registered."""
    with deciding(running.settings, makes_rooms=True) as at_work:
        yield at_work


def meeting(api: httpx.Client, *, approval_type: int = 0, headers: dict[str, str] | None = None) -> str:
    """A meeting that takes registrations; gives the path of its registrants."""
    body = {
        "host": "host@example.com",
        "topic": "Open evening",
        "start_time": "2027-03-20T09:00:00Z",
        "settings": {"approval_type": approval_type},
    }
    answer = api.post("/v1/meetings", json=body, headers={"idempotency-key": uuid4().hex, **(headers or WAIT)})
    return f"/v1/meetings/{answer.json()['meeting_id']}/registrants"


def people(*names: str) -> dict[str, Any]:
    """A request to register these."""
    return {"registrants": [{"email": f"{name}@example.com", "first_name": name} for name in names]}


def decisions(action: str, *names: str) -> dict[str, Any]:
    """A request to decide about these."""
    return {"decisions": [{"email": f"{name}@example.com", "action": action} for name in names]}


def statuses(items: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Each person's status, by name."""
    return {item["email"].partition("@")[0]: item["status"] for item in items}


def test_people_get_their_own_links(api: httpx.Client, decider: Decider) -> None:
    """Registered together and waited for, each has an accepted command, a status and a link; reading shows the same."""
    path = meeting(api)
    answer = api.post(path, json=people("one", "two", "three"), headers=WAIT)
    items = answer.json()["items"]
    found = {item["registrant"]["registrant_id"]: item["registrant"] for item in items}
    read = {name: api.get(f"{path}/{name}").json() for name in found}
    told = api.get(items[0]["command"]).json()
    assert (answer.status_code, answer.headers["preference-applied"], read) == (200, "wait", found)
    assert {person["status"] for person in found.values()} == {"approved"}
    assert len({person["join_url"] for person in found.values()} - {None}) == 3
    assert (told["status"], told["command"]) == ("accepted", "add_registrant")
    assert told["registrant_id"] == items[0]["registrant"]["registrant_id"]


def test_a_host_decides_about_people(api: httpx.Client, decider: Decider) -> None:
    """With manual approval they wait; approved, denied and cancelled in one request, each as it was said."""
    path = meeting(api, approval_type=1)
    waiting = api.post(path, json=people("in", "out", "away"), headers=WAIT).json()["items"]
    asked = {"decisions": [*decisions("approve", "in")["decisions"], *decisions("deny", "out")["decisions"]]}
    asked["decisions"] += decisions("cancel", "away")["decisions"]
    answer = api.patch(path, json=asked, headers=WAIT)
    after = [item["registrant"] for item in answer.json()["items"]]
    assert statuses([item["registrant"] for item in waiting]) == {"in": "pending", "out": "pending", "away": "pending"}
    assert statuses(after) == {"in": "approved", "out": "denied", "away": "cancelled"}
    assert {person["email"]: person["join_url"] is not None for person in after} == {
        "in@example.com": True,
        "out@example.com": False,
        "away@example.com": False,
    }


def test_one_who_is_refused_holds_up_nobody(api: httpx.Client, decider: Decider) -> None:
    """Of two decisions the one about a stranger is rejected with its reason; alone it is a problem."""
    path = meeting(api, approval_type=1)
    api.post(path, json=people("known"), headers=WAIT)
    both = api.patch(path, json=decisions("approve", "known", "stranger"), headers=WAIT)
    alone = api.patch(path, json=decisions("approve", "stranger"), headers=WAIT)
    told = {item["email"]: (item["status"], item["code"]) for item in both.json()["items"]}
    assert (both.status_code, told) == (
        200,
        {"known@example.com": ("accepted", None), "stranger@example.com": ("rejected", "registrant_not_found")},
    )
    assert (alone.status_code, alone.json()["code"], bool(alone.json()["detail"])) == (404, "not_found", True)


def test_a_meeting_that_takes_none_refuses_everybody(api: httpx.Client, decider: Decider) -> None:
    """409 with the reason for who waits; for who does not, 202, and each command tells it."""
    path = meeting(api, approval_type=2)
    waited = api.post(path, json=people("one", "two"), headers=WAIT)
    accepted = api.post(path, json=people("one", "two"))
    commands = [item["command"] for item in accepted.json()["items"]]
    told = wait_for(lambda: _decided(api, commands), what="decisions") or []
    assert (waited.status_code, waited.json()["code"]) == (409, "rejected")
    assert "approval_type" in waited.json()["detail"]
    assert accepted.status_code == 202
    assert [(each["status"], each["code"]) for each in told] == [("rejected", "registration_off")] * 2


def test_one_key_names_all_of_the_request(api: httpx.Client, decider: Decider) -> None:
    """ZC39 a: in another order it is the same request; one person more, or another name, is other content."""
    path = meeting(api)
    key = {"idempotency-key": uuid4().hex}
    first = api.post(path, json=people("one", "two"), headers=key)
    again = api.post(path, json=people("two", "one"), headers={**key, **WAIT})
    other = [
        api.post(path, json=people("one", "two", "three"), headers=key),
        api.post(path, json=people("three", "four"), headers=key),
        api.post(path, json=people("one"), headers=key),
        api.patch(path, json=decisions("cancel", "one"), headers=key),
    ]
    sent = [decode(each.value(), *COMMANDS) for each in records(decider.settings, MEETING_COMMANDS)]
    adds = [each for each in sent if isinstance(each, AddRegistrant) and each.meeting_id in path]
    ids = [item["command_id"] for item in first.json()["items"]]
    assert (first.status_code, again.status_code, len(adds)) == (202, 200, 2)
    assert [item["command_id"] for item in again.json()["items"]] == ids
    assert {(answer.status_code, answer.json()["code"]) for answer in other} == {(422, "idempotency_key_reused")}


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "registrants"),
        ({"registrants": []}, "registrants"),
        (people(*[f"p{number}" for number in range(101)]), "registrants"),
        (people("one", "ONE"), "registrants"),
        ({"registrants": [{"email": "x", "first_name": "X"}]}, "registrants.0.email"),
        ({"registrants": [{"email": "x@example.com"}]}, "registrants.0.first_name"),
        ({"registrants": [{"email": "x@example.com", "first_name": "X", "phone": "1"}]}, "registrants.0.phone"),
    ],
)
def test_a_field_that_does_not_hold_is_named(api: httpx.Client, body: dict[str, Any], named: str) -> None:
    """422 with the place of the person and the name of the field."""
    answer = api.post(f"/v1/meetings/{uuid4()}/registrants", json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert answer.json()["errors"][0]["field"] == named


def test_a_decision_that_is_none_is_named(api: httpx.Client) -> None:
    """422 with the field."""
    answer = api.patch(f"/v1/meetings/{uuid4()}/registrants", json=decisions("promote", "one"))
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "decisions.0.action")


def test_a_list_is_read_page_by_page(running: Running, api: httpx.Client, decider: Decider) -> None:
    """Newest first, each person once, and narrowed by status; a cursor is good for its own list alone."""
    path = meeting(api)
    for name in ("one", "two", "three"):
        running.clock.advance(seconds=1)
        api.post(path, json=people(name), headers=WAIT)
    api.patch(path, json=decisions("cancel", "two"), headers=WAIT)
    first = api.get(path, params={"limit": 2}).json()
    second = api.get(path, params={"limit": 2, "cursor": first["next_cursor"]}).json()
    foreign = api.get(meeting(api), params={"cursor": first["next_cursor"]})
    cancelled = api.get(path, params={"status": "cancelled"}).json()["items"]
    assert [list(statuses(page["items"])) for page in (first, second)] == [["three", "two"], ["one"]]
    assert (second["next_cursor"], list(statuses(cancelled))) == (None, ["two"])
    assert (foreign.status_code, foreign.json()["errors"][0]["field"]) == (400, "cursor")


def test_what_is_another_accounts_is_not_found(api: httpx.Client, other_api: httpx.Client, decider: Decider) -> None:
    """Adding, deciding, listing and reading across accounts are 404, as for what never was."""
    path = meeting(api)
    person = api.post(path, json=people("one"), headers=WAIT).json()["items"][0]["registrant"]["registrant_id"]
    refused = [
        other_api.post(path, json=people("one")),
        other_api.patch(path, json=decisions("cancel", "one")),
        other_api.get(path),
        other_api.get(f"{path}/{person}"),
        api.get(f"{path}/{uuid4()}"),
        api.get(f"{path}/x"),
        api.get(f"/v1/meetings/{uuid4()}/registrants"),
        api.get("/v1/meetings/x/registrants"),
    ]
    assert {(answer.status_code, answer.json()["code"]) for answer in refused} == {(404, "not_found")}


def _decided(api: httpx.Client, commands: Sequence[str]) -> list[dict[str, Any]] | None:
    found = [api.get(command).json() for command in commands]
    return found if all(each["status"] != "pending" for each in found) else None
