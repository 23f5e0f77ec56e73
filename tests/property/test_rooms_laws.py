"""The law of rooms: joining is commutative, associative and idempotent, and so the order of events does not matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schemas.codec import decode, encode
from schemas.records.room_events import RoomEntry, RoomEvent
from schemas.records.zoom_events import ZoomEvent
from schemas.rooms.entry import Entry, decode_entry, identify, new_entry
from streams.rooms.deltas import EXPIRY
from streams.rooms.fact import AHEAD_MS
from streams.rooms.lattice import EXPIRED, GONE, POINTS_KEPT, join, newest
from tests.chaos import HORIZON, histories
from tests.effort import examples
from tests.rooms import ACCOUNT, FOLD, M, Rooms, at, body, heard, record

many = examples(80)

CLOCKS = st.sampled_from(["1-------------1a", "117961361110001a", "117961361110001b", "017961361120001a"])
VALUES = st.one_of(
    st.text("ab", max_size=2), st.integers(0, 2), st.booleans(), st.none(), st.floats(0, 2), st.lists(st.integers(0, 1))
)
REGISTERS = st.dictionaries(st.sampled_from(["topic", "host", "x"]), st.tuples(CLOCKS, VALUES), max_size=3)
POINTS = st.dictionaries(
    st.sampled_from(["joins", GONE]),
    st.lists(st.tuples(st.integers(0, 2_000_000), st.sampled_from(["", "R1"])), min_size=1, max_size=6),
    max_size=2,
)
MAXIMA = st.dictionaries(st.sampled_from(["heard", "ended"]), st.integers(0, 3), max_size=2)


@st.composite
def states(draw: st.DrawFn) -> Entry:
    """Any state of one entry; now and then the top."""
    identity = identify(ACCOUNT, M, "connection", ("u", "1"))
    if draw(st.integers(0, 9)) == 0:
        return new_entry(identity, maxima={EXPIRED: draw(st.integers(0, 3))})
    points = {name: newest(name, set(members)) for name, members in draw(POINTS).items()}
    return new_entry(identity, registers=draw(REGISTERS), points=points, maxima=draw(MAXIMA))


def joined(one: Entry, other: Entry) -> Entry:
    """The join of two states."""
    return join(one, other.registers, other.points, other.maxima)[0]


@many
@given(states(), states())
def test_joining_is_commutative(one: Entry, other: Entry) -> None:
    """One ⊔ other = other ⊔ one, to the byte."""
    assert joined(one, other).encode() == joined(other, one).encode()


@many
@given(states(), states(), states())
def test_joining_is_associative(one: Entry, two: Entry, three: Entry) -> None:
    """(a ⊔ b) ⊔ c = a ⊔ (b ⊔ c), to the byte."""
    assert joined(joined(one, two), three).encode() == joined(one, joined(two, three)).encode()


@many
@given(states(), states())
def test_joining_is_idempotent(one: Entry, other: Entry) -> None:
    """One ⊔ one = one, and what is joined once joins without a change for ever."""
    both = joined(one, other)
    assert joined(one, one).encode() == one.encode()
    assert join(both, other.registers, other.points, other.maxima)[0] is both


@many
@given(states(), states())
def test_unchanged_and_changed_are_told_apart(one: Entry, other: Entry) -> None:
    """The outcome is *applied* exactly when the bytes change."""
    both, outcome = join(one, other.registers, other.points, other.maxima)
    assert (outcome == "applied") == (both.encode() != one.encode())


@many
@given(histories(), st.randoms(use_true_random=False))
def test_any_order_ends_in_the_same_bytes(events: list[ZoomEvent], chance: Any) -> None:
    """The state depends on the set of events, not on their order."""
    shuffled = chance.sample(events, len(events))
    assert Rooms(shuffled).state() == Rooms(events).state()


@many
@given(histories(), st.data())
def test_any_repetition_ends_in_the_same_bytes(events: list[ZoomEvent], data: st.DataObject) -> None:
    """Events that come again, anywhere, change nothing."""
    again = data.draw(st.lists(st.sampled_from(events), max_size=8))
    places = data.draw(st.lists(st.integers(0, len(events)), min_size=len(again), max_size=len(again)))
    repeated = list(events)
    for place, event in zip(places, again, strict=True):
        repeated.insert(place, event)
    assert Rooms(repeated).state() == Rooms(events).state()


@many
@given(histories(), st.data())
def test_a_clock_of_ours_that_steps_back_and_forward_changes_nothing(
    events: list[ZoomEvent], data: st.DataObject
) -> None:
    """What counts is when it happened at Zoom: the times at which deliveries were received may jump by days."""
    moments = st.integers(HORIZON, 864_000)
    clock = data.draw(st.lists(moments, min_size=len(events), max_size=len(events)))
    stepping = [replace(event, received_at=at(seconds)) for event, seconds in zip(events, clock, strict=True)]
    assert Rooms(stepping).state() == Rooms(events).state()


@many
@given(histories(), st.data())
def test_partial_states_join_to_the_whole(events: list[ZoomEvent], data: st.DataObject) -> None:
    """Two workers that each saw some of the events know together what one knows that saw all."""
    mine = data.draw(st.lists(st.booleans(), min_size=len(events), max_size=len(events)))
    one = Rooms(event for event, is_mine in zip(events, mine, strict=True) if is_mine)
    other = Rooms(event for event, is_mine in zip(events, mine, strict=True) if not is_mine)
    whole = {**one.entries}
    for key, entry in other.entries.items():
        whole[key] = joined(whole[key], entry) if key in whole else entry
    assert {key: entry.encode() for key, entry in sorted(whole.items())} == Rooms(events).state()


@many
@given(histories(), st.data())
def test_a_crash_anywhere_changes_nothing(events: list[ZoomEvent], data: st.DataObject) -> None:
    """Entries written and read back at any point, and events folded again from any earlier one, end in the same bytes."""
    crash = data.draw(st.integers(0, len(events)))
    back_to = data.draw(st.integers(0, crash))
    rooms = Rooms(events[:crash])
    rooms.entries = {key: decode_entry(entry.encode()) for key, entry in rooms.entries.items()}
    rooms.hear(*events[back_to:])
    assert rooms.state() == Rooms(events).state()


@many
@given(histories(), st.data())
def test_batches_change_nothing(events: list[ZoomEvent], data: st.DataObject) -> None:
    """Read through an overlay and written batch by batch, the state is the same."""
    cuts = sorted(data.draw(st.sets(st.integers(0, len(events)), max_size=4)))
    stored: dict[str, bytes] = {}
    for start, end in zip([0, *cuts], [*cuts, len(events)], strict=True):
        overlay = _folded(events[start:end], stored)
        stored.update({key: FOLD.encode(entry) for key, entry in overlay.items()})
    assert dict(sorted(stored.items())) == Rooms(events).state()


def _folded(events: Sequence[ZoomEvent], stored: dict[str, bytes]) -> dict[str, Entry]:
    overlay: dict[str, Entry] = {}

    def read(key: str) -> Entry | None:
        if key in overlay:
            return overlay[key]
        return FOLD.decode(stored[key]) if key in stored else None

    for event in events:
        overlay.update(FOLD.fold(record(event), read, generation=0).entries)
    return overlay


@many
@given(histories())
def test_every_fact_answers_for_every_entry_it_touches(events: list[ZoomEvent]) -> None:
    """Applied, overtaken or repeated: one output each, with the entry after it and the record's offset as revision."""
    rooms: dict[str, Entry] = {}
    for offset, event in enumerate([*events, *events]):
        folded = FOLD.fold(record(event, offset), rooms.get, generation=3)
        rooms.update(folded.entries)
        answers = [decode(output.value, RoomEvent) for output in folded.outputs]
        assert [answer.entry_key for answer in answers] == list(folded.entries)
        assert [answer.entry for answer in answers] == [entry.encode() for entry in folded.entries.values()]
        assert {(answer.generation, answer.revision, answer.cause_id) for answer in answers} == {
            (3, offset, event.event_id)
        }
        assert offset < len(events) or folded.outcome != "applied"


@many
@given(histories())
def test_hand_written_bytes_are_those_of_the_codec(events: list[ZoomEvent]) -> None:
    """Entries and events as the fold writes them are what the codec writes, and outputs name the event's own fields."""
    rooms = Rooms()
    for event in events:
        [*answers] = rooms.hear(event)
        for answer in answers:
            entry = decode(answer.entry, RoomEntry)
            assert encode(entry) == answer.entry
            wanted = (event.event_id, event.account_id, event.name, event.happened_at)
            assert (answer.cause_id, answer.account_id, answer.fact, answer.happened_at) == wanted
            assert (answer.zoom_id, answer.kind) == (entry.zoom_id, entry.kind)
    ids = [answer.event_id for answer in rooms.outputs]
    assert len(set(ids)) == len({(answer.cause_id, answer.entry_key) for answer in rooms.outputs})


@many
@given(histories(most=6), st.data())
def test_expired_is_the_top(events: list[ZoomEvent], data: st.DataObject) -> None:
    """Once expired, an entry is a stub without personal data, whatever comes after or came before."""
    entries = list(Rooms(events).entries.values())
    chosen = data.draw(st.sampled_from(entries))
    kind, parts = chosen.identity.kind, list(chosen.identity.parts)
    if chosen.identity.zoom_id != M:
        return
    expiry = heard({"event": EXPIRY, "event_ts": 1, "payload": {"object": {"id": M, "entries": [[kind, parts]]}}})
    expired = ZoomEvent(**{**_fields(expiry), "zoom_id": M})
    states = [Rooms(order).state() for order in ([*events, expired], [expired, *events])]
    assert states[0] == states[1]
    stub = decode_entry(states[0][chosen.key])
    assert (dict(stub.registers), dict(stub.points), dict(stub.maxima)) == ({}, {}, {EXPIRED: 1})


def _fields(event: ZoomEvent) -> dict[str, Any]:
    return {name: getattr(event, name) for name in ZoomEvent.__dataclass_fields__}


def test_only_the_newest_points_are_kept() -> None:
    """Of a hundred joins the newest sixty-four remain, in whatever order they come."""
    points = [(n, "") for n in range(100)]
    assert newest("joins", points[::-1]) == tuple(points[-POINTS_KEPT:])


def test_404s_keep_the_last_of_each_five_minutes() -> None:
    """Of many polls within five minutes the last counts, and of the five minutes the newest three."""
    points = [(minute * 60_000, "") for minute in range(22)]
    assert newest(GONE, points) == ((14 * 60_000, ""), (19 * 60_000, ""), (21 * 60_000, ""))


def test_a_time_just_within_five_minutes_is_taken() -> None:
    """Clocks that differ by less than five minutes harm nobody."""
    assert Rooms([heard(body("meeting.hologram", AHEAD_MS / 1000), received=0)]).outcomes == ["applied"]
