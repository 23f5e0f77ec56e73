"""Field cases of what a room is, apart from its runs: in every order of arrival, and with every event repeated."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rooms import U1, Heard, Rooms, body, heard, iso, observed, settles, updated


def test_zc26_updates_change_what_they_name() -> None:
    """Field by field the last change wins; absent is not blank; settings keep the leaves nobody named."""
    events: list[Heard] = [
        body(
            "meeting.created", 0, topic="A", duration=30, agenda="x", settings={"audio": "both", "waiting_room": True}
        ),
        updated(10, topic="B"),
        updated(20, duration=99, uuid=U1, occurrences=[{"occurrence_id": "1668211080000", "start_time": iso(0)}]),
        updated(30, settings={"audio": "voip"}),
        updated(40, agenda=""),
        updated(15, topic="OLD", duration=45),
    ]

    def check(rooms: Rooms) -> None:
        details = rooms.view().details
        assert (details["topic"], details["duration"], details["agenda"], details["uuid"]) == ("OLD", 99, "", U1)
        assert details["settings"] == {"audio": "voip", "waiting_room": True}

    settles(events, check)


def zc27() -> list[Heard]:
    """Deleted, recovered, an older deletion late, gone for good, an older update late."""
    return [
        body("meeting.created", 0, join_url="https://example.com/j/91000000001"),
        body("meeting.deleted", 10, {"operation": "single"}),
        body("meeting.recovered", 100, {"operation": "single"}),
        heard(body("meeting.deleted", 50, {"operation": "single"}), received=130),
        body("meeting.permanently_deleted", 200),
        heard(updated(90, topic="Z"), received=210),
    ]


def test_zc27_existence_follows_the_times_of_events() -> None:
    """A late deletion does not undo a recovery, and nothing undoes a permanent deletion."""
    assert Rooms(zc27()[:2]).view().existence == "deleted"
    assert Rooms(zc27()[:4]).view().existence == "exists"
    settles(zc27()[:4], lambda rooms: _exists(rooms, "exists"))
    settles(zc27(), lambda rooms: _exists(rooms, "permanently_deleted"))


def test_zc27_what_is_recovered_is_as_it_was() -> None:
    """A room that was deleted and recovered has its link and its registrants."""
    who = {"id": "r1", "email": "guest.one@example.com", "status": "approved"}
    registered = body("meeting.registration_created", 5, registrant=who)

    def check(rooms: Rooms) -> None:
        [registrant] = rooms.of_kind("registrant")
        assert registrant.value("status") == "approved"
        assert rooms.view().details["join_url"] == "https://example.com/j/91000000001"
        _exists(rooms, "exists")

    settles([*zc27()[:4], registered], check)


def _exists(rooms: Rooms, existence: str) -> None:
    assert rooms.view().existence == existence


@pytest.mark.parametrize(
    ("names", "existence"),
    [
        (["started", "deleted"], "deleted"),
        (["created", "deleted"], "deleted"),
        (["deleted", "recovered"], "exists"),
        (["created", "deleted", "recovered", "permanently_deleted"], "permanently_deleted"),
    ],
)
def test_zc27_at_equal_times_the_stronger_statement_wins(names: list[str], existence: str) -> None:
    """Mere existence < created < deleted < recovered, and `permanently_deleted` above all."""
    settles([body(f"meeting.{name}", 7) for name in names], lambda rooms: _exists(rooms, existence))


def dates(*ids: str) -> list[dict[str, Any]]:
    """Occurrences of a series."""
    return [{"occurrence_id": each, "start_time": iso(86_400), "duration": 60} for each in ids]


def zc28() -> list[Heard]:
    """One date dropped, one moved."""
    return [
        body("meeting.created", 0, type=8, occurrences=dates("o1", "o2", "o3")),
        body("meeting.deleted", 10, {"operation": "single"}, type=8, occurrences=dates("o2")),
        updated(20, "single", {"occurrences": dates("o3")}, occurrences=dates("o3b")),
    ]


def test_zc28_one_date_is_not_the_series() -> None:
    """A single deletion drops one date, a move swaps two, `all` ends the series."""
    assert Rooms(zc28()[:2]).view().dates == ("o1", "o3")

    def check(rooms: Rooms) -> None:
        assert (rooms.view().existence, rooms.view().dates) == ("exists", ("o1", "o3b"))

    settles(zc28(), check)
    settles(
        [*zc28(), body("meeting.deleted", 30, {"operation": "all"}, type=8)], lambda rooms: _exists(rooms, "deleted")
    )


def test_zc28_single_without_a_date_only_asks() -> None:
    """A deletion of some date, without saying which, deletes nothing and asks for a GET; the GET answers."""
    vague = body("meeting.deleted", 10, {"operation": "single"}, type=8)
    rooms = Rooms([zc28()[0], vague])
    assert (rooms.view().existence, rooms.view().wants_get, rooms.view().dates) == ("exists", True, ("o1", "o2", "o3"))
    rooms.hear(observed("meeting", 60, {"type": 8, "occurrences": dates("o1", "o3")}, every_occurrence=True))
    assert (rooms.view().wants_get, rooms.view().dates) == (False, ("o1", "o3"))


def test_zc28_a_whole_list_is_a_watermark() -> None:
    """Dates that a whole list does not name are gone if they are older than it, and stay if they are newer."""
    events: list[Heard] = [
        zc28()[0],
        observed("meeting", 60, {"type": 8, "occurrences": dates("o1", "o4")}, every_occurrence=True),
        updated(61, "all", {}, occurrences=dates("o5")),
        observed("meeting", 30, {"type": 8, "occurrences": dates("o3")}),
    ]
    settles(events, lambda rooms: _dates(rooms, ("o1", "o4", "o5")))


def _dates(rooms: Rooms, wanted: tuple[str, ...]) -> None:
    assert rooms.view().dates == wanted
