"""What the poller is for: with webhooks lost, the read model equals the truth within two passes, attendance included.

Zoom's HTTP, PostgreSQL, the fold, the projection and the poller are real; time passes when a test says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from reconciler.poller.leader import LeadershipLost
from runtime.settings import Settings
from simulator.faults import Kind
from tests.polling import PollingPlane, differences, known, polling_plane, true
from tests.simulated_zoom import ACCOUNT

BUSY: Mapping[str, Any] = {"people": 6, "minutes": 45, "restarts": 1, "breakouts": 2, "lobbies": 2, "second_devices": 1}
EVENTS_OF_PEOPLE = (
    *("started", "ended", "participant_joined", "participant_left", "participant_joined_waiting_room"),
    *("participant_left_waiting_room", "participant_put_in_waiting_room", "participant_admitted"),
    *("participant_joined_breakout_room", "participant_left_breakout_room"),
)
LOST_IN_TURN = ("created", "updated", "recovered", "permanently_deleted", *EVENTS_OF_PEOPLE)


@pytest.fixture
def plane(settings: Settings) -> Iterator[PollingPlane]:
    """A plane of the test's own."""
    with polling_plane(settings) as made:
        yield made


def live(plane: PollingPlane, number: int, lost: str) -> None:
    """Everything that can happen in a room, its change, and what the lost webhook is about."""
    plane.order(number, "happened", json=dict(BUSY))
    plane.zoom.control("PATCH", f"/meetings/{number}", json={"topic": f"Moved: {lost}"})
    if lost in ("recovered", "permanently_deleted"):
        plane.zoom.control("DELETE", f"/meetings/{number}")
        plane.order(number, "recover" if lost == "recovered" else "purge")


async def two_passes(plane: PollingPlane) -> None:
    """Five minutes apart, the first when every meeting should have been over for more than a quarter of an hour."""
    for minutes in (20, 5):
        plane.clock.advance(minutes=minutes)
        await plane.poll()


async def test_each_kind_of_webhook_lost_in_turn(plane: PollingPlane) -> None:
    """One room for each kind that never comes for it, in one world: two passes later all is as it was in Zoom."""
    numbers: dict[int, str] = {}
    for lost in LOST_IN_TURN:
        if lost == "created":
            plane.drop("meeting.created", count=1)
        number = plane.make(topic=lost, starts_in=900, minutes=45)
        plane.drop(f"meeting.{lost}", zoom_id=str(number))
        numbers[number] = lost
    plane.hear()
    plane.clock.advance(hours=1)
    for number, lost in numbers.items():
        live(plane, number, lost)
    plane.hear()
    before = differences(plane, numbers)
    await two_passes(plane)
    assert {"updated", "ended", "participant_joined", "participant_put_in_waiting_room"} <= before.keys()
    assert differences(plane, numbers) == {}


async def test_thirty_per_cent_lost_at_random(plane: PollingPlane) -> None:
    """Whatever is missing of ten busy rooms: two passes later all is as it was in Zoom."""
    plane.drop("*", probability=0.3)
    numbers = {plane.make(topic=f"room {at}", starts_in=900, minutes=45): f"room {at}" for at in range(10)}
    plane.hear()
    plane.clock.advance(hours=1)
    for number, lost in numbers.items():
        live(plane, number, lost)
    plane.hear()
    before = differences(plane, numbers)
    await two_passes(plane)
    assert len(before) == len(numbers)
    assert differences(plane, numbers) == {}


async def test_deletion_that_no_webhook_told_takes_three_passes(plane: PollingPlane) -> None:
    """ZC27: a single 404 ends nothing; the third, on a pass of its own, marks the room gone, and nothing asks again."""
    number = plane.make(starts_in=900, minutes=45)
    plane.hear()
    plane.drop("meeting.deleted")
    plane.zoom.control("DELETE", f"/meetings/{number}")
    existences = []
    for _ in range(5):
        plane.clock.advance(minutes=31)
        await plane.poll()
        existences.append(known(plane, number)["exists"])
    asked = plane.calls()["get"]
    plane.clock.advance(minutes=31)
    await plane.poll()
    assert (existences[:2], existences[-1], plane.calls()["get"]) == ([True, True], False, asked)


async def test_moved_and_deleted_dates_of_a_series_are_found(plane: PollingPlane) -> None:
    """ZC28: one date deleted and one moved, no webhook told: the dates are right, the series and its link stay."""
    rule = {"type": 1, "repeat_interval": 1, "end_times": 3}
    number = plane.make(type=8, recurrence=rule, starts_in=7_200)
    plane.hear()
    plane.drop("*")
    first, second, _ = plane.truth(number).occurrences
    plane.zoom.control("DELETE", f"/meetings/{number}", params={"occurrence_id": first.occurrence_id})
    moved = {"start_time": second.start_at.replace(hour=(second.start_at.hour + 1) % 24).strftime("%Y-%m-%dT%H:%M:%SZ")}
    with plane.zoom.client() as client:
        answer = client.patch(f"/v2/meetings/{number}", params={"occurrence_id": second.occurrence_id}, json=moved)
    assert answer.status_code == 204
    plane.clock.advance(hours=1)
    await two_passes(plane)
    ((dates,),) = plane.rows("SELECT shown -> 'occurrences' FROM rooms WHERE zoom_id = %s", str(number))
    real = [each for each in plane.truth(number).occurrences if each.status == "available"]
    shown = {(each["occurrence_id"], each["start_time"]) for each in dates}
    assert shown == {(each.occurrence_id, f"{each.start_at:%Y-%m-%dT%H:%M:%SZ}") for each in real}
    assert known(plane, number)["exists"]


async def test_pass_that_ends_anywhere_loses_nothing(plane: PollingPlane) -> None:
    """A process that stops before any of its calls, or whose broker goes away, leaves the rest to the next pass."""
    plane.drop("*", probability=0.5)
    numbers = {plane.make(topic=f"room {at}", starts_in=900, minutes=45): f"room {at}" for at in range(3)}
    plane.clock.advance(hours=1)
    for number, lost in numbers.items():
        live(plane, number, lost)
    plane.hear()
    plane.clock.advance(minutes=5)
    for most in range(1, 8):
        await _killed(plane, after=most)
    await two_passes(plane)
    assert differences(plane, numbers) == {}


async def test_leader_that_was_succeeded_changes_nothing(plane: PollingPlane) -> None:
    """What a paused leader saw long ago arrives after its successor's pass, and after webhooks: nothing changes."""
    number = plane.make(starts_in=900, minutes=45)
    plane.clock.advance(hours=1)
    plane.order(number, "join", json={"name": "Ada", "email": "ada@example.com", "person": "Ada"})
    plane.hear()
    plane.clock.advance(hours=2)
    await plane.poll(tell=False)
    old = plane.sent.records[:]
    plane.sent.records.clear()
    plane.zoom.control("PATCH", f"/meetings/{number}", json={"topic": "Newer"})
    plane.order(number, "end")
    plane.hear()
    await two_passes(plane)
    settled = known(plane, number)
    plane.sent.records.extend(old)
    plane.deliver()
    assert old
    assert known(plane, number) == settled == true(plane, number)


async def _killed(plane: PollingPlane, *, after: int) -> None:
    """A pass whose lead is lost before the call after so many; what it sent until then has arrived."""
    made = 0

    async def permit() -> None:
        nonlocal made
        made += 1
        if made > after:
            raise LeadershipLost("killed")

    try:
        await plane.poll(permit=permit)
    except LeadershipLost:
        plane.deliver()


async def test_deliveries_given_up_on_are_read_by_a_pass(plane: PollingPlane) -> None:
    """Webhooks that Zoom gave up on come from its logs, under their own request ids, with the next pass."""
    plane.drop("*", kind=Kind.GIVE_UP)
    number = plane.make(starts_in=900, minutes=45)
    plane.clock.advance(hours=1)
    live(plane, number, "everything")
    heard = plane.hear()
    plane.clock.advance(minutes=5)
    report = await plane.poll()
    logged = {
        each.request_id for each in plane.zoom.service.deliveries.log.newest(ACCOUNT.account_id, now=plane.clock.now())
    }
    assert (heard, report.redelivered, differences(plane, {number: "everything"})) == (0, len(logged), {})


async def test_meeting_that_overruns_is_not_ended_by_the_clock(plane: PollingPlane) -> None:
    """ZC16: after its scheduled end it goes on; when it is over in Zoom, the next pass knows when, and who stayed."""
    number = plane.make(starts_in=60, minutes=60)
    plane.clock.advance(minutes=1)
    plane.order(number, "start")
    host, guest = plane.join(number, "Host"), plane.join(number, "Guest")
    plane.hear()
    plane.drop("*")
    plane.clock.advance(minutes=30)
    plane.order(number, f"people/{guest}/leave")
    plane.clock.advance(minutes=46)
    await plane.poll()
    running = [status for status, _, _ in plane.known_runs(number).values()]
    plane.clock.advance(minutes=16)
    plane.order(number, "end")
    await two_passes(plane)
    assert host != guest
    assert (running, differences(plane, {number: "ended"})) == (["started"], {})


async def test_one_404_ends_no_live_meeting(plane: PollingPlane) -> None:
    """ZC17: a room that is not found once, past data that is not there yet and a 500 leave it live; so does a 200."""
    number = plane.make(starts_in=60, minutes=10)
    plane.clock.advance(minutes=1)
    plane.join(number, "Ada")
    plane.hear()
    missing: dict[str, Any] = {"kind": "error", "names": ["get"], "status": 404, "code": 3001, "count": 1}
    seen = []
    for fault in (missing, missing | {"names": ["past"]}, missing | {"status": 500, "code": 500, "count": 4}, None):
        if fault is not None:
            plane.zoom.control("POST", "/faults", json=fault)
        plane.clock.advance(minutes=31)
        await plane.poll()
        seen.append((known(plane, number)["exists"], [status for status, _, _ in plane.known_runs(number).values()]))
    plane.order(number, "end")
    plane.hear()
    await two_passes(plane)
    assert seen == [(True, ["started"])] * 4
    assert differences(plane, {number: "ended"}) == {}
