-- name: find_token
-- An account's newest token, and how its last renewal went.
SELECT sealed, expires_at, failed_at, refused FROM zoom_tokens WHERE account_id = %(account_id)s;

-- name: lock_token
-- The right to renew an account's token; it ends with the transaction, or with the session that held it.
SELECT pg_advisory_xact_lock(hashtextextended('roomkeeper zoom token ' || %(account_id)s, 0));

-- name: limit_lock_wait
-- Whoever waits longer than so many milliseconds for a lock goes without.
SELECT set_config('lock_timeout', %(ms)s, true);

-- name: store_token
-- The newest token.
INSERT INTO zoom_tokens (account_id, sealed, expires_at, failed_at, refused)
VALUES (%(account_id)s, %(sealed)s, %(expires_at)s, NULL, false)
ON CONFLICT (account_id) DO UPDATE SET
    sealed = excluded.sealed, expires_at = excluded.expires_at, failed_at = NULL, refused = false;

-- name: note_token_failure
-- A renewal that failed; the token before it may still be good.
INSERT INTO zoom_tokens (account_id, failed_at, refused)
VALUES (%(account_id)s, %(now)s, %(refused)s)
ON CONFLICT (account_id) DO UPDATE SET failed_at = excluded.failed_at, refused = excluded.refused;

-- name: raise_alert
-- An alert, unless it stands already.
INSERT INTO alerts (name, account_id, since_at, message)
VALUES (%(name)s, %(account_id)s, %(now)s, %(message)s)
ON CONFLICT DO NOTHING
RETURNING name;

-- name: end_alert
-- The alert is over.
UPDATE alerts SET until_at = greatest(%(now)s, since_at)
WHERE name = %(name)s AND account_id = %(account_id)s AND until_at IS NULL
RETURNING name;

-- name: reserve_slot
-- The next free moment for a call of this label, taken at once; none where it lies further away than the caller waits.
INSERT INTO rate_slots AS stored (account_id, label, free_at)
VALUES (%(account_id)s, %(label)s, clock_timestamp() + %(spacing)s::interval)
ON CONFLICT (account_id, label) DO UPDATE SET
    free_at = greatest(stored.free_at, clock_timestamp()) + %(spacing)s::interval
    WHERE stored.free_at <= clock_timestamp() + %(patience)s::interval
RETURNING greatest(extract(epoch FROM stored.free_at - %(spacing)s::interval - clock_timestamp()), 0)::float8 AS wait_seconds;

-- name: reserve_day
-- One more of a budget of the day; none where it is used up.
INSERT INTO daily_budgets AS stored (account_id, scope, name, day, used)
VALUES (%(account_id)s, %(scope)s, budget_name(%(account_id)s, %(scope)s, %(name)s), %(day)s, 1)
ON CONFLICT (account_id, scope, name, day) DO UPDATE SET used = stored.used + 1
    WHERE stored.used < %(most)s
RETURNING used;

-- name: give_back_day
-- A call that never left costs nothing.
UPDATE daily_budgets SET used = used - 1
WHERE account_id = %(account_id)s AND scope = %(scope)s AND day = %(day)s AND used > 0
  AND name = budget_name(%(account_id)s, %(scope)s, %(name)s);

-- name: exhaust_day
-- Zoom says that the budget is used up, whoever used it.
INSERT INTO daily_budgets AS stored (account_id, scope, name, day, used)
VALUES (%(account_id)s, %(scope)s, budget_name(%(account_id)s, %(scope)s, %(name)s), %(day)s, %(most)s)
ON CONFLICT (account_id, scope, name, day) DO UPDATE SET used = greatest(stored.used, excluded.used);

-- name: learn_host
-- An e-mail address, or another way to say it, names this host: what was drawn under it counts for the host.
WITH learnt AS (
    INSERT INTO zoom_hosts AS stored (account_id, alias, host_id)
    VALUES (%(account_id)s, lower(%(alias)s), %(host_id)s)
    ON CONFLICT (account_id, alias) DO UPDATE SET host_id = excluded.host_id
    RETURNING account_id, host_id
),
drawn AS (
    DELETE FROM daily_budgets AS d USING learnt
    WHERE d.account_id = learnt.account_id AND d.scope = 'host' AND d.name IN (lower(%(alias)s), %(alias)s)
      AND d.name <> learnt.host_id
    RETURNING d.account_id, d.scope, learnt.host_id AS name, d.day, d.used
)
INSERT INTO daily_budgets AS stored (account_id, scope, name, day, used)
SELECT account_id, scope, name, day, used FROM drawn
ON CONFLICT (account_id, scope, name, day) DO UPDATE SET used = stored.used + excluded.used;

-- name: forget_days
-- Budgets of days gone by.
DELETE FROM daily_budgets WHERE day < %(day)s::date - 2;

-- name: find_breaker
-- An account's breaker, by the database's clock, which no process can turn back.
SELECT state, failures, greatest(extract(epoch FROM until_at - clock_timestamp()), 0)::float8 AS left_seconds
FROM zoom_breakers WHERE account_id = %(account_id)s;

-- name: take_probe
-- The one call that a breaker lets through when its pause is over, or when whoever had it never came back.
UPDATE zoom_breakers SET state = 'half_open', until_at = clock_timestamp() + %(probe)s::interval
WHERE account_id = %(account_id)s AND state <> 'closed' AND until_at <= clock_timestamp()
RETURNING account_id;

-- name: free_probe
-- A probe that was given up: the next one may go at once.
UPDATE zoom_breakers SET state = 'open', until_at = clock_timestamp()
WHERE account_id = %(account_id)s AND state = 'half_open';

-- name: count_failure
-- One more failure; the breaker opens at the limit, and a failed probe opens it again.
INSERT INTO zoom_breakers AS stored (account_id, state, failures, until_at)
VALUES (
    %(account_id)s,
    CASE WHEN %(limit)s <= 1 THEN 'open' ELSE 'closed' END,
    1,
    clock_timestamp() + %(pause)s::interval
)
ON CONFLICT (account_id) DO UPDATE SET
    failures = stored.failures + 1,
    state = CASE
        WHEN stored.state = 'half_open' OR stored.failures + 1 >= %(limit)s THEN 'open' ELSE stored.state
    END,
    until_at = CASE
        WHEN stored.state = 'open' THEN stored.until_at ELSE clock_timestamp() + %(pause)s::interval
    END
RETURNING state;

-- name: close_breaker
-- Zoom answers: everybody may call again.
UPDATE zoom_breakers SET state = 'closed', failures = 0
WHERE account_id = %(account_id)s AND (state <> 'closed' OR failures > 0)
RETURNING account_id;

-- name: gauge_accounts
-- Of each account: its room requests, breaker and alerts.
SELECT a.account_id, q.due, q.leased, q.later, q.oldest_at,
       coalesce((SELECT b.state FROM zoom_breakers AS b WHERE b.account_id = a.account_id), 'closed') AS breaker,
       ARRAY(SELECT w.name FROM alerts AS w WHERE w.account_id = a.account_id AND w.until_at IS NULL) AS alerts
FROM unnest(%(accounts)s::text[]) AS a (account_id)
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE r.leased_by IS NULL AND r.due_at <= %(now)s) AS due,
           count(*) FILTER (WHERE r.leased_by IS NOT NULL) AS leased,
           count(*) FILTER (WHERE r.leased_by IS NULL AND r.due_at > %(now)s) AS later,
           min(r.added_at) AS oldest_at
    FROM room_requests AS r
    WHERE r.account_id = a.account_id AND r.settled_at IS NULL
) AS q;

-- name: gauge_budgets
-- The most that anybody has drawn today, by account and scope; of labels each.
SELECT account_id, scope, CASE WHEN scope = 'label' THEN name ELSE '' END AS label, max(used) AS used
FROM daily_budgets
WHERE account_id = ANY(%(accounts)s::text[]) AND day = %(day)s
GROUP BY account_id, scope, CASE WHEN scope = 'label' THEN name ELSE '' END;
