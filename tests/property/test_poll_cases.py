"""Field cases of rooms that polls tell of: in every order of arrival, and with every event repeated."""

from __future__ import annotations

from tests.rooms import GUEST, HOST, U1, U2, Heard, M, Rooms, body, heard, iso, ms, observed, person, settles


def zc16() -> list[Heard]:
    """A run whose end no webhook told at first."""
    return [
        body("meeting.started", 0),
        person("joined", 5, "16778240", id=HOST, email="host.one@example.com"),
        person("joined", 6, "16778250", **GUEST),
        observed("meeting", 3660, {"id": int(M), "uuid": U1, "status": "started"}, uuid=U1),
        observed("meeting", 5700, {"id": int(M), "uuid": U2, "status": "waiting"}, uuid=U2),
        observed("past_meeting", 5701, {"uuid": U1, "start_time": iso(0), "end_time": iso(5520)}, uuid=U1),
        observed(
            "past_participant",
            5702,
            {"user_email": "guest.one@example.com", "join_time": iso(6), "leave_time": iso(1800)},
            uuid=U1,
        ),
    ]


def test_zc16_polls_end_a_run_that_no_webhook_ended() -> None:
    """Over time no clock ends a run; a poll does, and closes what was open, a report's row where it says more."""
    assert Rooms(zc16()[:4]).runs()[U1].status == "started"

    def check(rooms: Rooms) -> None:
        run = rooms.runs()[U1]
        assert (run.status, run.ended_at, run.end_polled) == ("ended", ms(5520), True)
        assert rooms.seconds() == {HOST: 5515, "reg-1": 1794}

    settles(zc16(), check)


def test_zc16_the_late_webhook_confirms() -> None:
    """The `ended` that comes after all changes nothing but where the end is known from."""
    late = heard(body("meeting.ended", 5520, end_time=iso(5520)), received=10_800)

    def check(rooms: Rooms) -> None:
        run = rooms.runs()[U1]
        assert (run.status, run.ended_at, run.end_polled) == ("ended", ms(5520), False)
        assert rooms.seconds() == {HOST: 5515, "reg-1": 1794}

    settles([*zc16(), late], check)


def test_zc17_failing_polls_end_nothing() -> None:
    """404s of a past meeting, a 500 and a 404 of the room leave a live run alive; `ended` then ends it."""
    live: list[Heard] = [
        body("meeting.started", 0),
        person("joined", 5, "16778240", id=HOST),
        person("joined", 6, "16778250", **GUEST),
        observed("past_meeting", 100, {"code": 3001}, uuid=U1, status=404, code=3001),
        observed("meeting", 200, {"code": 3001}, status=404, code=3001),
        observed("meeting", 300, {}, status=500),
        observed("meeting", 400, {"status": "started", "uuid": U1}, uuid=U1),
    ]
    assert Rooms(live).runs()[U1].status == "started"
    assert Rooms(live).view().existence == "exists"

    def check(rooms: Rooms) -> None:
        assert (rooms.runs()[U1].status, rooms.runs()[U1].ended_at) == ("ended", ms(900))
        assert rooms.view().existence == "exists"

    settles(
        [*live, body("meeting.ended", 900, end_time=iso(900)), observed("meeting", 905, status=404, code=3001)], check
    )


def test_zc17_three_404s_are_gone_unconfirmed_and_never_ended() -> None:
    """Three polls over ten minutes that find nothing mark the room, not its run; the same 404 thrice does not."""
    lost = [observed("meeting", seconds, status=404, code=3001) for seconds in (1000, 1300, 1600)]
    events: list[Heard] = [body("meeting.started", 0), *lost]

    def check(rooms: Rooms) -> None:
        assert (rooms.view().existence, rooms.runs()[U1].status) == ("gone_unconfirmed", "started")

    settles(events, check)
    assert (
        Rooms([body("meeting.started", 0), *[observed("meeting", 1000 + n, status=404) for n in range(9)]])
        .view()
        .existence
        == "exists"
    )
    assert Rooms([*events, observed("meeting", 2000, {"topic": "back"})]).view().existence == "exists"
    assert Rooms([*events, person("joined", 2000, "1")]).view().existence == "exists"


def test_zc17_a_404_about_a_user_says_nothing_of_the_room() -> None:
    """Code 1001 speaks of the host."""
    lost = [observed("meeting", seconds, status=404, code=1001) for seconds in (1000, 1300, 1600)]
    assert Rooms([body("meeting.started", 0), *lost]).view().existence == "exists"
