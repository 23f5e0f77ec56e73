-- name: find_meeting
-- One meeting; while its create is pending, what it will be.
SELECT *
FROM (
    SELECT m.meeting_id, m.state, NULL::jsonb AS details, m.created_at
    FROM meetings m
    WHERE m.account_id = %(account_id)s AND m.meeting_id = %(meeting_id)s
    UNION ALL
    SELECT c.meeting_id, NULL, c.details, c.accepted_at
    FROM commands c
    WHERE c.account_id = %(account_id)s AND c.meeting_id = %(meeting_id)s
      AND c.command = 'CreateMeeting' AND c.status = 'pending' AND c.produced_at IS NOT NULL
) AS known
ORDER BY state IS NULL
LIMIT 1;

-- name: knows_meeting
-- Whether an account has this meeting, decided or pending.
SELECT EXISTS (
    SELECT FROM meetings WHERE account_id = %(account_id)s AND meeting_id = %(meeting_id)s
) OR EXISTS (
    SELECT FROM commands
    WHERE account_id = %(account_id)s AND meeting_id = %(meeting_id)s AND command = 'CreateMeeting'
      AND status = 'pending' AND produced_at IS NOT NULL
) AS known;

-- name: list_meetings
-- A page of meetings, newest first, those with a pending create among them.
(
    SELECT m.meeting_id, m.state, NULL::jsonb AS details, m.created_at
    FROM meetings m
    WHERE m.account_id = %(account_id)s
      AND (m.created_at, m.meeting_id) < (%(before_at)s::timestamptz, %(before_id)s::uuid)
      AND (%(status)s::text IS NULL OR m.status = %(status)s)
      AND (%(host)s::text IS NULL OR m.host = %(host)s)
    ORDER BY m.created_at DESC, m.meeting_id DESC
    LIMIT %(rows)s
)
UNION ALL
(
    SELECT c.meeting_id, NULL, c.details, c.accepted_at
    FROM commands c
    WHERE c.account_id = %(account_id)s
      AND c.command = 'CreateMeeting' AND c.status = 'pending' AND c.produced_at IS NOT NULL
      AND (c.accepted_at, c.meeting_id) < (%(before_at)s::timestamptz, %(before_id)s::uuid)
      AND (%(status)s::text IS NULL OR %(status)s = 'pending')
      AND (%(host)s::text IS NULL OR c.details->>'host' = %(host)s)
      AND NOT EXISTS (SELECT FROM meetings m WHERE m.account_id = c.account_id AND m.meeting_id = c.meeting_id)
    ORDER BY c.accepted_at DESC, c.meeting_id DESC
    LIMIT %(rows)s
)
ORDER BY created_at DESC, meeting_id DESC
LIMIT %(rows)s;
