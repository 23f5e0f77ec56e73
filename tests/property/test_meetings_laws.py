"""Laws of the meetings fold: over any history of commands and reports, in any order, with anything repeated."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schemas.codec import encode
from schemas.records.meeting_events import MeetingState
from streams.meetings.decide import Command
from streams.meetings.fold import meeting_key
from tests.meeting_commands import ACCOUNT, HOST, Caller, Table, report, room

HOSTS = (HOST, "host-02@example.com")
ROOMS = ("91000000001", "92000000002", "93000000003")
MEETING = Caller().meeting_id

callers_commands = st.one_of(
    st.just(("create",)),
    st.tuples(st.just("change"), st.sampled_from(("a", "b", "c")), st.sampled_from(HOSTS)),
    st.just(("cancel",)),
    st.just(("retry",)),
)
reports = st.tuples(
    st.just("report"),
    st.sampled_from(("outcome", "late_report", "read_back", "sweep", "drift_restored", "drift_reported")),
    st.sampled_from(("create", "update", "cancel", "remove")),
    st.integers(1, 6),
    st.sampled_from(("done", "failed", "gone", "too_late", "dropped", "provider_unavailable")),
    st.integers(0, 4),
    st.sampled_from(ROOMS),
    st.sampled_from(HOSTS),
)
histories = st.lists(st.one_of(callers_commands, reports, reports), max_size=14)


def commands(history: Sequence[tuple[Any, ...]]) -> list[Command]:
    """The commands of a history; the first is always a create, so that there is something to tell."""
    caller = Caller()
    made: list[Command] = [caller.create()]
    for step in history:
        match step:
            case ("create",):
                made.append(caller.create())
            case ("change", topic, host):
                made.append(caller.change(topic=topic, host=host))
            case ("cancel",):
                made.append(caller.cancel())
            case ("retry",):
                made.append(caller.retry())
            case ("report", kind, action, n, outcome, epoch, zoom_id, host):
                made.append(_report(kind, action, n, outcome, epoch, zoom_id, host))
    return made


def _report(kind: str, action: str, n: int, outcome: str, epoch: int, zoom_id: str, host: str) -> Command:
    found = room(zoom_id, host=host) if outcome == "done" and action != "cancel" else None
    return report(MEETING, f"{MEETING}:{action}:{n}", outcome, kind=kind, epoch=epoch, room=found, zoom_id=zoom_id)


def folded(sequence: Sequence[Command]) -> Table:
    """The table after these commands."""
    table = Table()
    for command in sequence:
        table.put(command)
    return table


def values(table: Table) -> dict[str, bytes]:
    """The table's entries as the engine stores them."""
    return {key: encode(entry) for key, entry in table.entries.items()}


@given(histories)
def test_replay_gives_the_same_bytes(history: list[tuple[Any, ...]]) -> None:
    """The same commands make the same entries and the same events, byte for byte."""
    sequence = commands(history)
    one, two = folded(sequence), folded(sequence)
    assert (values(one), one.events) == (values(two), two.events)


@given(histories, st.data())
def test_repeats_change_nothing(history: list[tuple[Any, ...]], data: st.DataObject) -> None:
    """Commands that come again later, however often, leave every entry as it was and are answered by the first event."""
    sequence = commands(history)
    repeated = list(sequence)
    for _ in range(data.draw(st.integers(1, 5))):
        source = data.draw(st.integers(0, len(sequence) - 1))
        at = data.draw(st.integers(repeated.index(sequence[source]) + 1, len(repeated)))
        repeated.insert(at, sequence[source])
    one, two = folded(sequence), folded(repeated)
    assert values(one) == values(two)
    assert {event.event_id for event in one.events} == {event.event_id for event in two.events}
    assert {(event.event_id, event.answer) for event in two.events} == {
        (event.event_id, event.answer) for event in one.events
    }


@given(histories)
def test_pending_work_makes_sense_at_every_moment(history: list[tuple[Any, ...]]) -> None:
    """At most one create, update and cancel; none for what is not wanted; each room in excess known; no key used twice."""
    table, used = Table(), set[str]()
    before: tuple[str, ...] = ()
    for command in commands(history):
        table.put(command)
        meeting = table.entries[meeting_key(ACCOUNT, MEETING)]
        assert isinstance(meeting, MeetingState)
        _check(meeting)
        now = tuple(work.provider_key for work in meeting.pending)
        added = set(now) - set(before)
        assert not added & used
        used |= added
        before = now


def _check(meeting: MeetingState) -> None:
    actions = [work.action for work in meeting.pending]
    assert all(actions.count(action) <= 1 for action in ("create", "update", "cancel"))
    if meeting.status == "cancelled":
        assert not {"create", "update"} & set(actions)
    else:
        assert "cancel" not in actions
        fits = meeting.room is not None and meeting.room.host == meeting.details.host
        assert not (fits and "create" in actions)
        assert fits or "create" in actions or "update" not in actions
    second = {each.zoom_id for each in meeting.second_rooms}
    assert meeting.room is None or meeting.room.zoom_id not in second
    assert {work.zoom_id for work in meeting.pending if work.action == "remove"} <= second
    assert len(second) == len(meeting.second_rooms)
    assert [work.n for work in meeting.pending] == sorted({work.n for work in meeting.pending})


@given(st.booleans(), st.permutations(range(6)))
def test_order_of_reports_does_not_decide_how_many_rooms_stay(cancelled: bool, order: list[int]) -> None:
    """Whatever comes first: one room stays, or none of a cancelled meeting, and every other room is to be removed."""
    caller, table = Caller(), Table()
    table.put(caller.create())
    key = table.key(caller, "create")
    if cancelled:
        table.put(caller.cancel())
    told = (
        report(MEETING, key, kind="outcome", epoch=3, room=room(ROOMS[0]), version=1),
        report(MEETING, key, kind="late_report", epoch=1, room=room(ROOMS[1]), version=1),
        report(MEETING, key, kind="late_report", epoch=2, room=room(ROOMS[0]), version=1),
        report(MEETING, key, kind="sweep", epoch=0, room=room(ROOMS[0])),
        report(MEETING, key, kind="sweep", epoch=0, room=room(ROOMS[1])),
        report(MEETING, key, kind="sweep", epoch=0, room=room(ROOMS[2])),
    )
    for index in order:
        table.put(told[index])
    meeting = table.meeting(caller)
    doomed = {work.zoom_id for work in meeting.pending if work.action in {"remove", "cancel"}}
    kept = set(ROOMS) - doomed
    assert (len(kept), meeting.room is not None) == ((0, True) if cancelled else (1, True))
    assert cancelled or (meeting.room is not None and kept == {meeting.room.zoom_id})


def test_two_creates_at_once_are_one_meeting() -> None:
    """ZC34: whichever of the same create comes first, there is one meeting with one piece of work, and both get one answer."""
    caller = Caller()
    other = caller.create(topic="Other topic")
    for order in permutations((caller.create(), caller.create(), other)):
        table = folded(order)
        accepted = {event.event_id for event in table.events if event.kind == "created"}
        assert (len(accepted), table.work(caller)) == (1, ("create:1",))
