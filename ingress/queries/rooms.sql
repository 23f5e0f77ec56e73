-- name: find_room
-- One room.
SELECT zoom_id, shown FROM rooms WHERE account_id = %(account_id)s AND zoom_id = %(zoom_id)s;

-- name: list_instances
-- A page of a room's runs, newest first; a run whose start is not known stands last.
SELECT uuid, status, started_at, ended_at, end_inferred, shown
FROM instances
WHERE account_id = %(account_id)s AND zoom_id = %(zoom_id)s
  AND (coalesce(started_at, '-infinity'), uuid) < (%(before_at)s::timestamptz, %(before_uuid)s COLLATE "C")
ORDER BY coalesce(started_at, '-infinity') DESC, uuid COLLATE "C" DESC
LIMIT %(rows)s;

-- name: find_instance
-- One run of one room.
SELECT zoom_id, uuid, status, started_at, ended_at, end_inferred, shown
FROM instances
WHERE account_id = %(account_id)s AND uuid = %(uuid)s
ORDER BY zoom_id
LIMIT 1;

-- name: answers
-- Answers when the database does, and has its tables.
SELECT EXISTS (SELECT FROM api_keys) AS any_key;

-- name: find_attendance
-- The people of one run, with the union of their stays; who is present counts to this moment.
SELECT person, identified_by, name, seconds, present, first_joined_at, last_left_at, connections, stays,
       breakout_seconds, anomalies
FROM attendance(%(account_id)s, %(zoom_id)s, %(uuid)s, %(at)s);
