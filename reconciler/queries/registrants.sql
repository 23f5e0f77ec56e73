-- name: find_moved
-- People who are registered for another room than their meeting has now, and about whom nothing is under way.
SELECT r.state, m.zoom_id AS room
FROM registrants AS r
JOIN meetings AS m USING (account_id, meeting_id)
WHERE r.moved AND r.account_id = ANY(%(accounts)s::text[])
  AND m.status = 'scheduled' AND m.room_status = 'ready' AND m.ends_at > %(now)s
  AND r.zoom_id <> m.zoom_id AND r.status IN ('approved', 'pending')
  AND NOT EXISTS (
      SELECT FROM room_requests AS q
      WHERE q.account_id = r.account_id AND q.meeting_id = r.meeting_id AND q.lane = r.registrant_key::text
  )
ORDER BY r.created_at
LIMIT %(rows)s;

-- name: settle_moved
-- These were asked to be registered again for the present room.
UPDATE registrants AS r SET moved = false
FROM unnest(%(account_id)s::text[], %(meeting_id)s::uuid[], %(registrant_key)s::uuid[], %(zoom_id)s::text[])
    AS w (account_id, meeting_id, registrant_key, zoom_id)
WHERE r.account_id = w.account_id AND r.meeting_id = w.meeting_id AND r.registrant_key = w.registrant_key
  AND r.zoom_id = w.zoom_id;

-- name: forget_moved
-- Nobody moves to the room of a meeting that is cancelled or over.
UPDATE registrants AS r SET moved = false
FROM meetings AS m
WHERE r.moved AND r.account_id = ANY(%(accounts)s::text[])
  AND m.account_id = r.account_id AND m.meeting_id = r.meeting_id
  AND (m.status <> 'scheduled' OR m.ends_at <= %(now)s);
