"""The records of `room-events` that a stream worker would make of the benchmark's webhooks."""

from __future__ import annotations

from collections.abc import Iterator

from bench.room_events import Record, mixed
from schemas.rooms.entry import Entry
from streams.fold import Input
from streams.rooms.fold import RoomsFold


def room_events(*, events: int, rooms: int) -> Iterator[Record]:
    """Key and value of every output, in the order of the facts; the same arguments give the same records."""
    fold, table = RoomsFold(), dict[str, Entry]()
    for offset, (key, value) in enumerate(mixed(events=events, rooms=rooms)):
        record = Input(fold.source, 0, offset, 0, key.decode(), value, ())
        folded = fold.fold(record, table.get, generation=0)
        table.update(folded.entries)
        for output in folded.outputs:
            yield output.key.encode(), output.value
