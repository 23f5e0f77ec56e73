"""The fold of rooms against the simulator's own count: any order, any repetition, the same runs and the same attendance."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runtime.randomness import seeded
from schemas.records.zoom_events import ZoomEvent
from schemas.rooms.attendance import attendance
from schemas.rooms.connections import read_connection
from schemas.rooms.entry import Entry
from schemas.rooms.runs import runs
from simulator.histories import History, history
from streams.rooms.fold import RoomsFold
from tests.effort import examples
from tests.histories import BEGINS_AT, Counted, events, shuffled, true
from tests.rooms import record


def folded(told: list[ZoomEvent], made: History) -> Counted:
    """What the fold says of every run."""
    entries: dict[str, Entry] = {}
    fold = RoomsFold()
    for offset, event in enumerate(told):
        entries.update(fold.fold(record(event, offset), entries.get, generation=0).entries)
    counted: Counted = {}
    for room in made.rooms:
        mine = [entry for entry in entries.values() if entry.identity.zoom_id == room.zoom_id]
        connections = [read_connection(each) for each in mine if each.identity.kind == "connection"]
        for run in runs([each for each in mine if each.identity.kind == "instance"], connections):
            present = [each for each in connections if each.uuid == run.uuid]
            people = attendance(run, present, now=int(made.ends_at.timestamp() * 1000))
            counted[run.uuid] = {
                "started_at": run.started_at,
                "ended_at": run.ended_at,
                "people": sorted((each.person[1], each.seconds) for each in people if each.person[0] != "connection"),
                "strangers": sorted(each.seconds for each in people if each.person[0] == "connection"),
            }
    return counted


@examples(60)
@given(st.integers(0, 2**32), st.integers(1, 2))
def test_the_fold_counts_as_the_simulator_does(seed: int, room_count: int) -> None:
    """Whatever happened, shuffled and with a third told twice, gives the true runs and the true attendance."""
    made = history(seeded(seed), begins_at=BEGINS_AT, room_count=room_count)
    assert folded(shuffled(events(made), seeded(seed, "order")), made) == true(made)
