-- name: record_commands
-- Commands before they are produced; gives those whose ids were not taken.
INSERT INTO commands (
    command_id, account_id, meeting_id, command, idempotency_key, request_hash, accepted_at, details, registrant_key
)
SELECT *
FROM unnest(
    %(command_id)s::uuid[], %(account_id)s::text[], %(meeting_id)s::uuid[], %(command)s::text[],
    %(idempotency_key)s::text[], %(request_hash)s::bytea[], %(at)s::timestamptz[], %(details)s::jsonb[],
    %(registrant_key)s::uuid[]
)
ON CONFLICT DO NOTHING
RETURNING command_id;

-- name: find_recorded
-- Commands of an account by their ids.
SELECT command_id, request_hash, accepted_at, produced_at, status
FROM commands
WHERE account_id = %(account_id)s AND command_id = ANY(%(command_ids)s::uuid[]);

-- name: find_command
-- One command of an account, whoever made it.
SELECT command_id, account_id, meeting_id, command, idempotency_key, request_hash, accepted_at, produced_at,
       status, code, message, version, decided_at, registrant_key
FROM commands
WHERE account_id = %(account_id)s AND command_id = %(command_id)s;

-- name: mark_produced
-- The broker has these commands.
UPDATE commands SET produced_at = %(at)s
WHERE command_id = ANY(%(command_ids)s::uuid[]) AND produced_at IS NULL;

-- name: find_outcome
-- What became of a command, and its meeting as it is now.
SELECT c.status, c.code, c.message, c.version, m.state
FROM commands c
LEFT JOIN meetings m ON m.account_id = c.account_id AND m.meeting_id = c.meeting_id
WHERE c.account_id = %(account_id)s AND c.command_id = %(command_id)s;

-- name: find_registrant_outcomes
-- What became of commands about registrants, and the people as they are now.
SELECT c.command_id, c.status, c.code, c.message, r.state, CASE WHEN m.room_status = 'ready' THEN m.zoom_id END AS room
FROM commands c
LEFT JOIN registrants r USING (account_id, meeting_id, registrant_key)
LEFT JOIN meetings m USING (account_id, meeting_id)
WHERE c.account_id = %(account_id)s AND c.command_id = ANY(%(command_ids)s::uuid[]);

-- name: listen
-- The projector tells here, with the meeting's id, that a meeting has changed.
LISTEN roomkeeper_meetings;
