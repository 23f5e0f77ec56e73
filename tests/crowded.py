"""A database after years: many rooms with all that belongs to them, few of them recent; made by the server itself."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import LiteralString

from runtime.postgres import connect
from runtime.settings import PostgresSettings

ACCOUNT_ID = "acct-crowded"
NOW = datetime(2026, 12, 1, 15, tzinfo=UTC)
ROOMS_A_DAY = 100
DAYS_AHEAD = 30
HOSTS = 200


def crowd(postgres: PostgresSettings, *, rooms: int) -> None:
    """Fill a migrated, empty database with an outbox in it: a hundred rooms a day, the last of them a month ahead."""
    values = {
        "account_id": ACCOUNT_ID,
        "rooms": rooms,
        "now": NOW,
        "a_day": ROOMS_A_DAY,
        "ahead": DAYS_AHEAD * ROOMS_A_DAY,
        "hosts": HOSTS,
    }
    with connect(postgres, role="tests", autocommit=True) as connection:
        connection.execute("SET statement_timeout = 0")
        for statement in (_NUMBERS, *_ROWS):
            connection.execute(statement, values)
        connection.execute(
            "VACUUM (ANALYZE) room_states, run_states, connections, room_entries, meetings, commands, registrants, alerts,"
            " poll_rooms, poll_runs, poll_hosts, poll_heard, poll_habits, swept_hosts, taken_deliveries, roomkeeper_outbox"
        )


_NUMBERS: LiteralString = """
CREATE TABLE numbers AS
SELECT n, (91000000000 + n)::text AS zoom_id, 'uuid-' || n AS uuid, md5(n::text)::uuid AS id, n %% %(hosts)s AS host,
       %(now)s::timestamptz + (n - %(rooms)s + %(ahead)s) * (interval '1 day' / %(a_day)s) AS start_at
FROM generate_series(1, %(rooms)s) AS n
"""
_ROWS: tuple[LiteralString, ...] = (
    # Rooms lie in the order in which they were made; of everything else, order has nothing to do with time.
    """
    INSERT INTO room_states (
        account_id, zoom_id, topic, host_id, start_at, duration_minutes, last_seen_event_at, shown, said, said_at, proven_at,
        generation, revision
    )
    SELECT %(account_id)s, zoom_id, 'Planning', 'host-' || host, start_at, 45,
           CASE WHEN start_at < %(now)s THEN start_at ELSE start_at - interval '40 days' END,
           '{"topic": "Planning"}', 'created', start_at - interval '40 days', start_at - interval '1 hour', 0, n
    FROM numbers ORDER BY n
    """,
    """
    INSERT INTO run_states (
        account_id, zoom_id, uuid, shown, told_started, told_ended, start_carrier, told_started_at, ended_at, generation, revision
    )
    SELECT %(account_id)s, zoom_id, uuid, '{}', true, n %% 100 > 0, 4, start_at,
           CASE WHEN n %% 100 > 0 THEN start_at + interval '45 minutes' END, 0, n
    FROM numbers WHERE start_at < %(now)s ORDER BY id
    """,
    """
    INSERT INTO connections (account_id, zoom_id, uuid, user_id, shown, stays, generation, revision)
    SELECT %(account_id)s, zoom_id, uuid, user_id::text, '{}',
           jsonb_build_array(jsonb_build_array(as_ms(start_at), as_ms(start_at) + 60000, '', false)), 0, n
    FROM numbers CROSS JOIN generate_series(1, 1) AS user_id
    WHERE start_at < %(now)s ORDER BY id
    """,
    """
    INSERT INTO room_entries (account_id, zoom_id, kind, entry_key, shown, generation, revision)
    SELECT %(account_id)s, zoom_id, 'occurrence', n,
           jsonb_build_object('start_time', to_char(start_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')), 0, n
    FROM numbers ORDER BY id
    """,
    """
    INSERT INTO meetings (
        account_id, meeting_id, version, status, host, topic, start_at, duration_minutes, ends_at, room_status, zoom_id, state,
        created_at, changed_at, generation, revision
    )
    SELECT %(account_id)s, id, 1, 'scheduled', 'host-' || host || '@example.com', 'Planning', start_at, 45,
           start_at + interval '45 minutes', 'ready', zoom_id, '', start_at - interval '40 days', start_at, 0, n
    FROM numbers ORDER BY id
    """,
    """
    INSERT INTO commands (command_id, account_id, meeting_id, command, request_hash, accepted_at, produced_at, status)
    SELECT id, %(account_id)s, id, 'CreateMeeting', '', start_at - interval '40 days', start_at, 'accepted'
    FROM numbers ORDER BY id
    """,
    """
    INSERT INTO registrants (
        account_id, meeting_id, registrant_key, email, status, zoom_id, state, created_at, generation, revision
    )
    SELECT %(account_id)s, id, id, 'ada@example.com', 'approved', zoom_id, '', start_at - interval '9 days', 0, n
    FROM numbers ORDER BY id
    """,
    # One room that is used again and again.
    """
    INSERT INTO run_states (
        account_id, zoom_id, uuid, shown, told_started, told_ended, start_carrier, told_started_at, ended_at, generation, revision
    )
    SELECT %(account_id)s, 'busy', 'busy-' || n, '{}', true, true, 4, start_at, start_at + interval '45 minutes', 0, n
    FROM numbers WHERE n < 3000
    """,
    """
    INSERT INTO poll_rooms (account_id, zoom_id, asked_at, next_at, rules, times, outcome, got_at)
    SELECT %(account_id)s, zoom_id, start_at, start_at + interval '1 hour', '{unread_past}', 1, 'done', start_at
    FROM numbers WHERE start_at BETWEEN %(now)s::timestamptz - interval '14 days' AND %(now)s ORDER BY id
    """,
    """
    UPDATE poll_rooms SET suspicion = CASE WHEN host < 100 THEN 'changed' ELSE 'missing' END, suspected_at = asked_at
    FROM numbers WHERE poll_rooms.zoom_id = numbers.zoom_id AND n %% 100 = 0
    """,
    """
    UPDATE room_states SET wants_get = true FROM numbers WHERE room_states.zoom_id = numbers.zoom_id AND n %% 5000 = 1
    """,
    """
    INSERT INTO poll_runs (account_id, zoom_id, uuid, asked_at, outcome)
    SELECT %(account_id)s, zoom_id, uuid, start_at + interval '1 hour', 'settled'
    FROM numbers WHERE start_at BETWEEN %(now)s::timestamptz - interval '14 days' AND %(now)s ORDER BY id
    """,
    """
    INSERT INTO taken_deliveries (account_id, request_id, taken_at)
    SELECT %(account_id)s, uuid, start_at
    FROM numbers WHERE start_at BETWEEN %(now)s::timestamptz - interval '14 days' AND %(now)s ORDER BY id
    """,
    """
    INSERT INTO poll_hosts (account_id, host, host_id, listed_at, due_at)
    SELECT %(account_id)s, 'host-' || host || '@example.com', 'host-' || host, %(now)s, %(now)s + interval '1 minute'
    FROM generate_series(1, %(hosts)s) AS host
    """,
    """
    INSERT INTO swept_hosts (account_id, host, due_at)
    SELECT account_id, host, due_at FROM poll_hosts
    """,
    """
    INSERT INTO poll_heard (account_id, host_id, heard_at, hour_at)
    SELECT account_id, host_id, %(now)s::timestamptz - interval '3 hours', %(now)s FROM poll_hosts
    """,
    """
    INSERT INTO poll_habits (account_id, host_id, slot, hours, heard)
    SELECT account_id, host_id, slot, 20, 20 FROM poll_hosts CROSS JOIN generate_series(0, 47) AS slot
    """,
    # Commands that could not be, set aside years ago, before those that wait.
    """
    INSERT INTO roomkeeper_outbox (meeting_key, command, rejected_at)
    SELECT uuid, 'create', CASE WHEN n < 20000 THEN %(now)s::timestamptz END FROM numbers WHERE n < 21000
    """,
    """
    INSERT INTO alerts (name, account_id, since_at, until_at, message)
    SELECT 'webhook_gap', %(account_id)s, start_at, start_at, 'over' FROM numbers WHERE start_at < %(now)s
    """,
)
