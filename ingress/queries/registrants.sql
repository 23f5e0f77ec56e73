-- name: find_registrant
-- One person registered for a meeting, beside the meeting's present room.
SELECT r.state, CASE WHEN m.room_status = 'ready' THEN m.zoom_id END AS room
FROM registrants r
JOIN meetings m USING (account_id, meeting_id)
WHERE r.account_id = %(account_id)s AND r.meeting_id = %(meeting_id)s AND r.registrant_key = %(registrant_key)s;

-- name: list_registrants
-- A page of a meeting's people, newest first, beside the meeting's present room.
SELECT r.state, CASE WHEN m.room_status = 'ready' THEN m.zoom_id END AS room
FROM registrants r
JOIN meetings m USING (account_id, meeting_id)
WHERE r.account_id = %(account_id)s AND r.meeting_id = %(meeting_id)s
  AND (r.created_at, r.registrant_key) < (%(before_at)s::timestamptz, %(before_id)s::uuid)
  AND (%(status)s::text IS NULL OR r.status = %(status)s)
ORDER BY r.created_at DESC, r.registrant_key DESC
LIMIT %(rows)s;
