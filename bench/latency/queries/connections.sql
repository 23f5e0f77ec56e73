-- name: readable
-- Which of these connections have their row. Each is looked up by its key: a table that has just begun to grow has no
-- statistics, and a join would read all of it at each look.
SELECT wanted.user_id
FROM unnest(%(zoom_ids)s::text[], %(uuids)s::text[], %(user_ids)s::text[]) AS wanted (zoom_id, uuid, user_id)
CROSS JOIN LATERAL (
    SELECT
    FROM connections AS c
    WHERE c.account_id = %(account_id)s AND c.zoom_id = wanted.zoom_id AND c.uuid = wanted.uuid
      AND c.user_id = wanted.user_id
    LIMIT 1
) AS found;

-- name: count_rows
-- How many connections of the account have their row.
SELECT count(*) AS rows
FROM connections
WHERE account_id = %(account_id)s;
