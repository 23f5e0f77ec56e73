-- name: look_by_key
-- A table that has just begun to grow has no statistics, and would be read whole at each look.
SELECT set_config(name, 'off', false)
FROM unnest(ARRAY['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin']) AS s (name);

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
