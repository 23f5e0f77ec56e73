-- name: find_log_place
-- How far an account's webhook logs are read.
SELECT read_until, span_seconds FROM webhook_log_places WHERE account_id = %(account_id)s;

-- name: keep_log_place
-- They are read so far. Of two readers, the one that is further counts.
INSERT INTO webhook_log_places AS stored (account_id, read_until, span_seconds)
VALUES (%(account_id)s, %(read_until)s, %(span_seconds)s)
ON CONFLICT (account_id) DO UPDATE SET
    read_until = greatest(stored.read_until, excluded.read_until), span_seconds = excluded.span_seconds;

-- name: find_taken
-- Those of the deliveries that were taken already.
SELECT request_id FROM taken_deliveries
WHERE account_id = %(account_id)s AND request_id = ANY(%(request_ids)s::text[]);

-- name: note_taken
-- These deliveries are in Kafka.
INSERT INTO taken_deliveries (account_id, request_id, taken_at)
SELECT %(account_id)s, request_id, %(now)s FROM unnest(%(request_ids)s::text[]) AS t (request_id)
ON CONFLICT DO NOTHING;

-- name: forget_taken
-- Deliveries that no log shows any more.
DELETE FROM taken_deliveries WHERE account_id = %(account_id)s AND taken_at < %(before)s;
