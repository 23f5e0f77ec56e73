-- name: lag_should_have_started
-- Rooms, and series by their dates, that have begun by the clock and of which no run was heard of since.
(
    SELECT r.zoom_id, r.start_at AS since
    FROM room_states AS r
    WHERE r.account_id = %(account_id)s
      AND r.start_at > %(oldest)s AND r.start_at <= %(now)s::timestamptz - %(threshold)s::interval
      AND is_there(r.permanently_deleted, r.said, r.said_at, r.gone_since, r.proven_at)
      AND NOT EXISTS (
          SELECT FROM run_states AS i
          WHERE i.account_id = r.account_id AND i.zoom_id = r.zoom_id
            AND (i.started_at >= r.start_at - interval '1 hour' OR i.started_at IS NULL)
            AND (i.told_started OR i.told_ended OR i.witnessed)
      )
      AND NOT EXISTS (
          SELECT FROM poll_rooms AS v
          WHERE v.account_id = r.account_id AND v.zoom_id = r.zoom_id AND (
              (v.next_at > %(now)s AND 'should_have_started' = ANY(v.rules))
              OR v.past_read_at > r.start_at + coalesce(r.duration_minutes, 0) * interval '1 minute' + interval '1 day'
          )
      )
    ORDER BY r.start_at
    LIMIT %(rows)s
)
UNION ALL
(
    SELECT d.zoom_id, d.start_at
    FROM (
        SELECT e.zoom_id, (e.shown ->> 'start_time')::timestamptz AS start_at
        FROM room_entries AS e
        JOIN room_states AS r ON r.account_id = e.account_id AND r.zoom_id = e.zoom_id
        WHERE e.account_id = %(account_id)s AND e.kind = 'occurrence' AND NOT e.gone
          AND e.shown ->> 'start_time' > %(oldest_text)s AND e.shown ->> 'start_time' <= %(newest_text)s
          AND pg_input_is_valid(e.shown ->> 'start_time', 'timestamptz')  -- it is as Zoom sent it
          AND is_there(r.permanently_deleted, r.said, r.said_at, r.gone_since, r.proven_at)
          AND coalesce(e.proven_at, '-infinity') >= coalesce(r.dates_listed_at, '-infinity')
    ) AS d
    WHERE NOT EXISTS (
          SELECT FROM run_states AS i
          WHERE i.account_id = %(account_id)s AND i.zoom_id = d.zoom_id
            AND (i.started_at >= d.start_at - interval '1 hour' OR i.started_at IS NULL)
            AND (i.told_started OR i.told_ended OR i.witnessed)
      )
      AND NOT EXISTS (
          SELECT FROM poll_rooms AS v
          WHERE v.account_id = %(account_id)s AND v.zoom_id = d.zoom_id AND (
              (v.next_at > %(now)s AND 'should_have_started' = ANY(v.rules)) OR v.past_read_at > d.start_at + interval '2 days'
          )
      )
    ORDER BY d.start_at
    LIMIT %(rows)s
);

-- name: lag_running_too_long
-- Rooms with a run that has begun and of which no end was told, when its room should be free again.
SELECT i.zoom_id, i.started_at AS since
FROM run_states AS i
LEFT JOIN room_states AS r ON r.account_id = i.account_id AND r.zoom_id = i.zoom_id
WHERE i.account_id = %(account_id)s AND i.ended_at IS NULL AND NOT i.told_ended AND (i.told_started OR i.witnessed)
  AND (i.started_at IS NULL OR i.started_at BETWEEN %(oldest)s AND %(now)s::timestamptz - %(threshold)s::interval)
  AND (
      r.start_at IS NULL OR r.start_at > i.started_at + interval '1 hour'
      OR r.start_at + coalesce(r.duration_minutes, 0) * interval '1 minute' + %(threshold)s::interval <= %(now)s
      OR EXISTS (
          SELECT FROM run_states AS later
          WHERE later.account_id = i.account_id AND later.zoom_id = i.zoom_id AND later.started_at > i.started_at
      )
  )
  AND NOT EXISTS (
      SELECT FROM poll_rooms AS v
      WHERE v.account_id = i.account_id AND v.zoom_id = i.zoom_id
        AND v.next_at > %(now)s AND 'running_too_long' = ANY(v.rules)
  )
  AND NOT EXISTS (
      SELECT FROM poll_runs AS p
      WHERE p.account_id = i.account_id AND p.zoom_id = i.zoom_id AND p.uuid = i.uuid AND p.next_at IS NULL
  )
  AND NOT is_lost(r.permanently_deleted, r.said, r.gone_since, r.proven_at)
ORDER BY i.started_at
LIMIT %(rows)s;

-- name: lag_never_heard_of
-- Rooms of meetings of the last day of which no webhook told.
SELECT m.zoom_id, m.created_at AS since
FROM meetings AS m
LEFT JOIN room_states AS r ON r.account_id = m.account_id AND r.zoom_id = m.zoom_id
WHERE m.account_id = %(account_id)s AND m.zoom_id IS NOT NULL AND m.room_status = 'ready'
  AND m.created_at <= %(now)s::timestamptz - %(threshold)s::interval
  AND m.created_at > %(now)s::timestamptz - %(threshold)s::interval - interval '1 day'
  AND r.last_seen_event_at IS NULL
  AND (r.zoom_id IS NULL OR is_there(r.permanently_deleted, r.said, r.said_at, r.gone_since, r.proven_at))
  AND NOT EXISTS (
      SELECT FROM poll_rooms AS v
      WHERE v.account_id = m.account_id AND v.zoom_id = m.zoom_id
        AND v.next_at > %(now)s AND 'never_heard_of' = ANY(v.rules)
  )
ORDER BY m.created_at
LIMIT %(rows)s;

-- name: lag_changed
-- Rooms that a list shows otherwise than they are known, or of which a webhook told half.
(
    SELECT v.zoom_id, v.suspected_at AS since
    FROM poll_rooms AS v
    WHERE v.account_id = %(account_id)s AND v.suspicion = 'changed'
      AND (v.next_at IS NULL OR v.next_at <= %(now)s OR NOT 'changed' = ANY(v.rules))
    ORDER BY v.suspected_at
    LIMIT %(rows)s
)
UNION ALL
(
    SELECT r.zoom_id, r.last_seen_event_at
    FROM room_states AS r
    WHERE r.account_id = %(account_id)s AND r.wants_get
      AND is_there(r.permanently_deleted, r.said, r.said_at, r.gone_since, r.proven_at)
      AND NOT EXISTS (
          SELECT FROM poll_rooms AS v
          WHERE v.account_id = r.account_id AND v.zoom_id = r.zoom_id AND v.next_at > %(now)s AND 'changed' = ANY(v.rules)
      )
    LIMIT %(rows)s
);

-- name: lag_settings_unread
-- Rooms, and series by their dates, that are used within a day and whose settings were not read for long.
WITH coming AS (
    SELECT r.zoom_id, r.start_at
    FROM room_states AS r
    WHERE r.account_id = %(account_id)s
      AND r.start_at > %(now)s AND r.start_at <= %(now)s::timestamptz + interval '1 day'
    UNION ALL
    SELECT e.zoom_id, (e.shown ->> 'start_time')::timestamptz
    FROM room_entries AS e
    WHERE e.account_id = %(account_id)s AND e.kind = 'occurrence' AND NOT e.gone
      AND e.shown ->> 'start_time' > %(now_text)s AND e.shown ->> 'start_time' <= %(tomorrow_text)s
      AND pg_input_is_valid(e.shown ->> 'start_time', 'timestamptz')
)
SELECT c.zoom_id, min(c.start_at) AS since
FROM coming AS c
JOIN room_states AS r ON r.account_id = %(account_id)s AND r.zoom_id = c.zoom_id
LEFT JOIN poll_rooms AS v ON v.account_id = r.account_id AND v.zoom_id = r.zoom_id
WHERE is_there(r.permanently_deleted, r.said, r.said_at, r.gone_since, r.proven_at)
  AND coalesce(v.got_at, '-infinity') <= %(now)s::timestamptz - %(threshold)s::interval
  AND coalesce(NOT (v.next_at > %(now)s AND 'settings_unread' = ANY(v.rules)), true)
  AND NOT EXISTS (
      SELECT FROM meetings AS m
      WHERE m.account_id = r.account_id AND m.zoom_id = r.zoom_id
        AND m.created_at > %(now)s::timestamptz - %(threshold)s::interval
  )
GROUP BY c.zoom_id
ORDER BY since
LIMIT %(rows)s;

-- name: lag_deleted
-- Rooms that a whole list does not show, or that Zoom did not know a while ago, and that are not marked yet.
SELECT v.zoom_id, coalesce(v.missing_at, v.suspected_at) AS since
FROM poll_rooms AS v
JOIN room_states AS r ON r.account_id = v.account_id AND r.zoom_id = v.zoom_id
WHERE v.account_id = %(account_id)s
  AND (v.missing_at > %(now)s::timestamptz - interval '1 day' OR v.suspicion = 'missing')
  AND coalesce(NOT (v.next_at > %(now)s AND 'deleted' = ANY(v.rules)), true)
  AND is_there(r.permanently_deleted, r.said, r.said_at, r.gone_since, r.proven_at)
ORDER BY since
LIMIT %(rows)s;

-- name: lag_ended_runs
-- Rooms with a run that is over and was not compared with Zoom's past data, or is to be again.
SELECT i.zoom_id, min(i.ended_at) AS since
FROM run_states AS i
LEFT JOIN room_states AS r ON r.account_id = i.account_id AND r.zoom_id = i.zoom_id
LEFT JOIN poll_runs AS p ON p.account_id = i.account_id AND p.zoom_id = i.zoom_id AND p.uuid = i.uuid
WHERE i.account_id = %(account_id)s
  AND i.ended_at > %(oldest)s AND i.ended_at <= %(now)s::timestamptz - %(threshold)s::interval
  AND (p.uuid IS NULL OR p.next_at <= %(now)s)
  AND NOT is_lost(r.permanently_deleted, r.said, r.gone_since, r.proven_at)
GROUP BY i.zoom_id
ORDER BY since
LIMIT %(rows)s;

-- name: lag_unheard_run
-- Rooms that were in use of late and whose list of past runs was not read for long.
SELECT v.zoom_id, min(v.past_read_at) AS since
FROM run_states AS i
JOIN poll_rooms AS v ON v.account_id = i.account_id AND v.zoom_id = i.zoom_id
JOIN room_states AS r ON r.account_id = i.account_id AND r.zoom_id = i.zoom_id
WHERE i.account_id = %(account_id)s AND i.ended_at > %(oldest)s AND i.ended_at <= %(now)s
  AND v.past_read_at <= %(now)s::timestamptz - %(threshold)s::interval
  AND coalesce(NOT (v.next_at > %(now)s AND 'unheard_run' = ANY(v.rules)), true)
  AND is_there(r.permanently_deleted, r.said, r.said_at, r.gone_since, r.proven_at)
GROUP BY v.zoom_id
ORDER BY since
LIMIT %(rows)s;

-- name: lag_webhook_gap
-- Rooms of silent hosts (all, where the account is silent) that may have been in use since.
(
    SELECT r.zoom_id, r.start_at AS since
    FROM room_states AS r
    WHERE r.account_id = %(account_id)s
      AND r.start_at > %(silent_since)s::timestamptz - interval '1 day' AND r.start_at <= %(now)s
      AND r.start_at + coalesce(r.duration_minutes, 0) * interval '1 minute' >= %(silent_since)s
      AND (%(silent_hosts)s::text[] IS NULL OR r.host_id = ANY(%(silent_hosts)s::text[]))
      AND is_there(r.permanently_deleted, r.said, r.said_at, r.gone_since, r.proven_at)
      AND NOT EXISTS (
          SELECT FROM poll_rooms AS v
          WHERE v.account_id = r.account_id AND v.zoom_id = r.zoom_id
            AND v.next_at > %(now)s AND 'webhook_gap' = ANY(v.rules)
      )
    ORDER BY r.start_at
    LIMIT %(rows)s
)
UNION ALL
(
    SELECT i.zoom_id, i.started_at
    FROM run_states AS i
    JOIN room_states AS r ON r.account_id = i.account_id AND r.zoom_id = i.zoom_id
    WHERE i.account_id = %(account_id)s AND i.ended_at IS NULL AND (i.told_started OR i.witnessed)
      AND i.started_at > %(oldest)s
      AND (%(silent_hosts)s::text[] IS NULL OR r.host_id = ANY(%(silent_hosts)s::text[]))
      AND NOT EXISTS (
          SELECT FROM poll_rooms AS v
          WHERE v.account_id = i.account_id AND v.zoom_id = i.zoom_id
            AND v.next_at > %(now)s AND 'webhook_gap' = ANY(v.rules)
      )
    ORDER BY i.started_at
    LIMIT %(rows)s
);
