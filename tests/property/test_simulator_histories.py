"""The fold of rooms against the simulator's own count: any order, any repetition, the same runs and the same attendance."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from runtime.randomness import Random, seeded
from schemas.records.zoom_events import ZoomEvent
from schemas.rooms.attendance import attendance
from schemas.rooms.connections import read_connection
from schemas.rooms.entry import Entry
from schemas.rooms.runs import runs
from simulator.histories import ACCOUNT_ID, History, history
from simulator.truth import RunTruth
from streams.rooms.fold import RoomsFold
from tests.effort import examples
from tests.rooms import record
from zoom.webhooks import parse

BEGINS_AT = datetime(2026, 3, 10, 10, tzinfo=UTC)
Counted = dict[str, dict[str, Any]]
"""By run: its times, and the seconds of each person in order."""


def events(made: History) -> list[ZoomEvent]:
    """What ingress would make of the history's webhooks."""
    received_at = made.ends_at + timedelta(hours=1)
    return [
        parse(told.body, account_id=ACCOUNT_ID, request_id=str(at), received_at=received_at, source="webhook")
        for at, told in enumerate(made.told)
    ]


def shuffled(told: list[ZoomEvent], random: Random) -> list[ZoomEvent]:
    """All of them in any order, some of them again."""
    doubled = [*told, *random.sample(told, k=len(told) // 3)]
    random.shuffle(doubled)
    return doubled


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


def true(made: History) -> Counted:
    """What the simulator says of every run."""
    return {run.uuid: _true_run(run) for room in made.rooms for run in room.instances}


def _true_run(run: RunTruth) -> dict[str, Any]:
    return {
        "started_at": int(run.started_at.timestamp() * 1000),
        "ended_at": int(run.ended_at.timestamp() * 1000) if run.ended_at else None,
        "people": sorted((each.identity, each.seconds) for each in run.people if each.identity),
        "strangers": sorted(each.seconds for each in run.people if not each.identity),
    }


@examples(60)
@given(st.integers(0, 2**32), st.integers(1, 2))
def test_the_fold_counts_as_the_simulator_does(seed: int, room_count: int) -> None:
    """Whatever happened, shuffled and with a third told twice, gives the true runs and the true attendance."""
    made = history(seeded(seed), begins_at=BEGINS_AT, room_count=room_count)
    assert folded(shuffled(events(made), seeded(seed, "order")), made) == true(made)
