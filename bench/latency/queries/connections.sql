-- name: readable
-- Which of these connections have their row.
SELECT user_id
FROM connections
JOIN unnest(%(zoom_ids)s::text[], %(uuids)s::text[], %(user_ids)s::text[]) AS wanted (zoom_id, uuid, user_id)
    USING (zoom_id, uuid, user_id)
WHERE account_id = %(account_id)s;

-- name: count_rows
-- How many connections of the account have their row.
SELECT count(*) AS rows
FROM connections
WHERE account_id = %(account_id)s;
