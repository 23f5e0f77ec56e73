"""SQL's reading of rooms beside Python's, over many histories in a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from projectors.rooms import RoomsProjection
from runtime.postgres import Connection, connect
from runtime.settings import Settings
from schemas.records.zoom_events import ZoomEvent
from schemas.rooms.attendance import Attendance
from tests.chaos import HORIZON, attended, histories
from tests.effort import examples
from tests.rooms import ACCOUNT, M, Rooms, decoded, ms

PROJECTION = RoomsProjection()
NOW = HORIZON + 20
many = settings(
    examples(60),
    # The database is the test's, and every example empties it first.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def connection(settings: Settings) -> Iterator[Connection]:
    """A connection to the test's own database."""
    with connect(settings.postgres, role="test", autocommit=True) as connected:
        yield connected


def project(connection: Connection, rooms: Rooms) -> None:
    """Everything that came of some events, alone in the database, in two transactions."""
    connection.execute("TRUNCATE room_states, run_states, connections, room_entries")
    middle = len(rooms.outputs) // 2
    for part in (rooms.outputs[:middle], rooms.outputs[middle:]):
        if part:
            with connection.transaction(), connection.cursor() as cursor:
                PROJECTION.apply(cursor, decoded(part))


@many
@given(st.one_of(attended(most=18), histories(most=18)))
def test_attendance_in_sql_is_attendance_in_python(connection: Connection, events: list[ZoomEvent]) -> None:
    """Persons, seconds, stays, presence, rooms and anomalies of every run are the same in both."""
    rooms = Rooms(events)
    project(connection, rooms)
    runs = rooms.runs()
    counted = {uuid: _in_sql(connection, uuid) for uuid in runs}
    assert counted == {uuid: {each.person: _plain(each) for each in rooms.attendance(uuid, now=NOW)} for uuid in runs}


@many
@given(histories(most=18))
def test_rooms_and_runs_in_sql_are_those_in_python(connection: Connection, events: list[ZoomEvent]) -> None:
    """Status, start, end, existence, last webhook, wish for a GET and dates are the same in both."""
    rooms = Rooms(events)
    project(connection, rooms)
    found = connection.execute("SELECT * FROM instances ORDER BY uuid").fetchall()
    told = [
        (row["uuid"], row["status"], _ms(row["started_at"]), _ms(row["ended_at"]), row["end_inferred"]) for row in found
    ]
    wanted = [(run.uuid, run.status, run.started_at, run.ended_at, run.end_inferred) for run in rooms.runs().values()]
    assert told == sorted(wanted)
    view = rooms.view()
    read = [
        (row["existence"], _ms(row["last_seen_event_at"]), row["wants_get"], _dates(row["shown"]))
        for row in connection.execute("SELECT * FROM rooms").fetchall()
    ]
    assert read == ([(view.existence, view.last_seen, view.wants_get, view.dates)] if rooms.of_kind(*KINDS) else [])


KINDS = ("room", "instance", "connection", "report", "occurrence", "registrant", "recording", "fact")


def _in_sql(connection: Connection, uuid: str) -> dict[tuple[str, str], dict[str, Any]]:
    query = "SELECT * FROM attendance(%s, %s, %s, as_time(%s))"
    return {
        (row["identified_by"], row["person"]): {
            "name": row["name"],
            "seconds": row["seconds"],
            "present": row["present"],
            "first_joined": _ms(row["first_joined_at"]),
            "last_left": _ms(row["last_left_at"]),
            "connections": row["connections"],
            "stays": [
                (_text_ms(stay["joined_at"]), _text_ms(stay["left_at"]), stay["breakout_room"], stay["reported"])
                for stay in row["stays"]
            ],
            "breakout_seconds": row["breakout_seconds"],
            "anomalies": sorted((each["kind"], _text_ms(each["at"])) for each in row["anomalies"]),
        }
        for row in connection.execute(query, (ACCOUNT, M, uuid, ms(NOW))).fetchall()
    }


def _plain(person: Attendance) -> dict[str, Any]:
    return {
        "name": person.name,
        "seconds": person.seconds,
        "present": person.present,
        "first_joined": person.first_joined,
        "last_left": person.last_left,
        "connections": person.connections,
        "stays": [(stay.joined, stay.left, stay.breakout_room, stay.reported) for stay in person.stays],
        "breakout_seconds": dict(person.breakout_seconds),
        "anomalies": list(person.anomalies),
    }


def _dates(shown: dict[str, Any]) -> tuple[str, ...]:
    return tuple(sorted(each["occurrence_id"] for each in shown.get("occurrences", [])))


def _ms(at: datetime | None) -> int | None:
    return None if at is None else round(at.timestamp() * 1000)


def _text_ms(text: str | None) -> int | None:
    return None if text is None else _ms(datetime.fromisoformat(text))
