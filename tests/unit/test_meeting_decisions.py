"""What callers' commands lead to: answers, repeats, conflicts, versions, tenants (ZC34)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schemas.errors import BadMessage
from schemas.ids import AccountId
from tests.meeting_commands import ACCOUNT, Caller, Table, report, room


def test_create_makes_a_meeting_that_waits_for_its_room() -> None:
    """A create is answered by the meeting at version 1 with one create pending."""
    table, caller = Table(), Caller()
    event = table.put(caller.create())
    assert event.meeting is not None
    assert (event.kind, event.meeting.version, event.meeting.room_status, table.work(caller)) == (
        "created",
        1,
        "pending",
        ("create:1",),
    )


def test_repeat_is_answered_by_the_same_event_with_the_present_meeting() -> None:
    """A command that comes again changes nothing, and tells how things are by then under its own revision."""
    table, caller = Table(), Caller()
    first = table.put(caller.create())
    table.put(caller.change(topic="Other"))
    again = table.put(caller.create())
    assert again.meeting is not None
    assert (again.event_id, again.answer, again.meeting.details.topic, again.revision) == (
        first.event_id,
        first.answer,
        "Other",
        2,
    )


def test_same_key_with_other_content_is_a_conflict() -> None:
    """Other content under one idempotency key is refused, and the first answer stays what it is."""
    table, caller = Table(), Caller()
    first = table.put(caller.create())
    conflict = table.put(caller.create(topic="Other topic"))
    again = table.put(caller.create())
    assert conflict.answer is not None
    assert (conflict.kind, conflict.answer.code, again.answer) == ("rejected", "idempotency_conflict", first.answer)
    assert len({first.event_id, conflict.event_id}) == 2
    assert table.meeting(caller).details.topic == "Planning call"


def test_same_key_after_a_permanent_failure_gives_the_stored_answer() -> None:
    """A new key is needed to try again what failed for good."""
    table, caller = Table(), Caller()
    first = table.put(caller.create())
    table.put(report(caller.meeting_id, table.key(caller, "create"), "failed", error_code="1001"))
    again = table.put(caller.create())
    assert again.meeting is not None
    assert (again.answer, again.meeting.room_status, table.work(caller)) == (first.answer, "failed", ())


def test_create_of_a_meeting_that_is_there_is_refused() -> None:
    """Another command cannot create the meeting again."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    event = table.put(replace(caller.create(), command_id="another"))
    assert event.answer is not None
    assert event.answer.code == "meeting_exists"


def test_create_whose_meeting_does_not_follow_from_its_key_is_no_command() -> None:
    """Nobody can choose the id of a meeting, or it could be somebody else's."""
    with pytest.raises(BadMessage):
        Table().put(replace(Caller().create(), account_id="acc0000000000000000002"))


def test_command_under_another_meetings_key_is_no_command() -> None:
    """Order per meeting holds only while its commands share its key."""
    with pytest.raises(BadMessage):
        Table().put(Caller().create(), key="elsewhere")


def test_change_of_an_unknown_meeting_is_refused_and_the_refusal_kept() -> None:
    """A refusal is an answer like any other: the same command gets it again, also once the meeting exists."""
    table, caller = Table(), Caller()
    refused = table.put(caller.change("k", topic="Other"))
    table.put(caller.create())
    again = table.put(caller.change("k", topic="Other"))
    assert refused.answer is not None
    assert (refused.answer.code, refused.meeting, again.answer) == ("meeting_not_found", None, refused.answer)


def test_another_accounts_meeting_is_unknown() -> None:
    """Tenants do not meet: a command reaches its own account's meetings only."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    event = table.put(replace(caller.cancel(), account_id=AccountId("acc0000000000000000002")))
    assert event.answer is not None
    assert (event.answer.code, table.meeting(caller).status) == ("meeting_not_found", "scheduled")


def test_version_that_has_moved_on() -> None:
    """A change that expects another version is refused; with the right one it raises the version."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    table.put(caller.change(topic="Two", expected_version=1))
    late = table.put(caller.change(topic="Three", expected_version=1))
    assert late.answer is not None
    assert (late.answer.code, late.answer.version, table.meeting(caller).details.topic) == (
        "version_conflict",
        2,
        "Two",
    )


def test_cancelled_meeting_takes_no_change() -> None:
    """Cancelled is for ever."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    table.put(caller.cancel())
    events = (table.put(caller.change(topic="x")), table.put(caller.cancel()))
    assert [event.answer.code for event in events if event.answer] == ["meeting_cancelled", "meeting_cancelled"]


def test_change_that_cannot_be_is_refused_with_its_field() -> None:
    """What a change makes of the meeting is judged when it is decided, against the meeting as it is then."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    event = table.put(caller.change(start_time="2026-03-29T02:30:00"))
    assert event.answer is not None
    assert event.answer.message is not None
    assert (event.answer.code, event.answer.message.split()[0]) == ("invalid_change", "start_time")


def test_changes_that_do_not_hold_are_no_command() -> None:
    """Ingress checks fields; what comes otherwise is a bad message."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    with pytest.raises(BadMessage):
        table.put(replace(caller.change(topic="x"), changes='{"topic":""}'))


def test_change_that_changes_nothing_makes_no_work() -> None:
    """It is accepted and costs the host nothing."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    table.put(report(caller.meeting_id, table.key(caller, "create"), room=room(), version=1))
    table.put(caller.change(topic="Planning call"))
    assert (table.meeting(caller).version, table.work(caller)) == (2, ())


def test_event_of_an_outcome_names_its_call() -> None:
    """Every report is answered under its key and epoch, also when nobody knows the meeting."""
    table = Table()
    event = table.put(report(Caller().meeting_id, f"{Caller().meeting_id}:create:1", epoch=7, room=room()))
    assert (event.kind, event.provider_key, event.epoch, event.releases) == (
        "rejected",
        f"{Caller().meeting_id}:create:1",
        7,
        True,
    )


def test_answers_are_entries_of_their_own() -> None:
    """The meeting's entry does not grow with the number of its commands."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    for number in range(50):
        table.put(caller.change(topic=f"Topic {number}"))
    assert (len(table.answers()), len(table.meeting(caller).pending), ACCOUNT) == (51, 2, caller.account)
