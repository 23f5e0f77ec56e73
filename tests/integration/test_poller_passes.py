"""Passes of the poller against a simulated Zoom and a real read model: what webhooks never told is found and mended."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from reconciler.gateway.gauges import Gauges
from runtime.metrics.catalogue.shared import ALERTS
from runtime.postgres import AsyncDatabase
from runtime.settings import Settings
from tests.polling import PollingPlane, polling_plane
from tests.simulated_zoom import ACCOUNT


@pytest.fixture
def plane(settings: Settings) -> Iterator[PollingPlane]:
    """A plane of the test's own."""
    with polling_plane(settings) as made:
        yield made


def meet(plane: PollingPlane, number: int) -> None:
    """Two people meet for three quarters of an hour, one of them twice."""
    plane.clock.advance(seconds=60)
    plane.order(number, "start")
    ann = plane.join(number, "Ann")
    plane.clock.advance(minutes=5)
    plane.join(number, "Bob")
    plane.clock.advance(minutes=10)
    plane.order(number, f"people/{ann}/leave")
    plane.clock.advance(minutes=5)
    plane.join(number, "Ann")
    plane.clock.advance(minutes=25)
    plane.order(number, "end")


@pytest.mark.parametrize(
    "lost",
    ["meeting.started", "meeting.ended", "meeting.participant_joined", "meeting.participant_left", "meeting.[!c]*"],
)
async def test_what_was_lost_is_mended_in_a_pass(plane: PollingPlane, lost: str) -> None:
    """Whatever kind of webhook is lost, runs and attendance equal the truth after one pass."""
    number = plane.make()
    plane.drop(lost)
    meet(plane, number)
    plane.hear()
    plane.clock.advance(minutes=45)
    await plane.poll()
    assert plane.known_runs(number) == plane.true_runs(number)
    assert plane.known_people(number) == plane.true_people(number)


async def test_rooms_that_nobody_told_of_are_found_in_the_hosts_list(plane: PollingPlane) -> None:
    """A room whose creation was never told is known after a pass, with its settings."""
    plane.make(topic="Told")
    plane.hear()
    plane.drop("meeting.created")
    number = plane.make(topic="Untold", starts_in=7200)
    await plane.poll()
    [(topic, shown)] = plane.rows("SELECT topic, shown FROM rooms WHERE zoom_id = %s", str(number))
    assert (topic, "settings" in shown) == ("Untold", True)


async def test_a_change_that_nobody_told_of_costs_one_read(plane: PollingPlane) -> None:
    """The list shows that a room was changed; one GET brings what, and later looks are content."""
    number = plane.make(starts_in=200_000)
    plane.hear()
    plane.drop("meeting.updated")
    plane.zoom.control("PATCH", f"/meetings/{number}", json={"topic": "Theirs"})
    for _ in range(3):
        plane.clock.advance(seconds=1900)
        await plane.poll()
    assert plane.rows("SELECT topic FROM rooms WHERE zoom_id = %s", str(number)) == [("Theirs",)]
    assert plane.calls()["get"] == 1


async def test_three_404s_on_separate_passes_mark_a_room_gone(plane: PollingPlane) -> None:
    """A room that was deleted in silence is gone after three passes, never ended, and never asked about again."""
    number = plane.make(starts_in=200_000)
    plane.hear()
    plane.drop("meeting.deleted")
    plane.clock.advance(seconds=1900)
    plane.zoom.control("DELETE", f"/meetings/{number}")
    seen = []
    for _ in range(6):
        await plane.poll()
        await plane.poll()
        seen.append(plane.rows("SELECT existence FROM rooms WHERE zoom_id = %s", str(number))[0][0])
        plane.clock.advance(seconds=300)
    assert seen == ["exists", "exists", *["gone_unconfirmed"] * 4]
    assert (plane.calls()["get"], plane.known_runs(number)) == (3, {})


async def test_a_host_that_falls_silent_against_its_habit_is_asked(plane: PollingPlane) -> None:
    """Where each hour something was heard, hours of silence are a gap, and a room that began meanwhile is found at once."""
    number = plane.make(starts_in=7_200, minutes=240)
    plane.hear()
    [(host,)] = plane.rows("SELECT host_id FROM room_states")
    for name in (host, ""):
        plane.connection.execute(
            "INSERT INTO poll_habits SELECT %s, %s, slot, 20, 20 FROM generate_series(0, 47) AS slot",
            (ACCOUNT.account_id, name),
        )
    before = await plane.poll()
    plane.drop("*")
    plane.clock.advance(minutes=121)
    plane.join(number, "Bob")
    plane.clock.advance(minutes=8)
    report = await plane.poll()
    alerts = plane.rows("SELECT name FROM alerts WHERE until_at IS NULL")
    async with AsyncDatabase(plane.settings.postgres, role="rooms") as database:
        await Gauges(database, settings=plane.settings, metrics=plane.metrics, clock=plane.clock).run_once()
    assert plane.metrics.value(ALERTS, account=ACCOUNT.account_id, alert="webhook_gap") == 1
    assert (before.rules, report.rules, alerts) == ({"settings_unread": 1}, {"webhook_gap": 1}, [("webhook_gap",)])
    assert {status for status, _, _ in plane.known_runs(number).values()} == {"started"}


async def test_what_the_plan_does_not_allow_is_not_asked_again(plane: PollingPlane) -> None:
    """A free account's past data is refused once and remembered; how a run ended is then not known, and nothing loops."""
    plane.zoom.control("PATCH", f"/accounts/{ACCOUNT.account_id}", json={"plan": "free"})
    number = plane.make()
    plane.drop("meeting.ended")
    meet(plane, number)
    plane.hear()
    plane.clock.advance(minutes=45)
    asked = []
    for _ in range(3):
        await plane.poll()
        asked.append(plane.calls().get("past", 0) + plane.calls().get("participants", 0))
        plane.clock.advance(minutes=30)
    assert asked == [1, 1, 1]


async def test_zooms_lag_is_waited_for(plane: PollingPlane) -> None:
    """Past data that is not there yet is asked for again later, and then mends the run."""
    number = plane.make()
    plane.drop("meeting.ended")
    meet(plane, number)
    plane.hear()
    plane.zoom.service.past_lag_seconds = 7_200
    plane.clock.advance(minutes=45)
    await plane.poll()
    before = plane.known_runs(number)
    plane.clock.advance(minutes=90)
    await plane.poll()
    assert [status for status, _, _ in before.values()] == ["started"]
    assert plane.known_runs(number) == plane.true_runs(number)


async def test_a_pass_takes_the_worst_and_leaves_the_rest(plane: PollingPlane) -> None:
    """With room for two, the two that are latest are asked about; the next pass takes the others."""
    numbers = [plane.make(starts_in=60 * minutes, minutes=30) for minutes in (4, 1, 3, 2)]
    plane.hear()
    plane.clock.advance(minutes=40)
    first = await plane.poll(rooms=2)
    asked = {zoom_id for (zoom_id,) in plane.rows("SELECT zoom_id FROM poll_rooms WHERE asked_at IS NOT NULL")}
    second = await plane.poll(rooms=2)
    assert (first.rooms, first.waiting, second.rooms, second.waiting) == (2, 2, 2, 0)
    assert asked == {str(numbers[1]), str(numbers[3])}


async def test_a_room_that_came_back_in_silence_is_seen_in_the_list(plane: PollingPlane) -> None:
    """Deleted rooms are not asked about, until the host's list shows one again; then one read lifts the mark."""
    number = plane.make(starts_in=200_000)
    plane.zoom.control("DELETE", f"/meetings/{number}")
    plane.hear()
    await plane.poll()
    plane.drop("meeting.recovered")
    plane.order(number, "recover")
    plane.clock.advance(seconds=1900)
    await plane.poll()
    assert plane.rows("SELECT existence FROM rooms WHERE zoom_id = %s", str(number)) == [("exists",)]
    assert plane.calls()["get"] == 1


async def test_run_of_a_room_that_was_deleted_since_is_compared(plane: PollingPlane) -> None:
    """Its end was never told, and the room is gone: the run's own past data says when it was over, and who was there."""
    number = plane.make()
    plane.drop("meeting.ended")
    meet(plane, number)
    plane.zoom.control("DELETE", f"/meetings/{number}")
    plane.hear()
    plane.clock.advance(minutes=45)
    await plane.poll()
    assert plane.known_runs(number) == plane.true_runs(number)
    assert plane.known_people(number) == plane.true_people(number)
    assert plane.calls().get("get", 0) == 0


async def test_run_that_nobody_told_of_is_found_in_the_list_of_past_runs(plane: PollingPlane) -> None:
    """A room was in use, all was read of it, and it is in use once more in silence: a day later that is known too."""
    number = plane.make()
    meet(plane, number)
    plane.hear()
    plane.clock.advance(minutes=45)
    await plane.poll()
    plane.drop("*")
    meet(plane, number)
    plane.clock.advance(hours=25)
    report = await plane.poll()
    assert (report.rules, report.new_runs, len(plane.true_runs(number))) == ({"unheard_run": 1}, 1, 2)
    assert plane.known_runs(number) == plane.true_runs(number)
    assert plane.known_people(number) == plane.true_people(number)


async def test_settings_of_a_series_are_read_before_each_date(plane: PollingPlane) -> None:
    """A series whose settings somebody changed in silence after its first date is right before its second."""
    number = plane.make(type=8, recurrence={"type": 1, "repeat_interval": 3, "end_times": 3}, starts_in=7_200)
    plane.hear()
    plane.drop("*")
    await plane.poll()
    plane.clock.advance(days=2, hours=4)
    plane.zoom.control("PATCH", f"/meetings/{number}", json={"settings": {"waiting_room": True}})
    await plane.poll(start_seconds=10**9)
    [(waits,)] = plane.rows("SELECT shown -> 'settings' -> 'waiting_room' FROM rooms WHERE zoom_id = %s", str(number))
    assert waits is True


async def test_a_date_at_no_moment_ends_no_pass(plane: PollingPlane) -> None:
    """Dates are kept as they were sent: ones that no calendar has are passed over, and the others are looked at."""
    number = plane.make(type=8, recurrence={"type": 1, "repeat_interval": 3, "end_times": 3}, starts_in=7_200)
    plane.hear()
    today, yesterday = (f"{plane.clock.now() - timedelta(days=days):%Y-%m-%d}" for days in (0, 1))
    odd = {f"{yesterday}T25:61:00Z": 60, f"{today}T25:61:00Z": 60, f"{today}T23:00:00Z": 10**12}
    for start, minutes in odd.items():
        plane.connection.execute(
            "INSERT INTO room_entries (account_id, zoom_id, kind, entry_key, shown, gone, proven_at, generation, revision)"
            " SELECT account_id, zoom_id, kind, %(start)s,"
            " jsonb_build_object('start_time', %(start)s::text, 'duration', %(minutes)s::bigint), gone, proven_at, 0, 0"
            " FROM room_entries WHERE kind = 'occurrence' ORDER BY entry_key LIMIT 1",
            {"start": start, "minutes": minutes},
        )
    await plane.poll(settings_seconds=1.0)
    assert plane.rows("SELECT zoom_id FROM poll_rooms WHERE outcome = 'done'") == [(str(number),)]


async def test_404s_before_something_was_heard_do_not_count(plane: PollingPlane) -> None:
    """Two 404s, then a webhook, then a third: nothing is proven; it takes two more with nothing heard in between."""
    number = plane.make(starts_in=200_000)
    plane.hear()
    plane.zoom.control("POST", "/faults", json={"kind": "error", "names": ["get"], "status": 404, "code": 3001})
    plane.drop("meeting.updated", count=1)
    plane.zoom.control("PATCH", f"/meetings/{number}", json={"topic": "Untold"})
    seen = []
    for minutes in (32, 5, 5, 32, 5, 5):
        plane.clock.advance(minutes=minutes)
        await plane.poll()
        seen.append((plane.calls()["get"], plane.rows("SELECT existence FROM rooms")[0][0]))
        if len(seen) == 2:
            plane.clock.advance(minutes=1)
            plane.zoom.control("PATCH", f"/meetings/{number}", json={"topic": "Told"})
            plane.hear()
        if len(seen) == 3:
            plane.drop("meeting.deleted")
            plane.zoom.control("DELETE", f"/meetings/{number}")
    assert [calls for calls, _ in seen] == [1, 2, 2, 3, 4, 5]
    assert [existence for _, existence in seen] == [*["exists"] * 5, "gone_unconfirmed"]


async def test_room_about_which_zoom_says_nothing_is_left_alone_for_a_while(plane: PollingPlane) -> None:
    """A refusal is no answer to any rule: the room does not take others' place in each pass."""
    number = plane.make(starts_in=200_000)
    plane.hear()
    plane.drop("meeting.deleted")
    plane.zoom.control("DELETE", f"/meetings/{number}")
    plane.zoom.control("POST", "/faults", json={"kind": "error", "names": ["get"], "status": 400, "code": 3161})
    asked = []
    for minutes in (32, 5, 5, 5, 50):
        plane.clock.advance(minutes=minutes)
        await plane.poll()
        asked.append(plane.calls().get("get", 0))
    assert asked == [1, 1, 1, 1, 2]
