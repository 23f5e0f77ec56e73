"""`/v1/rooms` and `/v1/instances`: what webhooks told, as a caller reads it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from projectors.rooms import RoomsProjection
from runtime.postgres import connect
from tests.ingress import OTHER_ACCOUNT, client, new_api_key
from tests.integration.ingress.conftest import Running
from tests.rooms import ACCOUNT, U1, M, Rooms, at, body, decoded, iso, person

SLASHES, PLUSES = "/a//b+cDEFGHIJKLMNOPQ==", "++++++++++++++++++++++=="


def run(uuid: str, begins: float, ends: float | None) -> Iterable[dict[str, Any]]:
    """A run of the room with one guest who comes twice, from two devices at once."""
    yield body("meeting.started", begins, uuid=uuid, start_time=iso(begins))
    for device in ("1", "2"):
        yield person("joined", begins + 5, device, uuid=uuid, start=begins, email="guest@example.com", user_name="G")
    yield person("left", begins + 65, "1", uuid=uuid, start=begins, email="guest@example.com")
    if ends is not None:
        yield body("meeting.ended", ends, uuid=uuid, start_time=iso(begins), end_time=iso(ends))


@pytest.fixture(scope="module")
def rooms(running: Running) -> str:
    """A room with three runs, folded and projected; gives a key of its account."""
    told = [*run(U1, 0, 100), *run(SLASHES, 1_000, None), *run(PLUSES, 2_000, None)]
    outputs = Rooms(told).outputs
    with connect(running.settings.postgres, role="tests") as connection, connection.cursor() as cursor:
        RoomsProjection().apply(cursor, decoded(outputs))
    return new_api_key(running.settings, ACCOUNT)


@pytest.fixture
def reader(running: Running, rooms: str) -> httpx.Client:
    """A client with a key of the rooms' account, a moment after the last thing that happened."""
    running.clock.at = at(2_105)
    return client(running.url, rooms)


@pytest.mark.parametrize("written", [M, f" {M[:3]} {M[3:7]} {M[7:]} ", f"{M[:3]}-{M[3:]}"])
def test_a_room_is_read_by_its_number(reader: httpx.Client, written: str) -> None:
    """Spaces and hyphens in a number do not matter, and it comes back as text."""
    room = reader.get(f"/v1/rooms/{quote(written)}").json()
    assert (room["zoom_id"], room["existence"], room["topic"]) == (M, "exists", "Planning call")


def test_runs_are_listed_newest_first(reader: httpx.Client) -> None:
    """Page by page; a run whose end nobody told is over when the next one starts."""
    first = reader.get(f"/v1/rooms/{M}/instances", params={"limit": 2}).json()
    rest = reader.get(f"/v1/rooms/{M}/instances", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    runs = [*first["items"], *rest["items"]]
    assert [(each["uuid"], each["status"], each["end_inferred"]) for each in runs] == [
        (PLUSES, "started", False),
        (SLASHES, "ended", True),
        (U1, "ended", False),
    ]
    assert rest["next_cursor"] is None


@pytest.mark.parametrize("uuid", [U1, SLASHES, PLUSES])
def test_attendance_is_found_under_every_encoding_of_a_uuid(reader: httpx.Client, uuid: str) -> None:
    """Raw slashes, encoded ones, twice encoded, and plus signs that became spaces."""
    once = quote(uuid, safe="")
    written = [uuid, once, quote(once, safe=""), quote(uuid.replace("+", " "), safe="/")]
    answers = [reader.send(_raw(reader, f"/v1/instances/{each}/attendance")) for each in written]
    assert [answer.status_code for answer in answers] == [200] * 4
    assert {answer.json()["uuid"] for answer in answers} == {uuid}


@pytest.mark.parametrize(("uuid", "seconds", "present"), [(U1, 95, False), (SLASHES, 995, False), (PLUSES, 100, True)])
def test_a_person_counts_once_however_they_came(reader: httpx.Client, uuid: str, seconds: int, present: bool) -> None:
    """Two devices are one person, for the union of their stays, to the end of the run or to this moment."""
    answer = reader.get(f"/v1/instances/{quote(uuid, safe='')}/attendance").json()
    (guest,) = answer["people"]
    assert (answer["zoom_id"], guest["person"], guest["identified_by"]) == (M, "guest@example.com", "email")
    assert (guest["seconds"], guest["present"], guest["connections"]) == (seconds, present, 2)
    assert len(guest["stays"]) == 2


def test_rooms_and_runs_of_others_are_not_found(running: Running, reader: httpx.Client) -> None:
    """Across accounts everything is 404, as for what never was."""
    with client(running.url, new_api_key(running.settings, OTHER_ACCOUNT)) as other:
        paths = [f"/v1/rooms/{M}", f"/v1/rooms/{M}/instances", f"/v1/instances/{quote(U1, safe='')}/attendance"]
        refused = [other.get(path) for path in paths]
        refused += [reader.get("/v1/rooms/99999999999"), reader.get("/v1/instances/unknown/attendance")]
    assert {(answer.status_code, answer.json()["code"]) for answer in refused} == {(404, "not_found")}


def test_the_status_tells_of_alerts(running: Running, reader: httpx.Client) -> None:
    """`ok` without an alert; `degraded` with one of the account's own, and another account's does not show."""
    before = reader.get("/v1/status").json()
    with connect(running.settings.postgres, role="tests") as connection:
        for account_id, name in ((ACCOUNT, "token_refused"), (OTHER_ACCOUNT, "breaker_open")):
            connection.execute(
                "INSERT INTO alerts (name, account_id, since_at, message) VALUES (%s, %s, now(), 'x')",
                (name, account_id),
            )
    after = reader.get("/v1/status").json()
    assert (before["status"], before["reasons"], before["alerts"]) == ("ok", [], [])
    assert (after["status"], [alert["name"] for alert in after["alerts"]]) == ("degraded", ["token_refused"])


def _raw(api: httpx.Client, path: str) -> httpx.Request:
    """A request whose path is sent byte for byte."""
    request = api.build_request("GET", "/")
    request.url = request.url.copy_with(raw_path=path.encode())
    return request
