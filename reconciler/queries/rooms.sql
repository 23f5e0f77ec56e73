-- name: claim_requests
-- Takes due rows under a lease with a fresh epoch: accounts by turns, the oldest of each first, none while an earlier row
-- of its meeting and lane exists. A row whose lease ran out in the middle of a call is of unknown outcome from now on; one
-- that was settled and is still here counts as retried.
WITH candidates AS (
    SELECT c.account_id, c.provider_key, c.due_at,
           row_number() OVER (PARTITION BY c.account_id ORDER BY c.due_at) AS turn
    FROM unnest(%(accounts)s::text[]) AS a (account_id)
    CROSS JOIN LATERAL (
        SELECT r.account_id, r.provider_key, r.due_at
        FROM room_requests AS r
        WHERE r.account_id = a.account_id AND r.due_at <= %(now)s
          AND NOT EXISTS (
              SELECT FROM room_requests AS earlier
              WHERE earlier.account_id = r.account_id AND earlier.meeting_id = r.meeting_id
                AND earlier.lane = r.lane AND earlier.n < r.n
          )
          AND (r.action NOT IN ('register', 'approve', 'deny', 'unregister') OR NOT EXISTS (
              SELECT FROM room_requests AS needed  -- a registrant needs the room
              WHERE needed.account_id = r.account_id AND needed.meeting_id = r.meeting_id
                AND needed.lane = '' AND needed.action IN ('create', 'cancel')
          ))
          AND (r.action NOT IN ('approve', 'deny', 'unregister') OR NOT EXISTS (
              SELECT FROM room_requests AS same  -- decisions go together: the first of them takes the others along
              WHERE same.account_id = r.account_id AND same.meeting_id = r.meeting_id AND same.action = r.action
                AND (
                    (same.leased_by IS NOT NULL AND same.due_at > %(now)s)
                    OR ((same.due_at, same.provider_key) < (r.due_at, r.provider_key) AND NOT EXISTS (
                        SELECT FROM room_requests AS before
                        WHERE before.account_id = same.account_id AND before.meeting_id = same.meeting_id
                          AND before.lane = same.lane AND before.n < same.n
                    ))
                )
          ))
          AND NOT EXISTS (
              SELECT FROM parked AS p
              WHERE p.account_id = r.account_id AND p.until_at > %(now)s
                AND (p.scope = 'account'
                     OR (p.scope = 'creates' AND r.action = 'create')
                     OR (p.scope = 'host' AND p.host = r.host AND r.action IN ('create', 'update')))
          )
        ORDER BY r.due_at
        LIMIT greatest(200, 4 * %(rows)s)  -- more than one worker takes, for other workers look at the same rows
    ) AS c
),
due AS (
    -- Row by row, so that no more are locked than are taken; said so that rows are found by their key, not by the time.
    SELECT free.account_id, free.provider_key
    FROM (SELECT account_id, provider_key FROM candidates ORDER BY turn, due_at) AS c
    CROSS JOIN LATERAL (
        SELECT r.account_id, r.provider_key
        FROM room_requests AS r
        WHERE r.account_id = c.account_id AND r.provider_key = c.provider_key
          AND r.due_at - %(now)s <= interval '0'
        FOR UPDATE SKIP LOCKED
    ) AS free
    LIMIT %(rows)s
),
claimed AS (
    UPDATE room_requests AS r SET
        epoch = nextval('room_request_epochs'),
        leased_by = %(worker)s,
        due_at = %(lease_end)s,
        retried = r.retried OR r.settled_at IS NOT NULL,
        settled_at = NULL,
        unknown_at = CASE
            WHEN r.leased_by IS NOT NULL AND r.started_at IS NOT NULL THEN %(now)s
            WHEN r.retried OR r.settled_at IS NOT NULL THEN coalesce(r.unknown_at, %(now)s)
            ELSE r.unknown_at
        END,
        looks = CASE WHEN r.leased_by IS NOT NULL AND r.started_at IS NOT NULL THEN 0 ELSE r.looks END
    FROM due
    WHERE r.account_id = due.account_id AND r.provider_key = due.provider_key
    RETURNING r.*
),
doubted AS (
    -- Calls of an earlier claim may be under way: the room is read back until they cannot be any more.
    INSERT INTO unsure_meetings AS stored (account_id, meeting_id, since_at, until_at, due_at)
    SELECT DISTINCT c.account_id, c.meeting_id, %(now)s::timestamptz, %(unsure_until)s::timestamptz, %(now)s::timestamptz
    FROM claimed AS c
    WHERE (c.started_at IS NOT NULL OR c.retried) AND c.action IN ('create', 'update', 'cancel', 'remove')
    ON CONFLICT (account_id, meeting_id) DO UPDATE SET until_at = greatest(stored.until_at, excluded.until_at)
)
SELECT c.account_id, c.meeting_id::text, c.provider_key, c.action, c.lane, c.n, c.host, c.zoom_id, c.added_at, c.epoch, c.attempts,
       c.looks, c.started_at, c.unknown_at, c.retried, m.state,
       CASE WHEN c.lane <> '' THEN (
           SELECT g.state FROM registrants AS g
           WHERE g.account_id = c.account_id AND g.meeting_id = c.meeting_id AND g.registrant_key::text = c.lane
       ) END AS registrant_state
FROM claimed AS c
CROSS JOIN LATERAL (
    SELECT meetings.state FROM meetings WHERE meetings.account_id = c.account_id AND meetings.meeting_id = c.meeting_id LIMIT 1
) AS m
ORDER BY c.n;

-- name: claim_siblings
-- Takes further due rows that decide the same about other registrants of a meeting, so that one call serves them all.
WITH due AS (
    SELECT r.account_id, r.provider_key
    FROM room_requests AS r
    WHERE r.account_id = %(account_id)s AND r.meeting_id = %(meeting_id)s AND r.action = %(action)s
      AND r.due_at <= %(now)s
      AND NOT EXISTS (
          SELECT FROM room_requests AS earlier
          WHERE earlier.account_id = r.account_id AND earlier.meeting_id = r.meeting_id
            AND earlier.lane = r.lane AND earlier.n < r.n
      )
    ORDER BY r.due_at
    LIMIT %(rows)s
    FOR UPDATE OF r SKIP LOCKED
),
claimed AS (
    UPDATE room_requests AS r SET
        epoch = nextval('room_request_epochs'),
        leased_by = %(worker)s,
        due_at = %(lease_end)s,
        retried = r.retried OR r.settled_at IS NOT NULL,
        settled_at = NULL
    FROM due
    WHERE r.account_id = due.account_id AND r.provider_key = due.provider_key
    RETURNING r.*
)
SELECT c.*, m.state, g.state AS registrant_state
FROM claimed AS c
JOIN meetings AS m USING (account_id, meeting_id)
LEFT JOIN registrants AS g
    ON g.account_id = c.account_id AND g.meeting_id = c.meeting_id AND g.registrant_key::text = c.lane
ORDER BY c.added_at;

-- name: claim_unavailable
-- Takes rows of accounts without a gateway that have not been told so yet. No lease holds them: nobody will call.
WITH due AS (
    SELECT r.account_id, r.provider_key
    FROM room_requests AS r
    WHERE r.due_at <= %(now)s
      AND NOT r.account_id = ANY(%(accounts)s::text[])
      AND r.outcome IS DISTINCT FROM 'provider_unavailable'
    ORDER BY r.due_at
    LIMIT %(rows)s
    FOR UPDATE OF r SKIP LOCKED
)
UPDATE room_requests AS r SET
    epoch = nextval('room_request_epochs'), leased_by = %(worker)s, due_at = %(lease_end)s
FROM due
WHERE r.account_id = due.account_id AND r.provider_key = due.provider_key
RETURNING r.*, (
    SELECT g.email FROM registrants AS g
    WHERE g.account_id = r.account_id AND g.meeting_id = r.meeting_id AND g.registrant_key::text = r.lane
) AS email;

-- name: start_requests
-- Marks that calls are about to be made, where the claims still hold; nothing otherwise. Their leases begin anew, but for
-- those that are fresh: a row whose indexed columns stay as they are is the cheaper to write.
WITH held AS (
    SELECT r.account_id, r.provider_key, mine.counted
    FROM (
        SELECT *
        FROM json_to_recordset(%(claims)s::json)
            AS given (account_id text, provider_key text, epoch bigint, counted integer)
        ORDER BY given.account_id, given.provider_key
    ) AS mine
    CROSS JOIN LATERAL (
        SELECT stored.account_id, stored.provider_key
        FROM room_requests AS stored
        WHERE stored.account_id = mine.account_id AND stored.provider_key = mine.provider_key AND stored.epoch = mine.epoch
        FOR UPDATE
    ) AS r
)
UPDATE room_requests AS r SET
    started_at = coalesce(r.started_at, %(now)s),
    started_epoch = coalesce(r.started_epoch, r.epoch),
    attempts = r.attempts + held.counted,
    due_at = CASE WHEN r.due_at < %(fresh_end)s THEN %(lease_end)s ELSE r.due_at END
FROM held
WHERE r.account_id = held.account_id AND r.provider_key = held.provider_key
RETURNING r.epoch;

-- name: hold_requests
-- Those claims that still hold.
SELECT mine.epoch
FROM json_to_recordset(%(claims)s::json) AS mine (account_id text, provider_key text, epoch bigint)
CROSS JOIN LATERAL (
    SELECT FROM room_requests AS r
    WHERE r.account_id = mine.account_id AND r.provider_key = mine.provider_key AND r.epoch = mine.epoch
    LIMIT 1
) AS held;

-- name: renew_leases
-- Prolongs leases that are still held; a row that somebody has locked is left for the next time.
WITH held AS (
    SELECT r.account_id, r.provider_key
    FROM room_requests AS r
    JOIN unnest(%(account_id)s::text[], %(provider_key)s::text[], %(epoch)s::bigint[])
        AS mine (account_id, provider_key, epoch)
        ON r.account_id = mine.account_id AND r.provider_key = mine.provider_key AND r.epoch = mine.epoch
    WHERE r.settled_at IS NULL AND r.leased_by IS NOT NULL
    FOR UPDATE OF r SKIP LOCKED
)
UPDATE room_requests AS r SET due_at = %(lease_end)s
FROM held
WHERE r.account_id = held.account_id AND r.provider_key = held.provider_key;

-- name: settle_requests
-- Notes that these outcomes are in Kafka. A row goes when its outcome is answered, maybe at this moment, and then it is
-- passed over; should that never be, it is due again.
WITH held AS (
    SELECT r.account_id, r.provider_key, mine.outcome, mine.error_code, mine.error_message
    FROM json_to_recordset(%(claims)s::json) AS mine (
        account_id text, provider_key text, epoch bigint, outcome text, error_code text, error_message text
    )
    CROSS JOIN LATERAL (
        SELECT stored.account_id, stored.provider_key
        FROM room_requests AS stored
        WHERE stored.account_id = mine.account_id AND stored.provider_key = mine.provider_key AND stored.epoch = mine.epoch
        FOR UPDATE SKIP LOCKED
    ) AS r
)
UPDATE room_requests AS r SET
    settled_at = %(now)s, due_at = %(again_at)s, leased_by = NULL,
    outcome = held.outcome, error_code = held.error_code, error_message = held.error_message
FROM held
WHERE r.account_id = held.account_id AND r.provider_key = held.provider_key
RETURNING r.epoch;

-- name: keep_request
-- Gives the row back to be tried again later. A call that had no effect leaves it as if it had never been made.
UPDATE room_requests SET
    due_at = %(due_at)s, leased_by = NULL,
    outcome = %(outcome)s, error_code = %(error_code)s, error_message = %(error_message)s,
    attempts = greatest(attempts + %(attempts)s, 0),
    looks = %(looks)s,
    unknown_at = coalesce(%(unknown_at)s::timestamptz, unknown_at),
    started_at = CASE WHEN %(harmless)s AND started_epoch = epoch THEN NULL ELSE started_at END,
    started_epoch = CASE WHEN %(harmless)s AND started_epoch = epoch THEN NULL ELSE started_epoch END
WHERE account_id = %(account_id)s AND provider_key = %(provider_key)s AND epoch = %(epoch)s
RETURNING epoch;

-- name: announced_rooms
-- Rooms that webhooks announced since a moment and that are no meeting's, of a host or under a topic, for the host may
-- be known by another name than Zoom's, and the topic may have changed: one may carry a key. The host's come first: a
-- topic such as Zoom's own may be that of many.
SELECT r.zoom_id
FROM room_states AS r
WHERE r.account_id = %(account_id)s AND r.last_seen_event_at >= %(since_at)s
  AND (r.topic = %(topic)s OR r.host_id = budget_name(%(account_id)s, 'host', %(host)s))
  AND NOT EXISTS (
      SELECT FROM meetings AS m WHERE m.account_id = r.account_id AND m.zoom_id = r.zoom_id
  )
ORDER BY r.host_id = budget_name(%(account_id)s, 'host', %(host)s) DESC NULLS LAST, r.last_seen_event_at DESC
LIMIT 20;

-- name: find_state
-- A meeting, whole.
SELECT state FROM meetings WHERE account_id = %(account_id)s AND meeting_id = %(meeting_id)s;

-- name: park
-- Calls nobody for a while; the longer of two reasons holds.
INSERT INTO parked AS stored (account_id, scope, host, since_at, until_at, reason)
VALUES (%(account_id)s, %(scope)s, %(host)s, %(now)s, %(until_at)s, %(reason)s)
ON CONFLICT (account_id, scope, host) DO UPDATE SET
    until_at = greatest(stored.until_at, excluded.until_at),
    reason = CASE WHEN excluded.until_at > stored.until_at THEN excluded.reason ELSE stored.reason END;

-- name: doubt_meeting
-- A room whose details nobody saw after the last call is read back for a while.
INSERT INTO unsure_meetings AS stored (account_id, meeting_id, since_at, until_at, due_at)
VALUES (%(account_id)s, %(meeting_id)s, %(now)s, %(until_at)s, %(now)s)
ON CONFLICT (account_id, meeting_id) DO UPDATE SET until_at = greatest(stored.until_at, excluded.until_at);

-- name: listen
-- The projector tells here that there may be work.
LISTEN roomkeeper_room_requests;

-- name: list_requests
-- Requests with their condition, those that are due first.
SELECT r.account_id, r.meeting_id, r.provider_key, r.action, r.host, r.zoom_id, r.added_at,
       CASE WHEN r.leased_by IS NULL AND r.settled_at IS NULL THEN r.due_at END AS next_attempt_at,
       r.attempts, r.outcome, r.error_code, r.error_message, r.leased_by,
       CASE WHEN r.leased_by IS NOT NULL THEN r.due_at END AS leased_until,
       CASE
           WHEN r.settled_at IS NOT NULL THEN 'settled'
           WHEN r.leased_by IS NOT NULL THEN 'leased'
           WHEN r.unknown_at IS NOT NULL THEN 'unknown'
           ELSE 'waiting'
       END AS condition
FROM room_requests AS r
WHERE (%(account_id)s::text IS NULL OR r.account_id = %(account_id)s)
  AND (%(meeting_id)s::uuid IS NULL OR r.meeting_id = %(meeting_id)s)
ORDER BY r.due_at, r.n
LIMIT %(rows)s;

-- name: count_waiting
-- How many requests wait, and when the next one is tried.
SELECT count(*) AS waiting, min(due_at) AS next_attempt_at
FROM room_requests
WHERE leased_by IS NULL AND settled_at IS NULL;

-- name: find_meetings
-- Meetings with this id, of whichever account.
SELECT account_id, state FROM meetings WHERE meeting_id::text = %(meeting_id)s;

-- name: hurry_requests
-- Makes a meeting's waiting requests due now; those in hand are left alone.
UPDATE room_requests SET due_at = least(due_at, %(now)s)
WHERE account_id = %(account_id)s AND meeting_id = %(meeting_id)s AND leased_by IS NULL AND settled_at IS NULL
RETURNING provider_key;

-- name: pause_account
-- Lets nobody claim requests of an account, or its creates, until it is resumed.
INSERT INTO parked AS stored (account_id, scope, host, since_at, until_at, reason)
VALUES (%(account_id)s, %(scope)s, '', %(now)s, '9999-12-31Z', %(reason)s)
ON CONFLICT (account_id, scope, host) DO UPDATE SET until_at = excluded.until_at, reason = excluded.reason;

-- name: resume_account
-- Lifts whatever keeps requests of an account from being claimed.
DELETE FROM parked WHERE account_id = %(account_id)s RETURNING scope;

-- name: note_verb
-- An operator's deed.
INSERT INTO audit (at, actor, verb, target, reason)
VALUES (%(now)s, %(actor)s, %(verb)s, %(target)s, %(reason)s);

-- name: claim_doubts
-- Meetings in doubt that are due for a read-back and have nothing pending; the next one is set at once, so that several
-- workers share them. `is_last` says that no call that put the room in doubt can be under way any more.
WITH due AS (
    SELECT u.account_id, u.meeting_id
    FROM unsure_meetings AS u
    WHERE u.due_at <= %(now)s
      AND u.account_id = ANY(%(accounts)s::text[])
      AND NOT EXISTS (
          SELECT FROM room_requests AS r
          WHERE r.account_id = u.account_id AND r.meeting_id = u.meeting_id AND r.lane = ''
      )
      AND NOT EXISTS (
          SELECT FROM parked AS p
          WHERE p.account_id = u.account_id AND p.scope = 'account' AND p.until_at > %(now)s
      )
    ORDER BY u.due_at
    LIMIT %(rows)s
    FOR UPDATE OF u SKIP LOCKED
)
UPDATE unsure_meetings AS u SET due_at = %(next_at)s
FROM due JOIN meetings AS m USING (account_id, meeting_id)
WHERE u.account_id = due.account_id AND u.meeting_id = due.meeting_id
RETURNING u.account_id, u.meeting_id, u.until_at <= %(now)s AS is_last, m.state;

-- name: end_doubt
-- The room is as the last call left it, unless somebody put it in doubt again.
DELETE FROM unsure_meetings
WHERE account_id = %(account_id)s AND meeting_id = %(meeting_id)s AND until_at <= %(now)s;

-- name: claim_hosts
-- Hosts that are due for a sweep; the next one is set at once.
WITH due AS (
    SELECT s.account_id, s.host
    FROM swept_hosts AS s
    WHERE s.due_at <= %(now)s
      AND s.account_id = ANY(%(accounts)s::text[])
      AND NOT EXISTS (
          SELECT FROM parked AS p
          WHERE p.account_id = s.account_id AND p.scope = 'account' AND p.until_at > %(now)s
      )
    ORDER BY s.due_at
    LIMIT %(rows)s
    FOR UPDATE OF s SKIP LOCKED
)
UPDATE swept_hosts AS s SET due_at = %(next_at)s, swept_at = %(now)s
FROM due
WHERE s.account_id = due.account_id AND s.host = due.host
RETURNING s.account_id, s.host;

-- name: forget_host
-- A host of whom nothing was asked for long is swept no more; none while a room of the account is in doubt, for a late
-- call may still make one under a host to whom no meeting belongs by now.
DELETE FROM swept_hosts AS s
WHERE s.account_id = %(account_id)s AND s.host = %(host)s
  AND NOT EXISTS (
      SELECT FROM meetings AS m
      WHERE m.account_id = s.account_id AND m.host = s.host AND m.ends_at > %(now)s::timestamptz - interval '30 days'
  )
  AND NOT EXISTS (SELECT FROM room_requests AS r WHERE r.account_id = s.account_id AND r.host = s.host)
  AND NOT EXISTS (SELECT FROM unsure_meetings AS u WHERE u.account_id = s.account_id);

-- name: find_states
-- Meetings of an account by their ids.
SELECT state FROM meetings WHERE account_id = %(account_id)s AND meeting_id = ANY(%(meeting_ids)s::uuid[]);

-- name: find_rooms_of_host
-- Meetings of a host that are not over, whose room is known and for which nothing is pending, with what is heard of the
-- room; those whose room is in doubt are read back anyway.
SELECT m.state, r.shown, coalesce(r.existence, 'unknown') AS existence
FROM meetings AS m
LEFT JOIN rooms AS r ON r.account_id = m.account_id AND r.zoom_id = m.zoom_id
WHERE m.account_id = %(account_id)s AND m.host = %(host)s AND m.ends_at > %(now)s
  AND m.status = 'scheduled' AND m.room_status IN ('ready', 'gone')
  AND NOT EXISTS (
      SELECT FROM room_requests AS q
      WHERE q.account_id = m.account_id AND q.meeting_id = m.meeting_id AND q.lane = ''
  )
  AND NOT EXISTS (
      SELECT FROM unsure_meetings AS u WHERE u.account_id = m.account_id AND u.meeting_id = m.meeting_id
  );
