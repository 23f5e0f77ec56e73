-- name: record_command
-- A command before it is produced; nothing when its id, or its key for this meeting, is taken.
INSERT INTO commands (command_id, account_id, meeting_id, command, idempotency_key, request_hash, accepted_at, details)
VALUES (%(command_id)s, %(account_id)s, %(meeting_id)s, %(command)s, %(idempotency_key)s, %(request_hash)s, %(at)s, %(details)s)
ON CONFLICT DO NOTHING
RETURNING command_id;

-- name: find_command
-- One command of an account, whoever made it.
SELECT command_id, account_id, meeting_id, command, idempotency_key, request_hash, accepted_at, produced_at,
       status, code, message, version, decided_at
FROM commands
WHERE account_id = %(account_id)s AND command_id = %(command_id)s;

-- name: mark_produced
-- The broker has the command.
UPDATE commands SET produced_at = %(at)s
WHERE command_id = %(command_id)s AND produced_at IS NULL;

-- name: find_outcome
-- What became of a command, and its meeting as it is now.
SELECT c.status, c.code, c.message, c.version, m.state
FROM commands c
LEFT JOIN meetings m ON m.account_id = c.account_id AND m.meeting_id = c.meeting_id
WHERE c.account_id = %(account_id)s AND c.command_id = %(command_id)s;

-- name: listen
-- The projector tells here, with the meeting's id, that a meeting has changed.
LISTEN roomkeeper_meetings;
