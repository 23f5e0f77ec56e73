"""The simulated Zoom over HTTP: tokens, meetings, lists, past meetings, registrants, limits, as recorded of Zoom."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from simulator.config import AccountConfig, Plan
from tests.samples import rest
from tests.shapes import assert_shape
from tests.simulated_zoom import ACCOUNT, HOST, MOMENT, ManualClock, SimulatedZoom, config, simulated_zoom

MEETINGS = f"/v2/users/{HOST}/meetings"
OTHER = AccountConfig(
    account_id="Acct0ExampleNeutral002",
    client_id="Client0ExampleNeutral2",
    client_secret="another-client-secret",
    webhook_secret="another-secret-token",
    plan=Plan.FREE,
)


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands at one moment."""
    return ManualClock()


@pytest.fixture
def zoom(clock: ManualClock) -> Iterator[SimulatedZoom]:
    """Two accounts, the first on the Business plan."""
    with simulated_zoom(config(accounts=(ACCOUNT, OTHER)), clock) as running:
        yield running


@pytest.fixture
def client(zoom: SimulatedZoom) -> Iterator[httpx.Client]:
    """A client of the first account."""
    with zoom.client() as opened:
        yield opened


def create(client: httpx.Client, **body: Any) -> dict[str, Any]:
    """A new room."""
    answer = client.post(MEETINGS, json={**rest("meeting_create.request"), **body})
    assert answer.status_code == 201, answer.text
    created: dict[str, Any] = answer.json()
    return created


def outcome(answer: httpx.Response) -> tuple[int, int]:
    """Status and code of a refusal."""
    return answer.status_code, answer.json()["code"]


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


def test_lists_are_paged_and_cut(client: httpx.Client) -> None:
    """Lists come in pages, with the agenda cut to 250 characters and neither settings nor status."""
    numbers = {create(client, agenda="a" * 300)["id"] for _ in range(5)}
    seen: list[dict[str, Any]] = []
    token = ""
    while True:
        page = client.get(MEETINGS, params={"page_size": 2, "next_page_token": token}).json()
        seen += page["meetings"]
        token = page["next_page_token"]
        if not token:
            break
    assert_shape(page, rest("meetings_list.200"))
    assert {len(item["agenda"]) for item in seen} == {250}
    assert ({item["id"] for item in seen}, len(seen)) == (numbers, 5)


def test_lists_tell_kinds_apart(zoom: SimulatedZoom, client: httpx.Client) -> None:
    """Running meetings are live, later ones upcoming; instant ones are in no list."""
    live, coming = create(client)["id"], create(client, start_time="2026-12-20T15:00:00Z")["id"]
    create(client, type=1)
    zoom.control("POST", f"/meetings/{live}/start")
    kinds = {
        kind: {item["id"] for item in client.get(MEETINGS, params={"type": kind}).json()["meetings"]}
        for kind in ("scheduled", "live", "upcoming_meetings")
    }
    assert kinds == {"scheduled": {live, coming}, "live": {live}, "upcoming_meetings": {live, coming}}


def test_past_meetings_are_found_by_number_and_by_uuid(
    zoom: SimulatedZoom, client: httpx.Client, clock: ManualClock
) -> None:
    """A finished run is found under its number and its uuid; a running one is not there yet."""
    number = create(client)["id"]
    joined = zoom.control("POST", f"/meetings/{number}/join", json={"name": "Guest", "email": "g@example.com"})
    running = client.get(f"/v2/past_meetings/{number}")
    clock.advance(minutes=45)
    zoom.control("POST", f"/meetings/{number}/end")
    quoted = quote(quote(joined["uuid"], safe=""), safe="")
    by_number, by_uuid = (client.get(f"/v2/past_meetings/{key}").json() for key in (number, quoted))
    people = client.get(f"/v2/past_meetings/{quoted}/participants").json()
    instances = client.get(f"/v2/past_meetings/{number}/instances").json()
    assert outcome(running) == (404, 3001)
    assert by_number == by_uuid
    assert_shape(by_uuid, rest("past_meeting.200"))
    assert_shape(people, rest("past_participants.200"))
    assert_shape(instances, rest("past_instances.200"))
    assert people["participants"][0]["duration"] == 45 * 60


def test_past_meetings_can_lag(zoom: SimulatedZoom, client: httpx.Client, clock: ManualClock) -> None:
    """With a lag ordered, a run is among the past meetings only that long after its end."""
    number = create(client)["id"]
    zoom.control("PUT", "/lags", json={"past_seconds": 90})
    for order in ("start", "end"):
        zoom.control("POST", f"/meetings/{number}/{order}")
    early = client.get(f"/v2/past_meetings/{number}").status_code
    clock.advance(seconds=90)
    assert (early, client.get(f"/v2/past_meetings/{number}").status_code) == (404, 200)


@pytest.mark.parametrize(
    ("recurrence", "starts"),
    [
        ({"type": 1, "repeat_interval": 2, "end_times": 3}, ["12-07", "12-09", "12-11"]),
        ({"type": 2, "weekly_days": "2,4", "end_times": 3}, ["12-07", "12-09", "12-14"]),
        ({"type": 3, "monthly_day": 31, "end_times": 3}, ["12-31", "01-31", "02-28"]),
        ({"type": 3, "monthly_week": 1, "monthly_week_day": 2, "end_times": 3}, ["12-07", "01-04", "02-01"]),
        ({"type": 3, "monthly_week": -1, "monthly_week_day": 6, "end_times": 2}, ["12-25", "01-29"]),
        ({"type": 1, "end_date_time": "2026-12-08T23:00:00Z"}, ["12-07", "12-08"]),
        ({"type": 1}, ["12-07"]),
    ],
)
def test_series_have_the_dates_that_zoom_would_give_them(
    client: httpx.Client, recurrence: dict[str, Any], starts: list[str]
) -> None:
    """Daily, weekly and monthly series from Monday, 7 December 2026 on."""
    series = create(client, type=8, start_time="2026-12-07T15:00:00", timezone="UTC", recurrence=recurrence)
    assert [each["start_time"][5:10] for each in series["occurrences"]] == starts


@pytest.mark.parametrize("awkward", ["/", "//"])
def test_awkward_uuids_must_be_encoded_twice(zoom: SimulatedZoom, client: httpx.Client, awkward: str) -> None:
    """A uuid that starts with `/` or holds `//` is found when encoded twice and not when encoded once."""
    number = create(client)["id"]
    uuid = "/zB9tjj3+pbxoCJ1UiOPzg==" if awkward == "/" else "zB9tj//3pbxoCJ1UiOPzg=="
    zoom.service.world.rooms[number].uuid = uuid
    for order in ("start", "end"):
        zoom.control("POST", f"/meetings/{number}/{order}")
    once = quote(uuid, safe="")
    statuses = [client.get(f"/v2/past_meetings/{key}").status_code for key in (once, quote(once, safe=""))]
    assert statuses == [404, 200]


def test_free_accounts_have_no_past_meetings(zoom: SimulatedZoom) -> None:
    """Past meetings of a Free account are 400 code 200."""
    with zoom.client(zoom.token(OTHER)) as free:
        assert outcome(free.get("/v2/past_meetings/91234567890")) == (400, 200)


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


def test_equal_seeds_give_equal_rooms() -> None:
    """Two simulators of one seed make the same rooms with the same secrets."""
    made = []
    for _ in range(2):
        with simulated_zoom(config(seed=11), ManualClock()) as zoom, zoom.client() as client:
            made.append([create(client), create(client)])
    assert made[0] == made[1]
