-- name: list_alerts
-- What is wrong at the moment, for an account or for all.
SELECT name, since_at, message
FROM alerts
WHERE until_at IS NULL AND account_id IN (%(account_id)s, '')
ORDER BY since_at, name;

-- name: find_queue
-- The account's room work: how much waits, since when, what is tried next, and whether it waits for a gateway.
SELECT count(*) AS depth,
       count(*) FILTER (WHERE leased_by IS NULL AND due_at <= %(now)s) AS due,
       min(added_at) AS oldest_at,
       min(due_at) FILTER (WHERE leased_by IS NULL) AS next_attempt_at,
       coalesce(bool_or(outcome = 'provider_unavailable'), false) AS without_provider
FROM room_requests
WHERE account_id = %(account_id)s AND settled_at IS NULL;

-- name: find_breaker
-- The account's circuit breaker; no row while it never opened.
SELECT state FROM zoom_breakers WHERE account_id = %(account_id)s;

-- name: list_pauses
-- Whom nobody calls for, and until when.
SELECT scope, host, since_at, until_at, reason
FROM parked
WHERE account_id = %(account_id)s AND until_at > %(now)s
ORDER BY scope, until_at DESC, host
LIMIT 100;
