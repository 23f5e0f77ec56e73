"""Field cases of rooms: in every order of arrival, and with every event repeated, the same state and the right answer."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.errors import BadMessage
from tests.rooms import (
    GUEST,
    HOST,
    U1,
    U2,
    U3,
    Heard,
    M,
    Rooms,
    body,
    heard,
    iso,
    ms,
    observed,
    person,
    settles,
    updated,
)


def test_zc07_unknown_names_and_blanks_are_kept_and_harm_nothing() -> None:
    """An event nobody knows is kept with its body; a blank join time is the event's, marked; an unknown room is a room."""
    events: list[Heard] = [
        body("meeting.hologram_started", 1, colour="blue"),
        person("joined", 2, "16778240", new_field="x"),
        person("joined", 3, "16778241", time=""),
        body(
            "meeting.registration_created",
            4,
            registrant={"id": "r1", "first_name": "A", "email": "", "org": "", "status": "odd"},
        ),
        body("meeting.ended", 60, id="99999999999", uuid=U3, end_time=iso(60)),
    ]

    def check(rooms: Rooms) -> None:
        [kept] = rooms.of_kind("fact")
        assert kept.value("body")["payload"]["object"]["colour"] == "blue"
        joined = {each.user_id: each.stays[0].joined for each in rooms.connections()}
        assert joined == {"16778240": ms(2), "16778241": ms(3)}
        [flagged] = [each for each in rooms.of_kind("connection") if "time_assumed" in each.maxima]
        assert flagged.identity.parts[1] == "16778241"
        [registrant] = rooms.of_kind("registrant")
        assert (registrant.value("status"), registrant.value("org"), registrant.value("first_name")) == (
            "pending",
            None,
            "A",
        )
        assert rooms.runs("99999999999")[U3].status == "ended"

    settles(events, check)


def test_zc08_one_room_whatever_the_type_of_its_number() -> None:
    """A number as integer and as text is one room; a user id beyond 32 bits stays text."""
    events: list[Heard] = [
        body("meeting.started", 0, id=int(M)),
        person("joined", 5, "4294900001"),
        updated(6, topic="Planning call v2"),
        body("meeting.ended", 60, id=M, end_time=iso(60)),
    ]

    def check(rooms: Rooms) -> None:
        assert {entry.identity.zoom_id for entry in rooms.entries.values()} == {M}
        assert rooms.view().details["topic"] == "Planning call v2"
        assert rooms.runs()[U1].status == "ended"
        assert rooms.connections()[0].user_id == "4294900001"

    settles(events, check)


def test_zc09_copies_that_differ_have_one_effect() -> None:
    """The same leave three times, once with another event time and once with a field more, is one leave."""
    leave = person("left", 30, "16778240")
    richer = person("left", 30, "16778240", participant_uuid="PU-1")
    later = {**leave, "event_ts": ms(30) + 3}
    events: list[Heard] = [person("joined", 5, "16778240"), leave, richer, later]

    def check(rooms: Rooms) -> None:
        [connection] = rooms.of_kind("connection")
        assert (connection.points["leaves"], connection.text("participant_uuid")) == (((ms(30), ""),), "PU-1")
        assert rooms.seconds() == {"16778240": 25}

    settles(events, check)


def test_zc13_a_late_leave_of_the_old_connection_ends_the_old_connection() -> None:
    """Killed and back: the person stays present on the new connection, with no gap and no double count."""
    who: dict[str, Any] = {"id": HOST, "email": "host.one@example.com"}
    events: list[Heard] = [
        body("meeting.started", 0),
        person("joined", 10, "16778240", **who),
        person("joined", 76, "16780288", **who),
        person("left", 108, "16778240", **who),
    ]

    def check(rooms: Rooms) -> None:
        [host] = rooms.attendance(now=200)
        assert (host.person, host.present, host.seconds) == (("user", HOST), True, 190)
        assert [each.user_id for each in rooms.connections() if each.stays[-1].left is None] == ["16780288"]

    settles(events, check)


@pytest.mark.parametrize("with_start", [True, False])
def test_zc15_a_late_or_missing_start_reopens_nothing(with_start: bool) -> None:
    """`ended` is final for its uuid, and tells the start where `started` never came."""
    run: list[Heard] = [
        body("meeting.ended", 600, end_time=iso(600)),
        person("left", 595, "16778250", **GUEST),
        person("joined", 5, "16778250", **GUEST),
    ]
    late = heard(body("meeting.started", 0), received=4200)

    def check(rooms: Rooms) -> None:
        run = rooms.runs()[U1]
        assert (run.status, run.started_at, run.ended_at) == ("ended", ms(0), ms(600))
        assert rooms.seconds() == {"reg-1": 590}

    settles([*run, late] if with_start else run, check)


def test_zc15_a_join_implies_a_start() -> None:
    """Without any `started`, one join shows that the run goes on, and since when."""
    run = Rooms([person("joined", 5, "16778250", **GUEST)]).runs()[U1]
    assert (run.status, run.started_at) == ("started", ms(0))


def zc19() -> list[Heard]:
    """A restart under the same number; the first run's end comes during the second."""
    return [
        body("meeting.started", 0),
        person("joined", 10, "16778250", **GUEST),
        body("meeting.started", 1320, uuid=U2, start_time=iso(1320)),
        person("joined", 1330, "16779300", uuid=U2, start=1320, **GUEST),
        body("meeting.ended", 1200, end_time=iso(1200)),
        person("left", 2400, "16779300", uuid=U2, start=1320, **GUEST),
        body("meeting.ended", 2400, uuid=U2, start_time=iso(1320), end_time=iso(2400)),
        body("meeting.started", 604_800, uuid=U3, start_time=iso(604_800)),
    ]


def test_zc19_runs_of_one_number_are_kept_apart() -> None:
    """Each run has its own end and attendance, the third inherits nobody, and the room keeps its link."""
    link = "https://example.com/j/91000000001"
    made = body("meeting.created", -60, join_url=link)
    assert Rooms(zc19()[:5]).runs()[U2].status == "started"

    def check(rooms: Rooms) -> None:
        runs = rooms.runs()
        assert rooms.view().details["join_url"] == link
        assert {uuid: run.status for uuid, run in runs.items()} == {U1: "ended", U2: "ended", U3: "started"}
        assert (rooms.seconds(U1), rooms.seconds(U2), rooms.seconds(U3)) == ({"reg-1": 1190}, {"reg-1": 1070}, {})
        assert not any(run.end_inferred for run in runs.values())

    settles([made, *zc19()], check)


def test_zc19_a_run_without_an_end_is_over_when_the_next_starts() -> None:
    """The end that never came is inferred from the next start, and says so."""
    without = [event for event in zc19() if "ended" not in str(event)]

    def check(rooms: Rooms) -> None:
        first, second = rooms.runs()[U1], rooms.runs()[U2]
        assert (first.status, first.ended_at, first.end_inferred) == ("ended", ms(1320), True)
        assert (second.ended_at, rooms.seconds(U1)) == (ms(604_800), {"reg-1": 1310})

    settles(without, check)


def test_zc21_orphans_blanks_and_masks() -> None:
    """A leave alone counts nothing and heals; masked addresses name nobody; no user id reaches over two runs."""
    events: list[Heard] = [
        person("left", 300, "16778300"),
        heard(person("joined", 30, "16778300"), received=400),
        person(
            "joined", 40, "16778310", id="otherAccountId000001", email="other.mail@example.com", registrant_id="reg-7"
        ),
        person("joined", 50, "16778320", email="abc~masked~@example.com"),
        person("joined", 60, "16778330", user_name=""),
        person("joined", 86_400, "16778300", uuid=U2, start=86_400, user_name="Someone Else"),
    ]
    assert Rooms(events[:1]).seconds() == {"16778300": 0}
    assert Rooms(events[:1]).connections()[0].orphan_leaves == (ms(300),)

    def check(rooms: Rooms) -> None:
        people = {each.person: each.seconds for each in rooms.attendance(now=100)}
        assert people[("connection", "16778300")] == 270
        assert ("registrant_id", "reg-7") in people
        assert ("connection", "16778320") in people
        assert ("connection", "16778330") in people
        assert len(people) == 4
        assert [each.person for each in rooms.attendance(U2)] == [("connection", "16778300")]

    settles(events, check)


def zc23(*, swap_bind: bool) -> list[Heard]:
    """Laptop, phone and a bound dial-in of one person."""
    who: dict[str, Any] = {"id": "userX", "email": "g1@example.com"}
    bound = ("100", "777") if swap_bind else ("777", "100")
    bind: dict[str, Any] = {"bind_user_id": bound[1], **(who if swap_bind else {})}
    return [
        body("meeting.started", 0),
        person("joined", 0, "100", **who),
        person("joined", 600, "200", **who),
        person("joined", 300, "777"),
        person("bind", 360, bound[0], **bind),
        person("left", 3000, "100", **who),
        person("left", 3600, "200", **who),
        body("meeting.ended", 3600, end_time=iso(3600)),
        person("left", 3600, "777"),
    ]


@pytest.mark.parametrize("swap_bind", [False, True])
def test_zc23_two_devices_and_a_bound_phone_are_one_person(swap_bind: bool) -> None:
    """The union of all stays counts, not their sum; the binding holds whichever side it is told from."""
    assert Rooms(zc23(swap_bind=swap_bind)[:6]).attendance(now=3100)[0].present

    def check(rooms: Rooms) -> None:
        [somebody] = rooms.attendance()
        assert (somebody.person, somebody.seconds, somebody.connections) == (("user", "userX"), 3600, 3)

    settles(zc23(swap_bind=swap_bind), check)


def zc24(variant: str, *, email: str = "g1@example.com") -> list[Heard]:
    """Main room, two breakout rooms, and out."""
    who: dict[str, Any] = {"email": email}
    in_room: dict[str, Any] = {"parent_user_id": "c1", **who}
    events: list[Heard] = [
        person("joined_breakout_room", 600, "c2", room="R1", **in_room),
        person("left_breakout_room", 1200, "c2", room="R1", **in_room),
        person("joined_breakout_room", 1205, "c3", room="R2", **in_room),
        person("left_breakout_room", 1800, "c3", room="R2", **in_room),
    ]
    if variant != "parent never seen":
        events += [person("joined", 0, "c1", **who), person("left", 2400, "c1", **who)]
    if variant == "with moves":
        for out, back in ((600, 1200), (1205, 1800)):
            events += [person("left", out, "c1", **who), person("joined", back, "c1", **who)]
    return events


@pytest.mark.parametrize(("variant", "seconds"), [("plain", 2400), ("with moves", 2400), ("parent never seen", 1195)])
def test_zc24_breakout_rooms_move_a_connection(variant: str, seconds: int) -> None:
    """One person, present without a gap, with the time in each room beside the whole."""

    def check(rooms: Rooms) -> None:
        [somebody] = rooms.attendance()
        assert (somebody.person, somebody.seconds) == (("email", "g1@example.com"), seconds)
        assert somebody.breakout_seconds == (("R1", 600), ("R2", 595))

    settles(zc24(variant), check)
    nameless = zc24(variant, email="")
    assert [each.person for each in Rooms(nameless).attendance()] == [("connection", "c1")]


def test_zc24_nobody_vanishes_on_the_way_into_a_room() -> None:
    """While everybody is in breakout rooms the run is not empty."""
    rooms = Rooms(
        [body("meeting.started", 0), *zc24("with moves")[:1], person("joined", 0, "c1"), person("left", 600, "c1")]
    )
    assert [each.present for each in rooms.attendance(now=700)] == [True]


def test_zc29_a_personal_room_is_a_room_of_its_own() -> None:
    """A start under the host's personal number touches no other room."""
    events: list[Heard] = [
        body("meeting.created", 0),
        body(
            "meeting.started",
            777_600,
            id="5550001234",
            uuid="VT8mq==",
            type=4,
            topic="Personal",
            start_time=iso(777_600),
        ),
    ]

    def check(rooms: Rooms) -> None:
        assert rooms.runs() == {}
        assert rooms.runs("5550001234")["VT8mq=="].status == "started"
        assert rooms.view().details["type"] == 2

    settles(events, check)


def test_zc32_webhooks_before_our_own_answer() -> None:
    """Created and started come before the 201 is known: one room, with the link from whichever told it."""
    events: list[Heard] = [
        body("meeting.created", 0),
        body("meeting.started", 1, start_time=iso(1)),
        observed(
            "meeting", 2, {"uuid": U1, "status": "waiting", "join_url": "https://example.com/j/1"}, uuid=U1, status=201
        ),
    ]

    def check(rooms: Rooms) -> None:
        assert (rooms.runs()[U1].status, rooms.view().details["join_url"]) == ("started", "https://example.com/j/1")

    settles(events, check)


def test_zc33_no_secret_reaches_state_or_outputs() -> None:
    """Passcodes, host links and tokens of webhooks and of our own answers are in no entry and no event."""
    secrets = {"start_url": "https://example.com/s/1?zak=SECRETZAK", "password": "p4ss", "h323_password": "p4ss"}
    rooms = Rooms(
        [
            body("meeting.created", 0, join_url="https://example.com/j/1?pwd=PWD", **secrets),
            observed("meeting", 5, {**secrets, "settings": {"recording_play_passcode": "p4ss"}}, status=201),
            body("meeting.hologram", 6, **secrets),
        ]
    )
    everything = b"".join([*rooms.state().values(), *(output.entry for output in rooms.outputs)])
    assert b"SECRETZAK" not in everything
    assert b"p4ss" not in everything
    assert rooms.view().details["join_url"] == "https://example.com/j/1?pwd=PWD"


@pytest.mark.parametrize(
    "event",
    [
        body("meeting.started", 301),
        body("meeting.started", 0, start_time=iso(301)),
        person("joined", 0, "1", time=iso(301)),
        body("meeting.ended", 0, end_time=iso(301)),
        updated(0) | {"payload": {**updated(0)["payload"], "time_stamp": ms(301)}},
    ],
)
def test_a_time_from_the_future_is_a_bad_message(event: dict[str, Any]) -> None:
    """More than five minutes ahead of its receipt a time would pin a register for ever."""
    with pytest.raises(BadMessage, match="ahead"):
        Rooms([heard(event, received=0)])
