"""What commands about registrants lead to (ZC39)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schemas.records.meeting_commands import MOVES
from schemas.records.meeting_events import MeetingEvent, RegistrantState
from tests.meeting_commands import Caller, Table, registered, report, room


def open_meeting(approval_type: int = 0) -> tuple[Table, Caller]:
    """A meeting that takes registrations."""
    table, caller = Table(), Caller()
    table.put(caller.create(settings={"approval_type": approval_type}))
    return table, caller


def code(event: MeetingEvent) -> str | None:
    """Why a command was refused."""
    assert event.answer is not None
    return event.answer.code


def work(state: RegistrantState) -> list[str]:
    """Pending work."""
    return [f"{each.action}:{each.n}" for each in state.pending]


def test_person_is_registered_once_however_often_that_is_asked_for() -> None:
    """ZC39 a: five adds, in whatever case, are one piece of work and five accepted answers."""
    table, caller = open_meeting()
    events = [table.put(caller.add(email)) for email in ("guest.one@example.com", "Guest.One@Example.com") * 2]
    (person,) = table.registrants()
    table.put(registered(person, zoom_id="91000000001", registrant_id="r1", join_url="https://example.com/w/1"))
    later = table.put(caller.add())
    person = table.registrant(caller)
    assert {event.answer.status for event in (*events, later) if event.answer} == {"accepted"}
    assert (person.status, person.registrant_id, work(person), person.last_n) == ("approved", "r1", [], 1)


def test_people_are_entries_of_their_own() -> None:
    """The meeting does not grow with them, and its version is its own."""
    table, caller = open_meeting()
    for number in range(30):
        table.put(caller.add(f"guest-{number}@example.com"))
    assert (len(table.registrants()), table.meeting(caller).version, len(table.meeting(caller).pending)) == (30, 1, 1)


def test_who_may_not_be_registered() -> None:
    """Unknown and cancelled meetings, and those without registration, refuse."""
    table, caller = open_meeting(approval_type=2)
    off = table.put(caller.add())
    unknown = Table().put(Caller().add())
    table.put(caller.cancel())
    cancelled = table.put(caller.add("other@example.com"))
    assert [code(each) for each in (off, unknown, cancelled)] == [
        "registration_off",
        "meeting_not_found",
        "meeting_cancelled",
    ]


def test_manual_approval() -> None:
    """A person who waits is approved, gets a link, and can be denied again."""
    table, caller = open_meeting(approval_type=1)
    table.put(caller.add())
    table.put(registered(table.registrant(caller), registrant_id="r1", status="pending"))
    waiting = table.registrant(caller)
    table.put(caller.set("approve"))
    table.put(registered(table.registrant(caller), join_url="https://example.com/w/1"))
    approved = table.registrant(caller)
    table.put(caller.set("deny"))
    table.put(registered(table.registrant(caller)))
    denied = table.registrant(caller)
    assert [(each.status, each.join_url) for each in (waiting, approved, denied)] == [
        ("pending", None),
        ("approved", "https://example.com/w/1"),
        ("denied", None),
    ]


def test_decision_follows_a_registration_that_is_under_way() -> None:
    """Both are pending, in order; a newer decision replaces the older one."""
    table, caller = open_meeting(approval_type=1)
    table.put(caller.add())
    table.put(caller.set("approve"))
    both = work(table.registrant(caller))
    table.put(caller.set("deny"))
    assert (both, work(table.registrant(caller))) == (["register:1", "approve:2"], ["register:1", "deny:3"])


def test_cancellation_discards_a_registration_and_is_seen_to_its_end() -> None:
    """A registration that had started tells its id; the cancellation still follows."""
    table, caller = open_meeting()
    table.put(caller.add())
    register = table.registrant(caller).pending[0]
    table.put(caller.set("cancel"))
    only = work(table.registrant(caller))
    table.put(
        registered(table.registrant(caller), provider_key=register.provider_key, action="register", registrant_id="r1")
    )
    known = table.registrant(caller)
    table.put(registered(known, epoch=2))
    assert (only, known.registrant_id, work(known)) == (["unregister:2"], "r1", ["unregister:2"])
    assert table.registrant(caller).status == "cancelled"


def test_registered_anew_only_after_being_cancelled_or_failed() -> None:
    """ZC39 e: a new registration is a new piece of work."""
    table, caller = open_meeting()
    table.put(caller.add())
    table.put(registered(table.registrant(caller), "failed", error_code="3043", error_message="full"))
    failed = table.registrant(caller)
    table.put(caller.add(first_name="Gast"))
    again = table.registrant(caller)
    assert failed.problem is not None
    assert (failed.status, failed.problem.code, work(failed)) == ("failed", "3043", [])
    assert (again.status, again.first_name, again.problem, work(again)) == ("registering", "Gast", None, ["register:2"])


def test_denied_person_is_not_added_again() -> None:
    """Whoever was denied is approved instead."""
    table, caller = open_meeting(approval_type=1)
    table.put(caller.add())
    table.put(registered(table.registrant(caller), status="pending"))
    table.put(caller.set("deny"))
    table.put(registered(table.registrant(caller)))
    assert code(table.put(caller.add())) == "registrant_denied"


@pytest.mark.parametrize("action", ["approve", "deny", "cancel"])
def test_decision_about_nobody(action: str) -> None:
    """There is no such registrant."""
    table, caller = open_meeting()
    assert code(table.put(caller.set(action))) == "registrant_not_found"


def test_decision_that_is_reached_already_makes_no_work() -> None:
    """It costs none of the ten a day."""
    table, caller = open_meeting()
    table.put(caller.add())
    table.put(registered(table.registrant(caller), registrant_id="r1", join_url="https://example.com/w/1"))
    event = table.put(caller.set("approve"))
    assert (event.kind, work(table.registrant(caller))) == ("registrant_unchanged", [])


def test_decision_that_fails_leaves_the_person_as_it_was() -> None:
    """The reason is told."""
    table, caller = open_meeting()
    table.put(caller.add())
    table.put(registered(table.registrant(caller), registrant_id="r1", join_url="https://example.com/w/1"))
    table.put(caller.set("deny"))
    event = table.put(registered(table.registrant(caller), "failed", error_code="300"))
    person = table.registrant(caller)
    assert person.problem is not None
    assert (event.kind, person.status, person.problem.code, work(person)) == (
        "registrant_failed",
        "approved",
        "300",
        [],
    )


def test_repeat_and_conflict() -> None:
    """A repeated command gets its answer again; another person under its key is a conflict."""
    table, caller = open_meeting()
    first = table.put(caller.add(key="k"))
    again = table.put(caller.add(key="k"))
    conflict = table.put(caller.add("other@example.com", key="k"))
    assert (first.event_id, first.answer) == (again.event_id, again.answer)
    assert (code(conflict), len(table.registrants())) == ("idempotency_conflict", 1)


def test_report_ends_its_row_and_an_unavailable_provider_does_not() -> None:
    """The registrant waits, and says why."""
    table, caller = open_meeting()
    table.put(caller.add())
    event = table.put(registered(table.registrant(caller), "provider_unavailable", error_code="provider_unavailable"))
    waiting = table.registrant(caller)
    done = table.put(registered(waiting, epoch=2, registrant_id="r1"))
    assert (event.releases, work(waiting), done.releases, table.registrant(caller).problem) == (
        False,
        ["register:1"],
        True,
        None,
    )


def moved_meeting(status: str, *, approval_type: int) -> tuple[Table, Caller]:
    """A person in the meeting's first room; then the meeting has another room under another host."""
    table, caller = open_meeting(approval_type=approval_type)
    table.put(report(caller.meeting_id, table.key(caller, "create"), room=room()))
    table.put(caller.add())
    link = "https://example.com/w/1" if status == "approved" else None
    person = table.registrant(caller)
    table.put(registered(person, zoom_id="91000000001", registrant_id="r1", join_url=link, status=status))
    table.put(caller.change(host="host-02@example.com"))
    second = room("91000000002", host="host-02@example.com")
    table.put(report(caller.meeting_id, table.key(caller, "create"), epoch=2, room=second))
    return table, caller


def test_people_are_registered_anew_for_another_room() -> None:
    """The old room's id and link are forgotten; the new room's are the person's; asked again it is unchanged."""
    table, caller = moved_meeting("approved", approval_type=0)
    table.put(caller.add())
    between = table.registrant(caller)
    table.put(
        registered(between, epoch=3, zoom_id="91000000002", registrant_id="r2", join_url="https://example.com/w/2")
    )
    after = table.registrant(caller)
    again = table.put(caller.add())
    assert (between.status, between.registrant_id, between.join_url, work(between)) == (
        "registering",
        None,
        None,
        ["register:2"],
    )
    assert (after.status, after.zoom_id, after.join_url) == ("approved", "91000000002", "https://example.com/w/2")
    assert again.kind == "registrant_unchanged"


@pytest.mark.parametrize(("status", "wanted"), [("approved", ["register:2", "approve:3"]), ("pending", ["register:2"])])
def test_who_was_approved_by_hand_is_approved_for_another_room(status: str, wanted: list[str]) -> None:
    """The host need not do it twice; who still waits goes on waiting."""
    table, caller = moved_meeting(status, approval_type=1)
    table.put(caller.add())
    assert work(table.registrant(caller)) == wanted


@pytest.mark.parametrize(
    ("action", "wanted"),
    [("approve", ["register:2", "approve:3"]), ("deny", ["register:2", "deny:3"]), ("cancel", ["unregister:2"])],
)
def test_decision_about_who_is_in_another_room(action: str, wanted: list[str]) -> None:
    """It needs a registration in the present room first; who leaves does not."""
    table, caller = moved_meeting("pending", approval_type=1)
    table.put(caller.set(action))
    assert work(table.registrant(caller)) == wanted


def test_who_left_meanwhile_does_not_follow() -> None:
    """A cancellation that came before the room worker's wish stands, done or still to be done."""
    table, caller = moved_meeting("approved", approval_type=0)
    follow = [replace(caller.add(), issued_by=MOVES) for _ in range(2)]
    table.put(caller.set("cancel"))
    leaving = table.put(follow[0])
    table.put(registered(table.registrant(caller), epoch=4))
    left = table.put(follow[1])
    assert [leaving.kind, left.kind] == ["registrant_unchanged"] * 2
    assert (table.registrant(caller).status, work(table.registrant(caller))) == ("cancelled", [])
