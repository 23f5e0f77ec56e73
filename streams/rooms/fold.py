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
from streams.rooms.wire import Heard, read_heard, revision_bytes, room_event


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
        revised = revision_bytes(generation, record.offset)
        deltas = deltas_of(fact)
        if len(deltas) == 1:  # nearly all
            entry, outcome, output = _answered(deltas[0], read, heard, revised)
            return Folded(outcome, {entry.identity.key: entry}, (output,))
        answers = [_answered(delta, read, heard, revised) for delta in _distinct(deltas)]
        return Folded(
            _whole([outcome for _, outcome, _ in answers]),
            {entry.identity.key: entry for entry, _, _ in answers},
            tuple(output for _, _, output in answers),
        )

    def encode(self, entry: Entry) -> bytes:
        """The entry in single-object encoding; equal entries give equal bytes."""
        return entry.encode()

    def decode(self, value: bytes) -> Entry:
        """The entry that `encode` wrote."""
        return decode_entry(value)


def _answered(
    delta: Delta, read: Callable[[str], Entry | None], heard: Heard, revised: bytes
) -> tuple[Entry, Outcome, Output]:
    """The entry after a delta, what that did to it, and the event that tells."""
    identity = delta.identity
    state = read(identity.key)
    entry, outcome = (
        (delta.as_entry(), _APPLIED) if state is None else join(state, delta.registers, delta.points, delta.maxima)
    )
    return (
        entry,
        outcome,
        Output(ROOM_EVENTS, identity.zoom_id, room_event(heard, revised, identity, outcome, entry.encode())),
    )


def _distinct(deltas: list[Delta]) -> list[Delta]:
    """One delta for each entry: a list of dates or files may name one twice."""
    if len({delta.identity.key for delta in deltas}) == len(deltas):
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


_APPLIED: Outcome = "applied"
