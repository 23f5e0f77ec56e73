-- name: take_outbox_rows
-- The oldest rows of meetings that no other relay has in hand: whoever locks a meeting's oldest row has the meeting.
-- A body is given as text, and a moment beyond any calendar as none: what cannot be read is the row's fault alone.
WITH heads AS (
    SELECT o.meeting_key
    FROM roomkeeper_outbox AS o
    WHERE o.rejected_at IS NULL
      AND NOT EXISTS (
          SELECT FROM roomkeeper_outbox AS earlier
          WHERE earlier.meeting_key = o.meeting_key AND earlier.id < o.id AND earlier.rejected_at IS NULL
      )
    ORDER BY o.id
    LIMIT %(rows)s
    FOR UPDATE OF o SKIP LOCKED
)
SELECT o.id, o.meeting_key, o.command, o.body::text AS body, o.expected_version, o.idempotency_key,
       CASE WHEN o.created_at BETWEEN '0001-01-02Z' AND '9999-12-30Z' THEN o.created_at END AS created_at
FROM roomkeeper_outbox AS o
JOIN heads USING (meeting_key)
WHERE o.rejected_at IS NULL
ORDER BY o.id
LIMIT %(rows)s;

-- name: delete_outbox_rows
-- Rows that the broker has.
DELETE FROM roomkeeper_outbox WHERE id = ANY(%(ids)s::bigint[]);

-- name: reject_outbox_rows
-- Rows that cannot be commands are set aside; those after them go on.
UPDATE roomkeeper_outbox AS o SET rejected_at = %(now)s, reason = bad.reason
FROM unnest(%(ids)s::bigint[], %(reasons)s::text[]) AS bad (id, reason)
WHERE o.id = bad.id;

-- name: list_rejected_rows
-- Rows that were set aside.
SELECT id, meeting_key, command, created_at, rejected_at, reason
FROM roomkeeper_outbox WHERE rejected_at IS NOT NULL ORDER BY id LIMIT %(rows)s;

-- name: listen_outbox
-- The outbox's trigger tells here that rows were inserted.
LISTEN roomkeeper_outbox;
