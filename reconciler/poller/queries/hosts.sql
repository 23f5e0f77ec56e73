-- name: note_hosts
-- Hosts of meetings, and hosts of whose rooms a webhook told of late.
INSERT INTO poll_hosts (account_id, host, due_at)
SELECT %(account_id)s, found.host, %(now)s
FROM (
    SELECT s.host FROM swept_hosts AS s WHERE s.account_id = %(account_id)s
    UNION
    SELECT r.host_id
    FROM room_states AS r
    WHERE r.account_id = %(account_id)s AND r.last_seen_event_at > %(now)s::timestamptz - interval '1 hour' AND r.host_id <> ''
      AND NOT EXISTS (SELECT FROM poll_hosts AS h WHERE h.account_id = %(account_id)s AND h.host_id = r.host_id)
) AS found
ON CONFLICT DO NOTHING;

-- name: find_due_hosts
-- Hosts whose lists are to be looked at: those of old, and those that have fallen silent since the last look.
SELECT host FROM poll_hosts
WHERE account_id = %(account_id)s AND (
    due_at <= %(now)s
    OR (listed_at < %(account_since)s)
    OR (listed_at < %(silent_since)s AND host_id = ANY(%(silent_hosts)s::text[]))
)
ORDER BY due_at
LIMIT %(rows)s;

-- name: note_list
-- A look at a host's list.
UPDATE poll_hosts SET
    host_id = coalesce(%(host_id)s, host_id),
    listed_at = coalesce(%(listed_at)s, listed_at),
    due_at = %(due_at)s,
    outcome = %(outcome)s
WHERE account_id = %(account_id)s AND host = %(host)s;

-- name: forget_same_host
-- A host that is known by its e-mail need not be asked for by its id besides.
DELETE FROM poll_hosts
WHERE account_id = %(account_id)s AND host = %(host_id)s AND host <> %(host)s;

-- name: find_listed
-- What is known of rooms that a list shows.
SELECT r.zoom_id, r.shown, v.listed,
    NOT r.permanently_deleted AND NOT is_there(r.permanently_deleted, r.said, r.said_at, r.gone_since, r.proven_at) AS gone
FROM room_states AS r
LEFT JOIN poll_rooms AS v ON v.account_id = r.account_id AND v.zoom_id = r.zoom_id
WHERE r.account_id = %(account_id)s AND r.zoom_id = ANY(%(zoom_ids)s::text[]) AND r.revision >= 0;

-- name: find_unlisted
-- Rooms of a host that are yet to be used, so that a whole list must show them, and that it does not show.
WITH own AS (
    SELECT r.zoom_id
    FROM room_states AS r
    WHERE r.account_id = %(account_id)s AND r.host_id = ANY(%(host_ids)s::text[]) AND r.start_at > %(asked_at)s
    UNION
    SELECT m.zoom_id
    FROM meetings AS m
    WHERE m.account_id = %(account_id)s AND m.host = %(host)s AND m.ends_at > %(asked_at)s
      AND m.room_status = 'ready' AND m.zoom_id IS NOT NULL
)
SELECT r.zoom_id
FROM own
JOIN room_states AS r ON r.account_id = %(account_id)s AND r.zoom_id = own.zoom_id
LEFT JOIN poll_rooms AS v ON v.account_id = r.account_id AND v.zoom_id = r.zoom_id
WHERE NOT r.zoom_id = ANY(%(zoom_ids)s::text[])
  AND is_there(r.permanently_deleted, r.said, r.said_at, r.gone_since, r.proven_at)
  AND r.proven_at < %(asked_at)s::timestamptz - %(slow)s::interval
  AND (v.got_at IS NULL OR v.listed IS DISTINCT FROM 'missing' OR v.got_at < %(asked_at)s::timestamptz - interval '1 day')
ORDER BY r.zoom_id
LIMIT %(rows)s;

-- name: note_suspicions
-- What a list shows of rooms; a suspicion that stands is kept as it is.
INSERT INTO poll_rooms AS stored (account_id, zoom_id, suspicion, suspected_at, listed)
SELECT %(account_id)s, found.zoom_id, found.suspicion, %(now)s, found.listed
FROM unnest(%(zoom_ids)s::text[], %(suspicions)s::text[], %(listed)s::text[]) AS found (zoom_id, suspicion, listed)
ON CONFLICT (account_id, zoom_id) DO UPDATE SET
    suspicion = excluded.suspicion, suspected_at = excluded.suspected_at, listed = excluded.listed
WHERE stored.suspicion IS DISTINCT FROM excluded.suspicion;
