"""The simulated Zoom over HTTP: tokens and meetings, as recorded of Zoom."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest

from tests.samples import rest
from tests.shapes import assert_shape
from tests.simulated_rest import MEETINGS, create, outcome
from tests.simulated_zoom import ACCOUNT, HOST, MOMENT, ManualClock, SimulatedZoom, config, simulated_zoom


def test_tokens_are_given_for_right_credentials(zoom: SimulatedZoom) -> None:
    """Form or query, with Basic authorization, gives a token in the recorded shape."""
    asked = {"grant_type": "account_credentials", "account_id": ACCOUNT.account_id}
    auth = (ACCOUNT.client_id, ACCOUNT.client_secret)
    answers = [
        httpx.post(f"{zoom.address}/oauth/token", data=asked, auth=auth),
        httpx.post(f"{zoom.address}/oauth/token", params=asked, auth=auth),
    ]
    for answer in answers:
        assert_shape(answer.json(), rest("token.200"))
    assert [answer.status_code for answer in answers] == [200, 200]


@pytest.mark.parametrize(
    ("asked", "secret", "error"),
    [
        ({"grant_type": "client_credentials"}, ACCOUNT.client_secret, rest("token.400")),
        (
            {"grant_type": "account_credentials", "account_id": ACCOUNT.account_id},
            "wrong",
            {"reason": "Invalid client_id or client_secret", "error": "invalid_client"},
        ),
    ],
)
def test_wrong_token_requests_get_reason_and_error(
    zoom: SimulatedZoom, asked: dict[str, str], secret: str, error: dict[str, str]
) -> None:
    """A wrong grant or client is a 400 with `reason` and `error`, not code and message."""
    answer = httpx.post(f"{zoom.address}/oauth/token", data=asked, auth=(ACCOUNT.client_id, secret))
    assert (answer.status_code, answer.json()) == (400, error)


def test_calls_need_a_live_token_with_the_scope(zoom: SimulatedZoom, clock: ManualClock) -> None:
    """No token, a token in the query, an expired one: 401 code 124; a missing scope: its own message."""
    token = zoom.token()
    answers = [
        httpx.get(f"{zoom.address}{MEETINGS}"),
        httpx.get(f"{zoom.address}{MEETINGS}", params={"access_token": token}),
    ]
    zoom.control("PUT", "/tokens", json={"scopes": ["meeting:read:meeting:admin"]})
    narrow = zoom.client().get(MEETINGS)
    clock.advance(seconds=3_601)
    answers.append(zoom.client(token).get(MEETINGS))
    assert [outcome(answer) for answer in answers] == [(401, 124)] * 3
    assert answers[2].json() == rest("error.401_124")
    assert "does not contain scopes" in narrow.json()["message"]


def test_a_room_is_created_read_changed_and_deleted(client: httpx.Client) -> None:
    """The life of a room: 201 with everything, 200, an empty 204, 204, then 404 code 3001."""
    created = create(client)
    assert_shape(created, rest("meeting_create.201"))
    path = f"/v2/meetings/{created['id']}"
    changed = client.patch(path, json={"topic": "New", "settings": {"waiting_room": False}})
    read = client.get(path).json()
    deleted = client.delete(path)
    gone = client.get(path)
    assert (changed.status_code, changed.content, deleted.status_code) == (204, b"", 204)
    assert (read["topic"], read["settings"]["waiting_room"], read["duration"]) == ("New", False, created["duration"])
    assert gone.json() == {"code": 3001, "message": f"Meeting does not exist: {created['id']}."}


def test_wall_times_and_utc_mean_what_zoom_takes_them_for(client: httpx.Client) -> None:
    """A wall time is read in its zone, a Z time as UTC whatever the zone; both are answered in UTC."""
    local = create(client, start_time="2026-12-20T09:00:00", timezone="America/New_York")
    utc = create(client, start_time="2026-12-20T09:00:00Z", timezone="America/New_York")
    assert (local["start_time"], utc["start_time"]) == ("2026-12-20T14:00:00Z", "2026-12-20T09:00:00Z")


def test_what_zoom_corrects_in_silence_is_corrected(client: httpx.Client) -> None:
    """A past start becomes now, and is ignored by a change; unknown enumeration values and undefined fields go."""
    created = create(
        client,
        start_time="2020-01-01T00:00:00Z",
        settings={"auto_recording": "nonsense", "approval_type": 9},
        tracking_fields=[{"field": "undefined", "value": "x"}, {"field": "command_id", "value": "k"}],
    )
    path = f"/v2/meetings/{created['id']}"
    ignored = client.patch(path, json={"start_time": "2020-01-01T00:00:00Z"})
    assert (ignored.status_code, client.get(path).json()["start_time"]) == (204, created["start_time"])
    assert created["start_time"] == "2026-12-01T14:58:31Z"
    assert (created["settings"]["auto_recording"], created["settings"]["approval_type"]) == ("none", 2)
    assert created["tracking_fields"] == [{"field": "command_id", "value": "k", "visible": False}]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"settings": {"jbh_time": 7}}, "settings.jbh_time"),
        ({"topic": "x" * 201}, "topic"),
        ({"agenda": "x" * 2_001}, "agenda"),
        ({"password": "x" * 11}, "password"),
        ({"duration": 1_441}, "duration"),
        ({"type": 5}, "type"),
        ({"timezone": "Mars/Base"}, "timezone"),
        ({"start_time": "2026-12-20T09:00:00+01:00"}, "start_time"),
    ],
)
def test_values_that_do_not_validate_are_named(client: httpx.Client, body: dict[str, Any], field: str) -> None:
    """A wrong value is a 400 code 300 that names the field."""
    answer = client.post(MEETINGS, json=body)
    sample = rest("error.400_300")
    sample["errors"][0]["field"] = field
    assert (answer.status_code, answer.json()) == (400, sample)


def test_hosts_must_exist_and_be_allowed(zoom: SimulatedZoom, client: httpx.Client) -> None:
    """An unknown host is 404 code 1001, a pending one 400 code 1000, one who may not host 400 code 3161."""
    unknown = client.post("/v2/users/nobody@example.com/meetings", json={})
    zoom.control("PATCH", f"/accounts/{ACCOUNT.account_id}/hosts/{HOST}", json={"pending": True})
    pending = client.post(MEETINGS, json={})
    zoom.control("PATCH", f"/accounts/{ACCOUNT.account_id}/hosts/{HOST}", json={"pending": False, "may_host": False})
    forbidden = client.post(MEETINGS, json={})
    assert unknown.json() == rest("error.404_1001")
    assert [outcome(each) for each in (pending, forbidden)] == [(400, 1000), (400, 3161)]


def test_a_running_meeting_cannot_be_deleted_but_ended(zoom: SimulatedZoom, client: httpx.Client) -> None:
    """DELETE of a meeting in progress is 400 code 3002; PUT status ends it; then it goes and can be recovered."""
    number = create(client)["id"]
    zoom.control("POST", f"/meetings/{number}/start")
    path = f"/v2/meetings/{number}"
    refused = client.delete(path)
    steps = [
        client.put(f"{path}/status", json={"action": "end"}),
        client.delete(path),
        client.put(f"{path}/status", json={"action": "recover"}),
        client.get(path),
    ]
    assert outcome(refused) == (400, 3002)
    assert [step.status_code for step in steps] == [204, 204, 204, 200]


def test_one_date_of_a_series_goes_alone(client: httpx.Client) -> None:
    """DELETE with an occurrence id leaves the rest; an unknown one is refused; a moved date has a new id."""
    series = create(client, type=8, recurrence={"type": 1, "repeat_interval": 1, "end_times": 3})
    first, second, third = (each["occurrence_id"] for each in series["occurrences"])
    path = f"/v2/meetings/{series['id']}"
    moved = client.patch(path, params={"occurrence_id": second}, json={"start_time": "2026-12-24T10:00:00Z"})
    deleted = client.delete(path, params={"occurrence_id": first})
    again = client.delete(path, params={"occurrence_id": first})
    dates = {each["occurrence_id"]: each["status"] for each in client.get(path).json()["occurrences"]}
    assert (moved.status_code, deleted.status_code, again.status_code) == (204, 204, 400)
    assert (dates[first], dates[third], second in dates) == ("deleted", "available", False)


def test_a_weekly_series_keeps_its_hour_over_the_change_of_clocks(client: httpx.Client, clock: ManualClock) -> None:
    """Three Mondays at 17:00 in Denver around the end of summer time are told in their right UTC hours."""
    clock.at = MOMENT - timedelta(days=60)
    series = create(
        client,
        type=8,
        start_time="2026-10-26T17:00:00",
        timezone="America/Denver",
        recurrence={"type": 2, "repeat_interval": 1, "end_times": 3},
    )
    starts = [each["start_time"] for each in series["occurrences"]]
    assert starts == ["2026-10-26T23:00:00Z", "2026-11-03T00:00:00Z", "2026-11-10T00:00:00Z"]


def test_equal_seeds_give_equal_rooms() -> None:
    """Two simulators of one seed make the same rooms with the same secrets."""
    made = []
    for _ in range(2):
        with simulated_zoom(config(seed=11), ManualClock()) as zoom, zoom.client() as client:
            made.append([create(client), create(client)])
    assert made[0] == made[1]
