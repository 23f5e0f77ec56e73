"""The fold of `zoom-events` into the rooms table: decode, delta, join, and one `RoomEvent` for every entry touched.

An output is sent whatever the outcome: a repeated or overtaken fact answers again with the entry as it is. The revision
is the offset of the record, so that a reader which keeps the greatest loses nothing when a batch is folded again.
"""

from __future__ import annotations

from collections.abc import Callable

from runtime.topics import ROOM_EVENTS, ZOOM_EVENTS
from schemas.errors import BadMessage
from schemas.rooms.entry import Entry, decode_entry
from streams.fold import Folded, Input, Output
from streams.rooms.delta import Delta
from streams.rooms.deltas import deltas_of
from streams.rooms.fact import Fact
from streams.rooms.lattice import Outcome, join
from streams.rooms.wire import RoomEvents, read_heard


class RoomsFold:
    """Implements `streams.fold.Fold` over the entries of rooms."""

    source = ZOOM_EVENTS
    table = "rooms"

    def fold(self, record: Input, read: Callable[[str], Entry | None], *, generation: int) -> Folded[Entry]:
        """What this record does to the entries it touches.

        Raises:
            BadMessage: it cannot be read, lies under another key than its room's, or is from the future.
        """
        heard = read_heard(record.value)
        fact = Fact(heard)
        if record.key != fact.room:
            raise BadMessage(f"key: {record.key!r}, but the event is about {fact.room!r}")
        events = RoomEvents(heard, generation=generation, revision=record.offset)
        entries: dict[str, Entry] = {}
        outputs: list[Output] = []
        outcomes: list[Outcome] = []
        for delta in _distinct(deltas_of(fact)):
            identity = delta.identity
            entry, outcome = _joined(read(identity.key), delta)
            entries[identity.key] = entry
            outcomes.append(outcome)
            outputs.append(Output(ROOM_EVENTS, record.key, events.event(identity, outcome, entry.encode())))
        return Folded(_whole(outcomes), entries, tuple(outputs))

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
    if len(deltas) == 1 or len({delta.identity.key for delta in deltas}) == len(deltas):
        return deltas
    by_key: dict[str, Delta] = {}
    for delta in deltas:
        first = by_key.setdefault(delta.identity.key, delta)
        if first is not delta:
            first.add(join(first.as_entry(), delta.registers, delta.points, delta.maxima)[0])
    return list(by_key.values())


def _whole(outcomes: list[Outcome]) -> Outcome:
    """Applied where anything was; else what became of the entry that the fact is about."""
    if "applied" in outcomes or not outcomes:
        return "applied"
    return outcomes[0]
