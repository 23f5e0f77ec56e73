"""The fold of people: who is who, in what role, and registered how."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rooms import (
    HOST,
    M,
    Rooms,
    body,
    folded,
    heard,
    iso,
    ms,
    observed,
    person,
)


def test_a_participant_without_a_user_id_is_held_by_the_next_name() -> None:
    """participant_uuid, registrant_id, id, customer_key, user_name, in this order; nothing at all is nobody else."""
    names: dict[str, Any] = {
        "participant_uuid": "p",
        "registrant_id": "r",
        "id": "i",
        "customer_key": "k",
        "user_name": "n",
    }
    held: list[str] = []
    while names:
        held.append(Rooms([person("joined", 5, "", **{"user_name": "", **names})]).connections()[0].user_id)
        names.pop(next(iter(names)))
    assert held == ["~participant_uuid:p", "~registrant_id:r", "~id:i", "~customer_key:k", "~user_name:n"]
    nobodies = Rooms([person("joined", 5, "", user_name=""), person("joined", 6, "", user_name="")])
    assert len(nobodies.attendance()) == 2


def test_joins_after_the_end_are_anomalies() -> None:
    """They count nothing and are shown."""
    rooms = Rooms(
        [
            person("joined", 5, "1"),
            body("meeting.ended", 60, end_time=iso(60)),
            person("joined", 70, "1"),
            person("left", 65, "2"),
        ]
    )
    found = {each.person[1]: (each.seconds, each.anomalies) for each in rooms.attendance()}
    assert found == {"1": (55, ()), "2": (0, (("left_without_join", ms(65)),))}
    late = Rooms([body("meeting.ended", 60, end_time=iso(60)), person("joined", 70, "1")])
    assert late.attendance()[0].anomalies == (("joined_after_end", ms(70)),)


def test_one_name_is_not_one_person() -> None:
    """Two guests with the same name are two people."""
    rooms = Rooms([person("joined", 5, "1", user_name="Alex"), person("joined", 6, "2", user_name="Alex")])
    assert len(rooms.attendance()) == 2


def test_a_weak_name_beside_one_stronger_is_that_person() -> None:
    """The laptop by registrant and e-mail, the phone by the same e-mail: one; with two registrants the e-mail is nobody's."""
    laptop, phone = (
        person("joined", 5, "1", registrant_id="r1", email="a@example.com"),
        person("joined", 6, "2", email="A@example.com"),
    )
    assert [each.person for each in Rooms([laptop, phone]).attendance()] == [("registrant_id", "r1")]
    other = person("joined", 7, "3", registrant_id="r2", email="a@example.com")
    people = [each.person for each in Rooms([laptop, phone, other]).attendance()]
    assert people == [("email", "a@example.com"), ("registrant_id", "r1"), ("registrant_id", "r2")]


def test_roles_and_names_follow_the_newest_event() -> None:
    """Registers of a connection; a blank erases nothing."""
    events = [
        person("joined", 5, "1", user_name="Old", email="a@example.com"),
        person("role_changed", 9, "1", user_name="New", email="", old_role="attendee", new_role="co-host"),
    ]
    for order in (events, events[::-1]):
        [entry] = Rooms(order).of_kind("connection")
        assert (entry.text("name"), entry.text("email"), entry.text("role")) == ("New", "a@example.com", "co-host")


@pytest.mark.parametrize(
    ("names", "status"),
    [
        (["created", "approved"], "approved"),
        (["approved", "denied"], "denied"),
        (["denied", "cancelled", "approved"], "cancelled"),
    ],
)
def test_registrations_at_equal_times_have_an_order(names: list[str], status: str) -> None:
    """Pending < approved < denied < cancelled."""
    events = [body(f"meeting.registration_{name}", 7, registrant={"id": "r1", "status": "pending"}) for name in names]
    for order in (events, events[::-1]):
        [entry] = Rooms(order).of_kind("registrant")
        assert entry.value("status") == status


def test_a_registrant_who_comes_back_is_approved_again() -> None:
    """Later times win over stronger statuses."""
    who = {"id": "r1", "email": "a@example.com"}
    rooms = Rooms(
        [
            body("meeting.registration_cancelled", 7, registrant=who),
            body("meeting.registration_approved", 8, registrant=who),
        ]
    )
    assert rooms.of_kind("registrant")[0].value("status") == "approved"


def test_a_registration_is_what_its_newest_event_says() -> None:
    """ZC39 d, g: a cancellation that comes before the older registration stands, and it is one registrant."""
    who = {"id": "r1", "email": "guest.one@example.com"}
    events = [
        body("meeting.registration_cancelled", 20, registrant=who),
        body("meeting.registration_created", 10, registrant={**who, "status": "pending"}),
    ]
    for order in (events, events[::-1], events * 2):
        [entry] = Rooms(order).of_kind("registrant")
        assert entry.value("status") == "cancelled"


def test_a_registrant_added_by_ourselves_is_known() -> None:
    """The answer to adding one and a row of the list are the same registrant."""
    rooms = Rooms(
        [
            observed(
                "registrant",
                5,
                {"id": int(M), "registrant_id": "r1", "topic": "x", "join_url": "https://example.com/w/1?tk=T"},
            ),
            observed("registrant", 9, {"id": "r1", "email": "a@example.com", "status": "approved"}),
        ]
    )
    [entry] = rooms.of_kind("registrant")
    assert (entry.identity.parts, entry.value("status"), entry.text("join_url")) == (
        ("r1",),
        "approved",
        "https://example.com/w/1?tk=T",
    )


def test_a_host_in_two_rooms_of_an_account_stays_apart() -> None:
    """Equal user ids of two accounts or rooms are different connections."""
    events = [heard(person("joined", 5, "1", id=HOST), account=account) for account in ("A", "B")]
    keys = {key for event in events for key in folded(event).entries}
    assert len(keys) == 2
