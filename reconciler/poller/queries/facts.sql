-- name: find_rooms
-- What is known of these rooms, by the read model and by visits.
SELECT
    wanted.zoom_id,
    coalesce(r.existence, 'unknown') AS existence,
    r.host_id,
    r.start_at,
    r.duration_minutes,
    r.last_seen_event_at AS last_seen_at,
    coalesce(r.wants_get, false) AS wants_get,
    r.shown -> 'occurrences' AS occurrences,
    m.created_at AS ready_at,
    m.start_at AS wanted_start_at,
    m.duration_minutes AS wanted_minutes,
    v.asked_at, v.next_at, v.rules, v.times, v.outcome, v.got_at, v.missing_at, v.past_read_at, v.suspicion, v.suspected_at
FROM unnest(%(zoom_ids)s::text[]) AS wanted (zoom_id)
LEFT JOIN rooms AS r ON r.account_id = %(account_id)s AND r.zoom_id = wanted.zoom_id
LEFT JOIN LATERAL (
    SELECT m.created_at, m.start_at, m.duration_minutes
    FROM meetings AS m
    WHERE m.account_id = %(account_id)s AND m.zoom_id = wanted.zoom_id AND m.room_status = 'ready'
    ORDER BY m.created_at
    LIMIT 1
) AS m ON true
LEFT JOIN poll_rooms AS v ON v.account_id = %(account_id)s AND v.zoom_id = wanted.zoom_id;

-- name: find_runs
-- The newest runs of these rooms, with what was asked about them; people's stays only of those of late.
SELECT
    wanted.zoom_id, run.uuid, run.status, run.started_at, run.ended_at, run.end_inferred, run.end_polled,
    p.outcome, coalesce(p.times, 0) AS times, p.next_at,
    run.status = 'ended' AND coalesce(stays.open, false) AS open_connections,
    coalesce(stays.open_in_breakout, false) AS open_breakouts
FROM unnest(%(zoom_ids)s::text[]) AS wanted (zoom_id)
CROSS JOIN LATERAL (
    SELECT i.uuid, i.status, i.started_at, coalesce(i.ended_at, CASE i.status WHEN 'ended' THEN i.started_at END) AS ended_at,
           i.end_inferred, i.end_polled
    FROM instances AS i
    WHERE i.account_id = %(account_id)s AND i.zoom_id = wanted.zoom_id
    ORDER BY i.started_at DESC NULLS FIRST, i.uuid
    LIMIT %(most)s
) AS run
LEFT JOIN poll_runs AS p ON p.account_id = %(account_id)s AND p.zoom_id = wanted.zoom_id AND p.uuid = run.uuid
LEFT JOIN LATERAL (
    SELECT bool_or(jsonb_path_exists(c.stays, '$[*] ? (@[1] == null)')) AS open,
           bool_or(jsonb_path_exists(c.stays, '$[*] ? (@[1] == null && @[2] != "")')) AS open_in_breakout
    FROM connections AS c
    WHERE c.account_id = %(account_id)s AND c.zoom_id = wanted.zoom_id AND c.uuid = run.uuid
      AND coalesce(run.ended_at, run.started_at, 'infinity') > %(oldest)s
) AS stays ON true;

-- name: find_known_runs
-- Which of these runs of a room are known.
SELECT uuid FROM run_states
WHERE account_id = %(account_id)s AND zoom_id = %(zoom_id)s AND uuid = ANY(%(uuids)s::text[])
  AND (told_started OR told_ended OR witnessed);

-- name: find_room_accounts
-- The accounts that know a room.
SELECT account_id FROM room_states WHERE account_id = ANY(%(accounts)s::text[]) AND zoom_id = %(zoom_id)s
UNION
SELECT account_id FROM meetings WHERE account_id = ANY(%(accounts)s::text[]) AND zoom_id = %(zoom_id)s;

-- name: find_paused
-- Accounts that are not called now, because an operator or Zoom said so.
SELECT account_id, until_at, reason FROM parked
WHERE account_id = ANY(%(accounts)s::text[]) AND scope = 'account' AND until_at > %(now)s;

-- name: find_refusals
-- What Zoom refuses accounts for their plan, as far as it is remembered.
SELECT account_id, endpoint, reason, until_at FROM poll_refusals
WHERE account_id = ANY(%(accounts)s::text[]) AND until_at > %(now)s;
