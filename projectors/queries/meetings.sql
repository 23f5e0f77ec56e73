-- name: upsert_meetings
-- Meetings as their newest events left them; gives those that were not newer already.
INSERT INTO meetings AS stored (
    account_id, meeting_id, version, status, host, topic, start_at, duration_minutes, ends_at, room_status, zoom_id,
    problem_code, state, created_at, changed_at, generation, revision
)
SELECT *
FROM unnest(
    %(account_id)s::text[], %(meeting_id)s::uuid[], %(version)s::bigint[], %(status)s::text[], %(host)s::text[],
    %(topic)s::text[], %(start_at)s::timestamptz[], %(duration_minutes)s::integer[], %(ends_at)s::timestamptz[],
    %(room_status)s::text[], %(zoom_id)s::text[], %(problem_code)s::text[], %(state)s::bytea[], %(created_at)s::timestamptz[],
    %(changed_at)s::timestamptz[], %(generation)s::integer[], %(revision)s::bigint[]
)
ON CONFLICT (account_id, meeting_id) DO UPDATE SET
    version = excluded.version,
    status = excluded.status,
    host = excluded.host,
    topic = excluded.topic,
    start_at = excluded.start_at,
    duration_minutes = excluded.duration_minutes,
    ends_at = excluded.ends_at,
    room_status = excluded.room_status,
    zoom_id = excluded.zoom_id,
    problem_code = excluded.problem_code,
    state = excluded.state,
    created_at = excluded.created_at,
    changed_at = excluded.changed_at,
    generation = excluded.generation,
    revision = excluded.revision
WHERE (excluded.generation, excluded.revision) >= (stored.generation, stored.revision)
RETURNING account_id, meeting_id;

-- name: note_hosts
-- Hosts under whom rooms are wanted: their lists will be swept.
INSERT INTO swept_hosts (account_id, host, due_at)
SELECT DISTINCT h.account_id, h.host, clock_timestamp()
FROM unnest(%(account_id)s::text[], %(host)s::text[]) AS h (account_id, host)
ORDER BY h.account_id, h.host
ON CONFLICT DO NOTHING;

-- name: release_requests
-- Rows whose last claim was answered: they end, settled or not. A row that was claimed again since stays.
DELETE FROM room_requests AS r
USING unnest(%(account_id)s::text[], %(provider_key)s::text[], %(epoch)s::bigint[]) AS e (account_id, provider_key, epoch)
WHERE r.account_id = e.account_id AND r.provider_key = e.provider_key AND r.epoch = e.epoch;

-- name: upsert_registrants
-- Registrants as their newest events left them; gives those that were not newer already.
INSERT INTO registrants AS stored (
    account_id, meeting_id, registrant_key, email, status, zoom_id, registrant_id, problem_code, state, created_at,
    generation, revision
)
SELECT *
FROM unnest(
    %(account_id)s::text[], %(meeting_id)s::uuid[], %(registrant_key)s::uuid[], %(email)s::text[], %(status)s::text[],
    %(zoom_id)s::text[], %(registrant_id)s::text[], %(problem_code)s::text[], %(state)s::bytea[],
    %(created_at)s::timestamptz[], %(generation)s::integer[], %(revision)s::bigint[]
)
ON CONFLICT (account_id, meeting_id, registrant_key) DO UPDATE SET
    email = excluded.email,
    status = excluded.status,
    zoom_id = excluded.zoom_id,
    registrant_id = excluded.registrant_id,
    problem_code = excluded.problem_code,
    state = excluded.state,
    created_at = excluded.created_at,
    generation = excluded.generation,
    revision = excluded.revision
WHERE (excluded.generation, excluded.revision) >= (stored.generation, stored.revision)
RETURNING account_id, meeting_id, registrant_key;

-- name: note_moved
-- People of these meetings who are registered for another room than the meeting has now.
UPDATE registrants AS r SET moved = true
FROM unnest(%(account_id)s::text[], %(meeting_id)s::uuid[]) AS w (account_id, meeting_id)
JOIN meetings AS m USING (account_id, meeting_id)
WHERE r.account_id = w.account_id AND r.meeting_id = w.meeting_id AND m.room_status = 'ready'
  AND r.zoom_id <> m.zoom_id AND r.status IN ('approved', 'pending') AND NOT r.moved;

-- name: note_left_behind
-- These people, where their registration came to be for a room that the meeting has no more.
UPDATE registrants AS r SET moved = true
FROM unnest(%(account_id)s::text[], %(meeting_id)s::uuid[], %(registrant_key)s::uuid[])
    AS w (account_id, meeting_id, registrant_key)
JOIN meetings AS m USING (account_id, meeting_id)
WHERE r.account_id = w.account_id AND r.meeting_id = w.meeting_id AND r.registrant_key = w.registrant_key
  AND m.room_status = 'ready' AND r.zoom_id <> m.zoom_id AND r.status IN ('approved', 'pending') AND NOT r.moved;

-- name: discard_requests
-- Rows of these meetings (lane ''), or of these registrants, that are no longer pending and for which nobody has called;
-- a started row sees its end.
DELETE FROM room_requests AS r
USING unnest(%(account_id)s::text[], %(meeting_id)s::uuid[], %(lane)s::text[]) AS m (account_id, meeting_id, lane)
WHERE r.account_id = m.account_id AND r.meeting_id = m.meeting_id
  AND CASE WHEN m.lane = '' THEN r.action IN ('create', 'update', 'cancel', 'remove') ELSE r.lane = m.lane END
  AND r.started_at IS NULL AND NOT r.retried
  AND NOT EXISTS (
      SELECT FROM unnest(%(pending_account)s::text[], %(pending_key)s::text[]) AS p (account_id, provider_key)
      WHERE p.account_id = r.account_id AND p.provider_key = r.provider_key
  );

-- name: upsert_requests
-- Rows for pending work; of one that is there only its room may become known. Those that a rebuild makes are retried.
INSERT INTO room_requests AS stored (
    account_id, meeting_id, provider_key, action, lane, n, host, zoom_id, added_at, due_at, retried
)
SELECT w.*, least(w.added_at, clock_timestamp()), %(retried)s
FROM unnest(
    %(account_id)s::text[], %(meeting_id)s::uuid[], %(provider_key)s::text[], %(action)s::text[], %(lane)s::text[],
    %(n)s::bigint[], %(host)s::text[], %(zoom_id)s::text[], %(added_at)s::timestamptz[]
) AS w (account_id, meeting_id, provider_key, action, lane, n, host, zoom_id, added_at)
ON CONFLICT (account_id, provider_key) DO UPDATE SET zoom_id = excluded.zoom_id
WHERE stored.zoom_id IS DISTINCT FROM excluded.zoom_id;

-- name: answer_commands
-- What became of callers' commands. A command that came by another way than ingress gets its row here.
INSERT INTO commands AS stored (
    command_id, account_id, meeting_id, command, request_hash, accepted_at, status, code, message, version, decided_at,
    generation, revision
)
SELECT *
FROM unnest(
    %(command_id)s::uuid[], %(account_id)s::text[], %(meeting_id)s::uuid[], %(command)s::text[],
    %(request_hash)s::bytea[], %(decided_at)s::timestamptz[], %(status)s::text[], %(code)s::text[], %(message)s::text[],
    %(version)s::bigint[], %(decided_at)s::timestamptz[], %(generation)s::integer[], %(revision)s::bigint[]
)
ON CONFLICT (command_id) DO UPDATE SET
    status = excluded.status,
    code = excluded.code,
    message = excluded.message,
    version = excluded.version,
    decided_at = excluded.decided_at,
    generation = excluded.generation,
    revision = excluded.revision
WHERE stored.account_id = excluded.account_id AND stored.request_hash = excluded.request_hash
  AND (excluded.generation, excluded.revision) >= (coalesce(stored.generation, -1), coalesce(stored.revision, -1));

-- name: refuse_conflicts
-- Commands that were recorded under an id which another command had already: only a row with the same content is theirs.
UPDATE commands AS stored SET status = 'rejected', code = %(code)s, message = c.message, decided_at = c.decided_at
FROM unnest(
    %(command_id)s::uuid[], %(account_id)s::text[], %(request_hash)s::bytea[], %(message)s::text[],
    %(decided_at)s::timestamptz[]
) AS c (command_id, account_id, request_hash, message, decided_at)
WHERE stored.command_id = c.command_id AND stored.account_id = c.account_id
  AND stored.request_hash = c.request_hash AND stored.status = 'pending';

-- name: notify_meetings
-- Tells whoever waits for these meetings, and the room workers, when this transaction commits.
SELECT pg_notify('roomkeeper_meetings', meeting_id::text) FROM unnest(%(meeting_id)s::uuid[]) AS m (meeting_id);

-- name: notify_requests
-- Tells the room workers that there may be work.
SELECT pg_notify('roomkeeper_room_requests', '');

-- name: renew_epochs
-- Moves the epochs past every one given before, whatever backup the database came from.
SELECT setval(
    'room_request_epochs',
    greatest((extract(epoch FROM clock_timestamp()) * 1000000)::bigint, nextval('room_request_epochs'))
);

-- name: doubt_meetings
-- After a rebuild nobody knows which calls are under way: each meeting's room is read back for a while.
INSERT INTO unsure_meetings AS stored (account_id, meeting_id, since_at, until_at, due_at)
SELECT m.account_id, m.meeting_id, clock_timestamp(), clock_timestamp() + interval '20 minutes', clock_timestamp()
FROM unnest(%(account_id)s::text[], %(meeting_id)s::uuid[]) AS m (account_id, meeting_id)
ON CONFLICT (account_id, meeting_id) DO UPDATE SET
    until_at = greatest(stored.until_at, excluded.until_at),
    due_at = least(stored.due_at, excluded.due_at);
