-- name: create_key
-- A new API key, and the note of it in one statement.
WITH made AS (
    INSERT INTO api_keys (key_id, account_id, name, key_hash, created_at)
    VALUES (%(key_id)s, %(account_id)s, %(name)s, %(key_hash)s, %(at)s)
    RETURNING key_id, account_id, name
)
INSERT INTO audit (at, actor, verb, target, reason)
SELECT %(at)s, %(actor)s, 'key.create', key_id, 'for ' || account_id || ': ' || name FROM made;

-- name: list_keys
-- The keys of one account, or of all.
SELECT key_id, account_id, name, key_hash, created_at, revoked_at
FROM api_keys
WHERE %(account_id)s::text IS NULL OR account_id = %(account_id)s
ORDER BY created_at, key_id;

-- name: revoke_key
-- Takes a key out of force, and notes it; no row when there is no such key in force.
WITH revoked AS (
    UPDATE api_keys SET revoked_at = %(at)s
    WHERE key_id = %(key_id)s AND revoked_at IS NULL
    RETURNING key_id
)
INSERT INTO audit (at, actor, verb, target, reason)
SELECT %(at)s, %(actor)s, 'key.revoke', key_id, %(reason)s FROM revoked
RETURNING target;

-- name: find_key
-- One key by its id.
SELECT key_id, account_id, name, key_hash, created_at, revoked_at
FROM api_keys
WHERE key_id = %(key_id)s;
