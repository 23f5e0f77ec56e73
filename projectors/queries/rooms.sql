-- name: stage_room_states
-- An empty table of this connection for rows of rooms.
CREATE TEMPORARY TABLE IF NOT EXISTS staged_room_states (LIKE room_states INCLUDING DEFAULTS) ON COMMIT DELETE ROWS;
DELETE FROM staged_room_states;

-- name: copy_room_states
-- Rows of rooms into it.
COPY staged_room_states (
    account_id, zoom_id, topic, host_id, start_at, duration_minutes, shown, said, said_at, permanently_deleted, gone_since,
    dates_listed_at, wants_get, generation, revision
) FROM STDIN;

-- name: upsert_room_states
-- What the newest entry of each room says; proofs stay as they are.
INSERT INTO room_states AS stored (
    account_id, zoom_id, topic, host_id, start_at, duration_minutes, shown, said, said_at, permanently_deleted, gone_since,
    dates_listed_at, wants_get, generation, revision
)
SELECT
    account_id, zoom_id, topic, host_id, start_at, duration_minutes, shown, said, said_at, permanently_deleted, gone_since,
    dates_listed_at, wants_get, generation, revision
FROM staged_room_states
ORDER BY account_id, zoom_id
ON CONFLICT (account_id, zoom_id) DO UPDATE SET
    topic = excluded.topic,
    host_id = excluded.host_id,
    start_at = excluded.start_at,
    duration_minutes = excluded.duration_minutes,
    shown = excluded.shown,
    said = excluded.said,
    said_at = excluded.said_at,
    permanently_deleted = excluded.permanently_deleted,
    gone_since = excluded.gone_since,
    dates_listed_at = excluded.dates_listed_at,
    wants_get = excluded.wants_get,
    generation = excluded.generation,
    revision = excluded.revision
WHERE (excluded.generation, excluded.revision) >= (stored.generation, stored.revision);

-- name: stage_room_proofs
-- An empty table of this connection for what entries prove of their rooms.
CREATE TEMPORARY TABLE IF NOT EXISTS staged_room_proofs (
    account_id text, zoom_id text, seen_at timestamptz, proven_at timestamptz
) ON COMMIT DELETE ROWS;
DELETE FROM staged_room_proofs;

-- name: copy_room_proofs
-- Proofs into it.
COPY staged_room_proofs (account_id, zoom_id, seen_at, proven_at) FROM STDIN;

-- name: upsert_room_proofs
-- When rooms were last heard of and last proven to exist: the greatest ever.
INSERT INTO room_states AS stored (account_id, zoom_id, last_seen_event_at, proven_at, generation, revision)
SELECT account_id, zoom_id, seen_at, proven_at, -1, -1
FROM staged_room_proofs
ORDER BY account_id, zoom_id
ON CONFLICT (account_id, zoom_id) DO UPDATE SET
    last_seen_event_at = greatest(stored.last_seen_event_at, excluded.last_seen_event_at),
    proven_at = greatest(stored.proven_at, excluded.proven_at)
WHERE excluded.last_seen_event_at > coalesce(stored.last_seen_event_at, '-infinity')
   OR excluded.proven_at > coalesce(stored.proven_at, '-infinity');

-- name: stage_run_states
-- An empty table of this connection for rows of runs.
CREATE TEMPORARY TABLE IF NOT EXISTS staged_run_states (LIKE run_states INCLUDING DEFAULTS) ON COMMIT DELETE ROWS;
DELETE FROM staged_run_states;

-- name: copy_run_states
-- Rows of runs into it.
COPY staged_run_states (
    account_id, zoom_id, uuid, shown, told_started, told_ended, start_carrier, told_started_at, ended_at, end_polled,
    generation, revision
) FROM STDIN;

-- name: upsert_run_states
-- What the newest entry of each run says; what participants prove stays as it is.
INSERT INTO run_states AS stored (
    account_id, zoom_id, uuid, shown, told_started, told_ended, start_carrier, told_started_at, ended_at, end_polled,
    generation, revision
)
SELECT
    account_id, zoom_id, uuid, shown, told_started, told_ended, start_carrier, told_started_at, ended_at, end_polled,
    generation, revision
FROM staged_run_states
ORDER BY account_id, zoom_id, uuid
ON CONFLICT (account_id, zoom_id, uuid) DO UPDATE SET
    shown = excluded.shown,
    told_started = excluded.told_started,
    told_ended = excluded.told_ended,
    start_carrier = excluded.start_carrier,
    told_started_at = excluded.told_started_at,
    ended_at = excluded.ended_at,
    end_polled = excluded.end_polled,
    generation = excluded.generation,
    revision = excluded.revision
WHERE (excluded.generation, excluded.revision) >= (stored.generation, stored.revision);

-- name: stage_run_proofs
-- An empty table of this connection for what participants prove of their runs.
CREATE TEMPORARY TABLE IF NOT EXISTS staged_run_proofs (
    account_id text, zoom_id text, uuid text, witnessed boolean, started_at timestamptz
) ON COMMIT DELETE ROWS;
DELETE FROM staged_run_proofs;

-- name: copy_run_proofs
-- Proofs into it.
COPY staged_run_proofs (account_id, zoom_id, uuid, witnessed, started_at) FROM STDIN;

-- name: upsert_run_proofs
-- That and when runs started, as their participants prove: the earliest ever.
INSERT INTO run_states AS stored (account_id, zoom_id, uuid, witnessed, witnessed_started_at, generation, revision)
SELECT account_id, zoom_id, uuid, witnessed, started_at, -1, -1
FROM staged_run_proofs
ORDER BY account_id, zoom_id, uuid
ON CONFLICT (account_id, zoom_id, uuid) DO UPDATE SET
    witnessed = stored.witnessed OR excluded.witnessed,
    witnessed_started_at = least(stored.witnessed_started_at, excluded.witnessed_started_at)
WHERE excluded.witnessed > stored.witnessed
   OR excluded.witnessed_started_at < coalesce(stored.witnessed_started_at, 'infinity');

-- name: stage_connections
-- An empty table of this connection for rows of connections.
CREATE TEMPORARY TABLE IF NOT EXISTS staged_connections (LIKE connections INCLUDING DEFAULTS) ON COMMIT DELETE ROWS;
DELETE FROM staged_connections;

-- name: copy_connections
-- Rows of connections into it.
COPY staged_connections (
    account_id, zoom_id, uuid, user_id, shown, is_report, name, registrant_id, zoom_user, customer_key, email, links, stays,
    orphan_leaves, in_lobby, generation, revision
) FROM STDIN;

-- name: upsert_connections
-- Connections as their newest entries have them.
INSERT INTO connections AS stored (
    account_id, zoom_id, uuid, user_id, shown, is_report, name, registrant_id, zoom_user, customer_key, email, links, stays,
    orphan_leaves, in_lobby, generation, revision
)
SELECT
    account_id, zoom_id, uuid, user_id, shown, is_report, name, registrant_id, zoom_user, customer_key, email, links, stays,
    orphan_leaves, in_lobby, generation, revision
FROM staged_connections
ORDER BY account_id, zoom_id, uuid, user_id
ON CONFLICT (account_id, zoom_id, uuid, user_id) DO UPDATE SET
    shown = excluded.shown,
    is_report = excluded.is_report,
    name = excluded.name,
    registrant_id = excluded.registrant_id,
    zoom_user = excluded.zoom_user,
    customer_key = excluded.customer_key,
    email = excluded.email,
    links = excluded.links,
    stays = excluded.stays,
    orphan_leaves = excluded.orphan_leaves,
    in_lobby = excluded.in_lobby,
    generation = excluded.generation,
    revision = excluded.revision
WHERE (excluded.generation, excluded.revision) >= (stored.generation, stored.revision);

-- name: stage_room_entries
-- An empty table of this connection for rows of what else belongs to rooms.
CREATE TEMPORARY TABLE IF NOT EXISTS staged_room_entries (LIKE room_entries INCLUDING DEFAULTS) ON COMMIT DELETE ROWS;
DELETE FROM staged_room_entries;

-- name: copy_room_entries
-- Rows of it into it.
COPY staged_room_entries (
    account_id, zoom_id, kind, entry_key, shown, gone, proven_at, generation, revision
) FROM STDIN;

-- name: upsert_room_entries
-- Dates, registrants, recordings and unknown facts as their newest entries have them.
INSERT INTO room_entries AS stored (
    account_id, zoom_id, kind, entry_key, shown, gone, proven_at, generation, revision
)
SELECT account_id, zoom_id, kind, entry_key, shown, gone, proven_at, generation, revision
FROM staged_room_entries
ORDER BY account_id, zoom_id, kind, entry_key
ON CONFLICT (account_id, zoom_id, kind, entry_key) DO UPDATE SET
    shown = excluded.shown,
    gone = excluded.gone,
    proven_at = excluded.proven_at,
    generation = excluded.generation,
    revision = excluded.revision
WHERE (excluded.generation, excluded.revision) >= (stored.generation, stored.revision);
