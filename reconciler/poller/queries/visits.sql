-- name: note_visit
-- A visit to a room; what it did not ask stays as it was. An older visit, of a leader that was succeeded, changes nothing.
INSERT INTO poll_rooms AS stored (
    account_id, zoom_id, asked_at, next_at, rules, times, outcome, got_at, missing_at, past_read_at
) VALUES (
    %(account_id)s, %(zoom_id)s, %(asked_at)s, %(next_at)s, %(rules)s, 1, %(outcome)s, %(got_at)s, %(missing_at)s,
    %(past_read_at)s
)
ON CONFLICT (account_id, zoom_id) DO UPDATE SET
    asked_at = excluded.asked_at,
    next_at = excluded.next_at,
    rules = excluded.rules,
    times = CASE WHEN stored.rules = excluded.rules THEN stored.times + 1 ELSE 1 END,
    outcome = excluded.outcome,
    got_at = coalesce(excluded.got_at, stored.got_at),
    missing_at = CASE WHEN excluded.got_at IS NULL THEN coalesce(excluded.missing_at, stored.missing_at) END,
    past_read_at = coalesce(excluded.past_read_at, stored.past_read_at),
    suspicion = CASE WHEN excluded.got_at IS NULL AND excluded.missing_at IS NULL THEN stored.suspicion END,
    suspected_at = CASE WHEN excluded.got_at IS NULL AND excluded.missing_at IS NULL THEN stored.suspected_at END
WHERE stored.asked_at IS NULL OR stored.asked_at <= excluded.asked_at;

-- name: note_run
-- What became of a comparison with Zoom's past data.
INSERT INTO poll_runs AS stored (account_id, zoom_id, uuid, asked_at, next_at, outcome)
VALUES (%(account_id)s, %(zoom_id)s, %(uuid)s, %(asked_at)s, %(next_at)s, %(outcome)s)
ON CONFLICT (account_id, zoom_id, uuid) DO UPDATE SET
    asked_at = excluded.asked_at, next_at = excluded.next_at, outcome = excluded.outcome, times = stored.times + 1
WHERE stored.asked_at <= excluded.asked_at;

-- name: note_refusal
-- Zoom refuses something for the whole account.
INSERT INTO poll_refusals (account_id, endpoint, reason, refused_at, until_at)
VALUES (%(account_id)s, %(endpoint)s, %(reason)s, %(now)s, %(until_at)s)
ON CONFLICT (account_id, endpoint) DO UPDATE SET
    reason = excluded.reason, refused_at = excluded.refused_at, until_at = excluded.until_at;

-- name: begin_pass
-- A pass begins.
INSERT INTO poll_passes (began_at) VALUES (%(now)s) RETURNING pass_id;

-- name: end_pass
-- A pass is over.
UPDATE poll_passes SET ended_at = %(now)s, report = %(report)s WHERE pass_id = %(pass_id)s;

-- name: newest_pass
-- The newest pass there was.
SELECT coalesce(max(pass_id), 0) AS pass_id FROM poll_passes;

-- name: find_pass_after
-- The first pass that began after that one and is over.
SELECT pass_id, report FROM poll_passes WHERE pass_id > %(pass_id)s AND ended_at IS NOT NULL ORDER BY pass_id LIMIT 1;

-- name: forget_visits
-- What was asked long ago about things that are not asked about any more.
WITH rooms AS (
    DELETE FROM poll_rooms WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM poll_rooms WHERE asked_at < %(before)s ORDER BY asked_at LIMIT 1000
    ))
), runs AS (
    DELETE FROM poll_runs WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM poll_runs WHERE asked_at < %(before)s ORDER BY asked_at LIMIT 1000
    ))
)
DELETE FROM poll_passes WHERE began_at < %(before)s;

-- name: ask_for_a_pass
-- Whoever leads makes a pass at once.
NOTIFY roomkeeper_poll;

-- name: listen_for_passes
-- To be told when somebody asks for one.
LISTEN roomkeeper_poll;
