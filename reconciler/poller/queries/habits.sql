-- name: note_heard
-- Who was heard of late: hosts, and under the empty name the account.
WITH hosts AS (
    SELECT r.host_id, max(r.last_seen_event_at) AS heard_at
    FROM room_states AS r
    WHERE r.account_id = %(account_id)s AND r.last_seen_event_at > %(now)s::timestamptz - interval '2 hours'
      AND r.host_id IS NOT NULL
    GROUP BY r.host_id
), heard AS (
    SELECT host_id, heard_at FROM hosts WHERE host_id <> ''
    UNION ALL
    SELECT '', max(heard_at) FROM hosts HAVING max(heard_at) IS NOT NULL
)
INSERT INTO poll_heard AS stored (account_id, host_id, heard_at, hour_at)
SELECT %(account_id)s, host_id, heard_at, date_trunc('hour', %(now)s::timestamptz, 'UTC') FROM heard
ON CONFLICT (account_id, host_id) DO UPDATE SET heard_at = greatest(stored.heard_at, excluded.heard_at);

-- name: close_hours
-- Hours that are over become habit: not those that nobody watched to their end, nor those of a gap.
WITH closed AS (
    SELECT host_id, hour_at, heard_at >= hour_at AS heard
    FROM poll_heard
    WHERE account_id = %(account_id)s AND hour_at < date_trunc('hour', %(now)s::timestamptz, 'UTC')
      AND hour_at > %(now)s::timestamptz - interval '2 hours' AND silent_since IS NULL
), learned AS (
    INSERT INTO poll_habits AS stored (account_id, host_id, slot, hours, heard)
    SELECT
        %(account_id)s,
        host_id,
        extract(hour FROM hour_at AT TIME ZONE 'UTC')
            + CASE WHEN extract(isodow FROM hour_at AT TIME ZONE 'UTC') > 5 THEN 24 ELSE 0 END,
        1,
        heard::integer
    FROM closed
    ON CONFLICT (account_id, host_id, slot) DO UPDATE SET
        hours = CASE WHEN stored.hours >= 40 THEN stored.hours / 2 ELSE stored.hours END + 1,
        heard = CASE WHEN stored.hours >= 40 THEN stored.heard / 2 ELSE stored.heard END + excluded.heard
)
UPDATE poll_heard SET hour_at = date_trunc('hour', %(now)s::timestamptz, 'UTC')
WHERE account_id = %(account_id)s AND hour_at < date_trunc('hour', %(now)s::timestamptz, 'UTC');

-- name: find_silent
-- Who was not heard for a while, with the habit of its hours.
SELECT h.host_id, h.heard_at, h.silent_since, coalesce(habit.slots, '{}') AS slots
FROM poll_heard AS h
CROSS JOIN LATERAL (
    SELECT jsonb_object_agg(b.slot, jsonb_build_array(b.hours, b.heard)) AS slots
    FROM poll_habits AS b
    WHERE b.account_id = h.account_id AND b.host_id = h.host_id
) AS habit
WHERE h.account_id = %(account_id)s AND h.heard_at <= %(before)s AND h.heard_at > %(oldest)s;

-- name: note_silences
-- Who is silent against habit now; the others are not any more.
UPDATE poll_heard SET silent_since = CASE WHEN host_id = ANY(%(silent)s::text[]) THEN heard_at END
WHERE account_id = %(account_id)s
  AND silent_since IS DISTINCT FROM CASE WHEN host_id = ANY(%(silent)s::text[]) THEN heard_at END;

-- name: find_silences
-- Who was found silent by the newest pass.
SELECT host_id, silent_since FROM poll_heard WHERE account_id = %(account_id)s AND silent_since IS NOT NULL;
