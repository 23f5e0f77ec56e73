"""The fold of `zoom-events` into the rooms table: decode, delta, join, and one `RoomEvent` for every entry touched.

An output is sent whatever the outcome: a repeated or overtaken fact answers again with the entry as it is. The revision
is the offset of the record, so that a reader which keeps the greatest loses nothing when a batch is folded again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from runtime.topics import ROOM_EVENTS, ZOOM_EVENTS
from schemas.binary import write_long, write_text
from schemas.codec import header
from schemas.errors import BadMessage
from schemas.ids import output_id_for
from schemas.records.room_events import RoomEvent
from schemas.rooms.entry import Entry, decode_entry
from streams.fold import Folded, Input, Output
from streams.rooms.delta import Delta
from streams.rooms.deltas import deltas_of
from streams.rooms.fact import Fact, read_fact
from streams.rooms.lattice import Outcome, join


class RoomsFold:
    """Implements `streams.fold.Fold` over the entries of rooms."""

    source = ZOOM_EVENTS
    table = "rooms"

    def fold(self, record: Input, read: Callable[[str], Entry | None], *, generation: int) -> Folded[Entry]:
        """What this record does to the entries it touches.

        Raises:
            BadMessage: it cannot be read, lies under another key than its room's, or is from the future.
        """
        fact = read_fact(record.value)
        if record.key != fact.room:
            raise BadMessage(f"key: {record.key!r}, but the event is about {fact.room!r}")
        shared = _shared(fact, generation=generation, revision=record.offset)
        entries: dict[str, Entry] = {}
        outputs: list[Output] = []
        outcomes: list[Outcome] = []
        for delta in _distinct(deltas_of(fact)):
            entry, outcome = _joined(read(delta.key), delta)
            entries[delta.key] = entry
            outcomes.append(outcome)
            value = _event(fact, shared, delta, entry, outcome)
            outputs.append(Output(topic=ROOM_EVENTS, key=record.key, value=value))
        return Folded(outcome=_whole(outcomes), entries=entries, outputs=tuple(outputs))

    def encode(self, entry: Entry) -> bytes:
        """The entry in single-object encoding; equal entries give equal bytes."""
        return entry.encode()

    def decode(self, value: bytes) -> Entry:
        """The entry that `encode` wrote."""
        return decode_entry(value)


def _joined(state: Entry | None, delta: Delta) -> tuple[Entry, Outcome]:
    if state is None:
        return delta.as_entry(), "applied"
    return join(state, delta.registers, delta.points, delta.maxima)


def _distinct(deltas: list[Delta]) -> list[Delta]:
    """One delta for each entry: a list of dates or files may name one twice."""
    if len({delta.key for delta in deltas}) == len(deltas):
        return deltas
    by_key: dict[str, Delta] = {}
    for delta in deltas:
        first = by_key.setdefault(delta.key, delta)
        if first is not delta:
            first.add(join(first.as_entry(), delta.registers, delta.points, delta.maxima)[0])
    return list(by_key.values())


def _whole(outcomes: list[Outcome]) -> Outcome:
    """Applied where anything was; else what became of the entry that the fact is about."""
    if "applied" in outcomes or not outcomes:
        return "applied"
    return outcomes[0]


def _shared(fact: Fact, *, generation: int, revision: int) -> bytes:
    """What the outputs of one fact have in common, from `cause_id` to `revision`."""
    happened = b"\0" if fact.happened is None else b"\2" + write_long(fact.happened)
    texts = map(write_text, (fact.event_id, fact.account_id, fact.room, fact.name))
    return b"".join((*texts, happened, write_long(generation), write_long(revision)))


def _event(fact: Fact, shared: bytes, delta: Delta, entry: Entry, outcome: Outcome) -> bytes:
    """The `RoomEvent` of one entry in single-object encoding; a test holds it to the codec's."""
    state = entry.encode()
    return b"".join(
        (
            _header(),
            write_text(output_id_for(fact.event_id, delta.key)),
            shared,
            _OUTCOMES[outcome],
            write_text(delta.identity[2]),
            write_text(delta.key),
            write_long(len(state)),
            state,
        )
    )


@cache
def _header() -> bytes:
    return header(RoomEvent)


_OUTCOMES: dict[Outcome, bytes] = {
    "applied": write_text("applied"),
    "overtaken": write_text("overtaken"),
    "repeated": write_text("repeated"),
}
