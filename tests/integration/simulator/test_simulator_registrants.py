"""Registrants of the simulated Zoom, and the limits of hosts and accounts, as recorded of Zoom."""

from __future__ import annotations

from datetime import timedelta

import httpx

from tests.samples import rest
from tests.shapes import assert_shape
from tests.simulated_rest import MEETINGS, OTHER, create, outcome
from tests.simulated_zoom import MOMENT, ManualClock, SimulatedZoom


def test_registrants_are_added_once_approved_and_cancelled(client: httpx.Client) -> None:
    """The same address gives the same registrant; a pending one has no link until it is approved."""
    number = create(client, settings={"approval_type": 1})["id"]
    path = f"/v2/meetings/{number}/registrants"
    body = {"email": "registrant@example.org", "first_name": "Registrant", "last_name": "Two"}
    first, second = client.post(path, json=body), client.post(path, json={**body, "email": "Registrant@example.org"})
    client.put(f"{path}/status", json={"action": "approve", "registrants": [{"email": body["email"]}]})
    (listed,) = client.get(path, params={"status": "approved"}).json()["registrants"]
    assert (first.status_code, "join_url" in first.json()) == (201, False)
    assert first.json()["registrant_id"] == second.json()["registrant_id"] == listed["id"]
    assert listed["join_url"]


def test_automatic_approval_answers_as_recorded(client: httpx.Client) -> None:
    """With automatic approval the answer to an add has the recorded keys, the link among them."""
    number = create(client, settings={"approval_type": 0})["id"]
    answer = client.post(f"/v2/meetings/{number}/registrants", json={"email": "a@example.org", "first_name": "A"})
    assert_shape(answer.json(), rest("registrant_add.201"))


def test_registrants_of_nothing_are_refused_with_the_code_of_users(client: httpx.Client) -> None:
    """Adding to an unknown meeting is 404 code 1001; to one without registration 400 code 3000."""
    body = {"email": "a@example.org", "first_name": "A"}
    unknown = client.post("/v2/meetings/91234567890/registrants", json=body)
    closed = client.post(f"/v2/meetings/{create(client)['id']}/registrants", json=body)
    assert [outcome(answer) for answer in (unknown, closed)] == [(404, 1001), (400, 3000)]


def test_a_fourth_add_of_one_person_is_a_429(client: httpx.Client) -> None:
    """The fourth add of an address to a meeting in a day is the recorded 429; another address is not held up."""
    path = f"/v2/meetings/{create(client, settings={'approval_type': 0})['id']}/registrants"
    body = {"email": "registrant@example.org", "first_name": "A"}
    statuses = [client.post(path, json=body).status_code for _ in range(4)]
    other = client.post(path, json={**body, "email": "other@example.org"})
    assert (statuses, other.status_code) == ([201, 201, 201, 429], 201)


def test_a_hosts_hundred_and_first_create_is_parked_until_midnight(
    zoom: SimulatedZoom, client: httpx.Client, clock: ManualClock
) -> None:
    """Creates and updates share a host's hundred, deletes do not count, other hosts go on, midnight gives new ones."""
    number = create(client)["id"]
    path = f"/v2/meetings/{number}"
    for count in range(99):
        if count % 70 == 0:
            clock.advance(seconds=1)
        assert client.patch(path, json={"topic": f"T{count}"}).status_code == 204
    clock.advance(seconds=1)
    parked = client.post(MEETINGS, json={})
    other = client.post("/v2/users/host-02@example.com/meetings", json={})
    deleted = client.delete(path)
    clock.at = MOMENT + timedelta(hours=9, minutes=2)
    with zoom.client() as next_day:
        resumed = next_day.post(MEETINGS, json={})
    assert (parked.status_code, parked.json()) == (429, rest("error.429_daily_user_100"))
    assert parked.headers["x-ratelimit-category"] == "Light"
    assert {"retry-after", "x-ratelimit-type"} & parked.headers.keys() == set()
    assert (other.status_code, deleted.status_code, resumed.status_code) == (201, 204, 201)


def test_accounts_do_not_see_each_other(zoom: SimulatedZoom, client: httpx.Client) -> None:
    """A meeting of one account does not exist for another."""
    number = create(client)["id"]
    with zoom.client(zoom.token(OTHER)) as other:
        assert outcome(other.get(f"/v2/meetings/{number}")) == (404, 3001)
