-- name: begin_offsets
-- Partitions that were never read begin at 0, which is before whatever the topic still has.
INSERT INTO projector_offsets (projection, topic, partition, next_offset)
SELECT %(projection)s, %(topic)s, unnest(%(partitions)s::integer[]), 0
ON CONFLICT DO NOTHING;

-- name: read_offsets
-- Where each of these partitions goes on.
SELECT partition, next_offset
FROM projector_offsets
WHERE projection = %(projection)s AND topic = %(topic)s AND partition = ANY(%(partitions)s::integer[]);

-- name: move_offsets
-- Move each partition on from where this process left it. A partition that another process has moved meanwhile is not in
-- the answer. Rows stay locked until the end of the transaction, so of two owners one waits and then finds itself behind.
UPDATE projector_offsets AS stored
SET next_offset = moved.next_offset
FROM unnest(%(partitions)s::integer[], %(held)s::bigint[], %(next)s::bigint[]) AS moved(partition, held, next_offset)
WHERE stored.projection = %(projection)s AND stored.topic = %(topic)s
  AND stored.partition = moved.partition AND stored.next_offset = moved.held
RETURNING stored.partition, stored.bad_run;

-- name: note_bad_runs
-- How many bad records in a row end at each partition's offset.
UPDATE projector_offsets AS stored
SET bad_run = noted.bad_run
FROM unnest(%(partitions)s::integer[], %(runs)s::integer[]) AS noted(partition, bad_run)
WHERE stored.projection = %(projection)s AND stored.topic = %(topic)s AND stored.partition = noted.partition;

-- name: end_idle_transactions
-- A process that is frozen in the middle of a transaction would keep its locks; after so long the server ends it.
SELECT set_config('idle_in_transaction_session_timeout', %(idle_ms)s::text, false);

-- name: advance_offsets
-- Let partitions go on from here, unless they are further already; whoever owns one finds itself overtaken and starts over.
UPDATE projector_offsets AS stored
SET next_offset = moved.next_offset, bad_run = 0
FROM unnest(%(partitions)s::integer[], %(next)s::bigint[]) AS moved(partition, next_offset)
WHERE stored.projection = %(projection)s AND stored.topic = %(topic)s
  AND stored.partition = moved.partition AND stored.next_offset < moved.next_offset;
