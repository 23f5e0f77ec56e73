"""Attendance beside an oracle that counts seconds from scratch."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from schemas.records.zoom_events import ZoomEvent
from tests.chaos import HORIZON, attended
from tests.effort import examples
from tests.oracle import count
from tests.rooms import Rooms, ms

NOW = HORIZON + 20


@examples(200)
@given(attended())
def test_attendance_is_what_the_oracle_counts(events: list[ZoomEvent]) -> None:
    """Every person of every run has the seconds that a count from scratch gives, and no other person is there."""
    rooms = Rooms(events)
    for uuid in rooms.runs():
        counted = count(events, uuid, now=ms(NOW) // 1000)
        assert sorted(_people(rooms, uuid)) == sorted(_plain(counted))


def _people(rooms: Rooms, uuid: str) -> list[tuple[str, str, int]]:
    return [(*_shown(each.person), each.seconds) for each in rooms.attendance(uuid, now=NOW)]


def _plain(counted: dict[Any, int]) -> list[tuple[str, str, int]]:
    return [(kind, "row" if value.startswith("row ") else value, seconds) for (kind, value), seconds in counted.items()]


def _shown(person: tuple[str, str]) -> tuple[str, str]:
    """A row without any name has a key of its own in the product, and none in the oracle."""
    kind, value = person
    return (kind, "row") if kind == "connection" and "|" in value else person
