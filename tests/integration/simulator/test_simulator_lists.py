"""Lists and past meetings of the simulated Zoom, as recorded of Zoom."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.samples import rest
from tests.shapes import assert_shape
from tests.simulated_rest import MEETINGS, OTHER, create, outcome
from tests.simulated_zoom import ManualClock, SimulatedZoom


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
