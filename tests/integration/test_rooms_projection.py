"""The projection of rooms against a real PostgreSQL, and SQL's attendance beside Python's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from projectors.projection import Consumed, Decoded
from projectors.rooms import RoomsProjection
from runtime.postgres import Connection, connect
from runtime.settings import Settings
from schemas.records.room_events import RoomEvent
from schemas.records.tables import Revised
from tests.rooms import ACCOUNT, U1, U2, M, Rooms, body, decoded, ms, observed, person, updated

PROJECTION = RoomsProjection()


@pytest.fixture
def connection(settings: Settings) -> Iterator[Connection]:
    """A connection to the test's own database."""
    with connect(settings.postgres, role="test", autocommit=True) as connected:
        yield connected


def project(connection: Connection, events: Iterable[RoomEvent]) -> None:
    """Project these events in one transaction, through bytes."""
    batch = decoded(events)
    with connection.transaction(), connection.cursor() as cursor:
        PROJECTION.apply(cursor, batch)


def restore(connection: Connection, rooms: Rooms) -> None:
    """Restore the entries of a table in one transaction."""
    entries = [Revised(generation=0, revision=9, entry=entry.encode()) for entry in rooms.entries.values()]
    with connection.transaction(), connection.cursor() as cursor:
        PROJECTION.restore(cursor, [Decoded(record=entry, consumed=_consumed(b"")) for entry in entries])


def _consumed(value: bytes) -> Consumed:
    return Consumed(topic="room-events", partition=0, offset=0, timestamp_ms=0, key=None, value=value)


def rows(connection: Connection, query: str, *values: Any) -> Sequence[Any]:
    """Rows as tuples."""
    return [tuple(row.values()) for row in connection.execute(query, values)]


def story() -> Rooms:
    """A room with a run, two people and a date."""
    return Rooms(
        [
            body(
                "meeting.created",
                -60,
                type=8,
                occurrences=[{"occurrence_id": "o1", "start_time": "2026-03-10T10:00:00Z"}],
            ),
            body("meeting.started", 0),
            person("joined", 5, "1", email="a@example.com", user_name="A"),
            person("joined", 9, "2", email="b@example.com", user_name="B"),
            person("left", 65, "1", email="a@example.com", user_name="A"),
            body(
                "meeting.registration_created",
                70,
                registrant={"id": "r1", "email": "a@example.com", "status": "approved"},
            ),
            body("meeting.hologram_started", 71),
        ]
    )


def test_a_room_is_readable_as_its_events_left_it(connection: Connection) -> None:
    """Room, run, people and the rest are rows after one batch."""
    project(connection, story().outputs)
    [(existence, topic, seen, shown)] = rows(
        connection, "SELECT existence, topic, as_ms(last_seen_event_at), shown FROM rooms WHERE zoom_id = %s", M
    )
    assert (existence, topic, seen) == ("exists", "Planning call", ms(71))
    assert [each["occurrence_id"] for each in shown["occurrences"]] == ["o1"]
    assert rows(connection, "SELECT uuid, status, as_ms(started_at), ended_at FROM instances") == [
        (U1, "started", ms(0), None)
    ]
    people = rows(
        connection,
        "SELECT person, name, seconds, present FROM attendance(%s, %s, %s, as_time(%s))",
        ACCOUNT,
        M,
        U1,
        ms(109),
    )
    assert people == [("a@example.com", "A", 60, False), ("b@example.com", "B", 100, True)]
    assert rows(connection, "SELECT kind, count(*) FROM room_entries GROUP BY kind ORDER BY kind") == [
        ("fact", 1),
        ("occurrence", 1),
        ("registrant", 1),
    ]


def test_an_old_or_repeated_event_changes_nothing(connection: Connection) -> None:
    """Events again, one by one and backwards, leave every row as the newest left it."""
    rooms = story()
    project(connection, rooms.outputs)
    before = snapshot(connection)
    for event in reversed(rooms.outputs):
        project(connection, [event])
    assert snapshot(connection) == before


def test_any_order_of_events_ends_in_the_same_rows(connection: Connection) -> None:
    """Backwards from an empty database the rows are the same too."""
    rooms = story()
    for event in reversed(rooms.outputs):
        project(connection, [event])
    backwards = snapshot(connection)
    connection.execute("TRUNCATE room_states, run_states, connections, room_entries")
    project(connection, rooms.outputs)
    assert snapshot(connection) == backwards


def test_a_rebuild_from_entries_shows_the_same(connection: Connection) -> None:
    """What the changelog holds is enough for every row."""
    rooms = story()
    project(connection, rooms.outputs)
    shown = snapshot(connection, revisions=False)
    connection.execute("TRUNCATE room_states, run_states, connections, room_entries")
    restore(connection, rooms)
    assert snapshot(connection, revisions=False) == shown


def test_a_higher_generation_wins_over_a_higher_offset(connection: Connection) -> None:
    """After a refold its rows stand, although their offsets are lower."""
    rooms = Rooms([body("meeting.created", 0, topic="right")])
    wrong = Rooms([*[body("meeting.started", n) for n in range(9)], body("meeting.created", 0, topic="wrong")])
    project(connection, wrong.outputs)
    refolded = [RoomEvent(**{**_fields(event), "generation": 1}) for event in rooms.outputs]
    project(connection, refolded)
    project(connection, wrong.outputs)
    assert rows(connection, "SELECT topic FROM rooms") == [("right",)]


def test_people_alone_make_a_run_and_a_room(connection: Connection) -> None:
    """Where neither `created` nor `started` came, participants show that both are there, and since when."""
    project(connection, Rooms([person("joined", 30, "1", start=20), person("joined", 31, "2", start=21)]).outputs)
    assert rows(connection, "SELECT existence, as_ms(last_seen_event_at) FROM rooms") == [("exists", ms(31))]
    assert rows(connection, "SELECT status, as_ms(started_at) FROM instances") == [("started", ms(20))]


def test_an_end_is_inferred_from_the_next_start(connection: Connection) -> None:
    """A run without an end is over when the next begins."""
    project(
        connection,
        Rooms(
            [body("meeting.started", 0), body("meeting.started", 600, uuid=U2, start_time="2026-03-10T10:10:00Z")]
        ).outputs,
    )
    found = rows(connection, "SELECT uuid, status, as_ms(ended_at), end_inferred FROM instances ORDER BY started_at")
    assert found == [(U1, "ended", ms(600), True), (U2, "started", None, False)]


@pytest.mark.parametrize(
    ("events", "existence"),
    [
        ([body("meeting.created", 0), body("meeting.deleted", 10)], "deleted"),
        ([body("meeting.deleted", 10), person("joined", 11, "1")], "exists"),
        ([body("meeting.deleted", 10), body("meeting.recovered", 11)], "exists"),
        (
            [body("meeting.created", 0), *[observed("meeting", 900 + 300 * n, status=404) for n in range(3)]],
            "gone_unconfirmed",
        ),
        ([*[observed("meeting", 900 + 300 * n, status=404) for n in range(3)], person("joined", 5000, "1")], "exists"),
        ([body("meeting.permanently_deleted", 5), updated(9, topic="x")], "permanently_deleted"),
        ([body("meeting.ended", 5)], "unknown"),
    ],
)
def test_existence_is_that_of_python(connection: Connection, events: Sequence[Any], existence: str) -> None:
    """The view and the Python form agree on whether a room exists."""
    rooms = Rooms(events)
    project(connection, rooms.outputs)
    assert (rows(connection, "SELECT existence FROM rooms"), rooms.view().existence) == ([(existence,)], existence)


def snapshot(connection: Connection, *, revisions: bool = True) -> dict[str, Any]:
    """Every row of the projection's tables, with or without revisions."""
    found = {}
    for table in ("room_states", "run_states", "connections", "room_entries"):
        every = connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3").fetchall()
        found[table] = [
            {name: value for name, value in row.items() if revisions or name != "revision"} for row in every
        ]
    return found


def _fields(event: RoomEvent) -> dict[str, Any]:
    return {name: getattr(event, name) for name in RoomEvent.__dataclass_fields__}
