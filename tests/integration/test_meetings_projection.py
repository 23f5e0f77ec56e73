"""The projection of meetings against a real PostgreSQL: rows that change together, and rows of work that stay or go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from projectors.meetings import MeetingsProjection
from projectors.projection import Consumed, Decoded
from runtime.postgres import Connection, connect
from runtime.settings import Settings
from schemas.codec import decode, encode
from schemas.records.meeting_events import MeetingEvent, MeetingState
from schemas.records.tables import Revised
from tests.meeting_commands import Caller, Table, report, room

PROJECTION = MeetingsProjection()


@pytest.fixture
def connection(settings: Settings) -> Iterator[Connection]:
    """A connection to the test's own database."""
    with connect(settings.postgres, role="test", autocommit=True) as connected:
        yield connected


def consumed(offset: int = 0) -> Consumed:
    """Coordinates of a record; the projection itself uses none of them."""
    return Consumed(topic="meeting-events", partition=0, offset=offset, timestamp_ms=0, key=None, value=None)


def apply(connection: Connection, *events: MeetingEvent) -> None:
    """Project these events in one transaction, through bytes."""
    batch = [Decoded(record=decode(encode(event), MeetingEvent), consumed=consumed()) for event in events]
    with connection.transaction(), connection.cursor() as cursor:
        PROJECTION.apply(cursor, batch)


def restore(connection: Connection, table: Table) -> None:
    """Restore a table's entries in one transaction."""
    entries = [Revised(generation=0, revision=9, entry=encode(entry)) for entry in table.entries.values()]
    with connection.transaction(), connection.cursor() as cursor:
        PROJECTION.restore(cursor, [Decoded(record=entry, consumed=consumed()) for entry in entries])


def rows(connection: Connection, query: str, *values: Any) -> Sequence[Any]:
    """Rows as tuples."""
    return [tuple(row.values()) for row in connection.execute(query, values)]


def requests(connection: Connection) -> Sequence[str]:
    """Rows of work as `action:n`."""
    found = rows(connection, "SELECT action || ':' || n FROM room_requests ORDER BY n")
    return [each[0] for each in found]


def claim(connection: Connection, action: str, *, epoch: int, started: bool = True) -> None:
    """What a worker's claim and start leave in a row."""
    connection.execute(
        "UPDATE room_requests SET epoch = %s, started_at = CASE WHEN %s THEN now() END WHERE action = %s",
        (epoch, started, action),
    )


def test_meeting_and_its_work_appear_together(connection: Connection) -> None:
    """A created meeting is a row, a request that is due, and an answered command."""
    table, caller = Table(), Caller()
    apply(connection, table.put(caller.create()))
    assert rows(connection, "SELECT status, room_status, topic, revision FROM meetings") == [
        ("scheduled", "pending", "Planning call", 0)
    ]
    assert rows(connection, "SELECT action, host, due_at <= now(), epoch, retried FROM room_requests") == [
        ("create", "host-01@example.com", True, None, False)
    ]
    assert rows(connection, "SELECT status, version FROM commands") == [("accepted", 1)]


def test_older_event_changes_nothing(connection: Connection) -> None:
    """An event that comes late, or again, leaves the newer row, and work that is done does not come back."""
    table, caller = Table(), Caller()
    created = table.put(caller.create())
    apply(connection, created)
    claim(connection, "create", epoch=1)
    done = table.put(report(caller.meeting_id, table.key(caller, "create"), room=room(), version=1))
    apply(connection, done)
    apply(connection, created)
    apply(connection, done)
    assert rows(connection, "SELECT room_status, zoom_id FROM meetings") == [("ready", "91000000001")]
    assert requests(connection) == []


def test_batch_of_one_meeting_ends_as_its_events_one_by_one(connection: Connection) -> None:
    """Several events of a meeting in one batch leave the last one's rows."""
    table, caller = Table(), Caller()
    events = [table.put(caller.create()), table.put(caller.change(topic="a")), table.put(caller.change(topic="b"))]
    apply(connection, *events)
    assert (rows(connection, "SELECT topic, version FROM meetings"), requests(connection)) == (
        [("b", 3)],
        ["create:1", "update:3"],
    )


def test_update_that_never_started_is_replaced(connection: Connection) -> None:
    """Only the newest change waits."""
    table, caller = Table(), Caller()
    apply(connection, table.put(caller.create()), table.put(caller.change(topic="a")))
    before = requests(connection)
    apply(connection, table.put(caller.change(topic="b")))
    assert (before, requests(connection)) == (["create:1", "update:2"], ["create:1", "update:3"])


def test_started_update_stays_beside_its_successor(connection: Connection) -> None:
    """A call may be under way: its row sees its end, and the newer one waits behind it."""
    table, caller = Table(), Caller()
    apply(connection, table.put(caller.create()), table.put(caller.change(topic="a")))
    claim(connection, "update", epoch=5)
    apply(connection, table.put(caller.change(topic="b")))
    both = requests(connection)
    apply(connection, table.put(report(caller.meeting_id, f"{caller.meeting_id}:update:2", epoch=5)))
    assert (both, requests(connection)) == (["create:1", "update:2", "update:3"], ["create:1", "update:3"])


def test_claimed_row_without_a_call_is_discarded_by_a_cancel(connection: Connection) -> None:
    """A claim alone calls nobody: the worker finds its row gone before it calls."""
    table, caller = Table(), Caller()
    apply(connection, table.put(caller.create()))
    claim(connection, "create", epoch=5, started=False)
    apply(connection, table.put(caller.cancel()))
    assert requests(connection) == ["cancel:2"]


def test_started_create_stays_before_the_cancel(connection: Connection) -> None:
    """The room that it may have made is to be found first."""
    table, caller = Table(), Caller()
    apply(connection, table.put(caller.create()))
    claim(connection, "create", epoch=5)
    apply(connection, table.put(caller.cancel()))
    assert requests(connection) == ["create:1", "cancel:2"]


def test_answer_under_an_old_epoch_leaves_the_row(connection: Connection) -> None:
    """The row belongs to whoever claimed it last."""
    table, caller = Table(), Caller()
    apply(connection, table.put(caller.create()))
    claim(connection, "create", epoch=6)
    outcome = report(caller.meeting_id, table.key(caller, "create"), room=room(), version=1, epoch=5)
    apply(connection, table.put(outcome))
    assert (rows(connection, "SELECT room_status FROM meetings"), requests(connection)) == ([("ready",)], ["create:1"])


@pytest.mark.parametrize(("kind", "outcome"), [("late_report", "done"), ("outcome", "provider_unavailable")])
def test_what_deletes_nothing(connection: Connection, kind: str, outcome: str) -> None:
    """Neither a late report nor the news that there is no provider ends a row, or makes it anew."""
    table, caller = Table(), Caller()
    apply(connection, table.put(caller.create()))
    claim(connection, "create", epoch=5)
    key = table.key(caller, "create")
    found = room() if outcome == "done" else None
    apply(connection, table.put(report(caller.meeting_id, key, outcome, kind=kind, epoch=5, room=found)))
    kept = rows(connection, "SELECT epoch, started_at IS NOT NULL FROM room_requests WHERE action = 'create'")
    assert kept == [(5, True)]


def test_room_that_becomes_known_is_told_to_waiting_work(connection: Connection) -> None:
    """An update that waited for the create learns its room."""
    table, caller = Table(), Caller()
    apply(connection, table.put(caller.create()), table.put(caller.change(topic="a")))
    claim(connection, "create", epoch=5)
    outcome = report(caller.meeting_id, table.key(caller, "create"), room=room(), version=1, epoch=5)
    apply(connection, table.put(outcome))
    assert rows(connection, "SELECT action, zoom_id FROM room_requests") == [("update", "91000000001")]


def test_conflict_leaves_the_first_answer(connection: Connection) -> None:
    """The refusal of other content under a key is no answer to the first command."""
    table, caller = Table(), Caller()
    apply(connection, table.put(caller.create()), table.put(caller.create(topic="Other")))
    apply(connection, table.put(caller.create(topic="Third")))
    assert rows(connection, "SELECT status, code FROM commands") == [("accepted", None)]


def test_conflict_refuses_the_command_that_was_recorded(connection: Connection) -> None:
    """What ingress recorded while an outbox sent other content under the same key ends as refused, with the reason."""
    caller, table = Caller(), Table()
    first, second = caller.create(), caller.create(topic="Other")
    connection.execute(
        "INSERT INTO commands (command_id, account_id, meeting_id, command, request_hash, accepted_at)"
        " VALUES (%s, %s, %s, 'CreateMeeting', %s, now())",
        (second.command_id, second.account_id, second.meeting_id, second.request_hash),
    )
    apply(connection, table.put(first), table.put(second))
    apply(connection, table.put(first))
    told = rows(connection, "SELECT status, code, request_hash FROM commands WHERE message IS NOT NULL")
    assert told == [("rejected", "idempotency_conflict", second.request_hash)]


def test_refusal_answers_a_recorded_command(connection: Connection) -> None:
    """The row that ingress made is completed with the reason."""
    table, caller = Table(), Caller()
    command = caller.change("k", topic="Other")
    connection.execute(
        "INSERT INTO commands (command_id, account_id, meeting_id, command, idempotency_key, request_hash, accepted_at)"
        " VALUES (%s, %s, %s, 'ChangeMeeting', 'k', %s, now())",
        (command.command_id, command.account_id, command.meeting_id, command.request_hash),
    )
    apply(connection, table.put(command))
    assert rows(connection, "SELECT status, code, idempotency_key FROM commands") == [
        ("rejected", "meeting_not_found", "k")
    ]


def test_waiters_and_workers_are_told_at_the_commit(connection: Connection, settings: Settings) -> None:
    """Both channels carry word of a new meeting."""
    table, caller = Table(), Caller()
    with connect(settings.postgres, role="listener", autocommit=True) as listener:
        listener.execute("LISTEN roomkeeper_meetings")
        listener.execute("LISTEN roomkeeper_room_requests")
        apply(connection, table.put(caller.create()))
        heard = {(each.channel, each.payload) for each in listener.notifies(timeout=5, stop_after=2)}
    assert heard == {("roomkeeper_meetings", caller.meeting_id), ("roomkeeper_room_requests", "")}


def test_lost_database_comes_back_with_its_work(connection: Connection) -> None:
    """Meetings, commands and requests are restored from the changelog; the requests count as retried, the rooms as unsure."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    table.put(caller.change(topic="a"))
    restore(connection, table)
    assert requests(connection) == ["create:1", "update:2"]
    assert rows(connection, "SELECT DISTINCT retried, started_at FROM room_requests") == [(True, None)]
    assert rows(connection, "SELECT topic, revision FROM meetings") == [("a", 9)]
    assert rows(connection, "SELECT count(*) FROM commands") == [(2,)]
    assert rows(connection, "SELECT until_at > now() FROM unsure_meetings") == [(True,)]


def test_retried_row_is_not_taken_for_one_that_never_started(connection: Connection) -> None:
    """After a rebuild nobody knows which calls were made, so nothing is discarded unseen."""
    table, caller = Table(), Caller()
    table.put(caller.create())
    restore(connection, table)
    apply(connection, replace(table.put(caller.cancel()), revision=10))
    assert requests(connection) == ["create:1", "cancel:2"]


def test_epochs_never_repeat_after_a_rebuild(connection: Connection) -> None:
    """Epochs given before a database was lost are not given again."""
    connection.execute("SELECT setval('room_request_epochs', 5)")
    restore(connection, Table())
    (after,) = rows(
        connection, "SELECT nextval('room_request_epochs') > extract(epoch FROM now()) * 1000000 - 60000000"
    )
    assert after == (True,)


def test_state_column_is_the_meeting(connection: Connection) -> None:
    """The whole meeting stands in its row."""
    table, caller = Table(), Caller()
    apply(connection, table.put(caller.create()))
    ((state,),) = rows(connection, "SELECT state FROM meetings")
    assert decode(bytes(state), MeetingState) == table.meeting(caller)
