-- name: create_job
-- A job takes what is in the ledger now, and nothing that comes or returns later.
INSERT INTO dead_letter_jobs (job, filters, bound, status, created_at, created_by)
SELECT %(job)s, %(filters)s::jsonb, CASE WHEN is_called THEN last_value ELSE 0 END, 'running', %(at)s, %(actor)s
FROM dead_letter_changes
ON CONFLICT (job) DO NOTHING;

-- name: job
-- One job.
SELECT * FROM dead_letter_jobs WHERE job = %(job)s;

-- name: jobs
-- All jobs, the newest first, with what became of their messages so far.
SELECT job.job, job.filters, job.status, job.created_at, job.created_by, job.ended_at,
    count(letter.letter_id) AS sent,
    count(letter.letter_id) FILTER (WHERE letter.attempt > letter.sent_attempt) AS returned
FROM dead_letter_jobs AS job
LEFT JOIN dead_letters AS letter ON letter.job = job.job
GROUP BY job.job
ORDER BY job.created_at DESC;

-- name: end_job
-- A job ends once, as done or cancelled.
UPDATE dead_letter_jobs SET status = %(status)s, ended_at = %(at)s WHERE job = %(job)s AND status = 'running';

-- name: reopen_job
-- A cancelled or finished job goes on where it ended.
UPDATE dead_letter_jobs SET status = 'running', ended_at = NULL WHERE job = %(job)s;

-- name: replay_partitions
-- Where the messages of a replay came from.
SELECT topic, partition, count(*) AS count
FROM dead_letters AS letter
WHERE status = ANY(%(statuses)s::text[]) AND change_no <= %(bound)s AND dead_letter_matches(letter, %(filters)s::jsonb)
GROUP BY topic, partition
ORDER BY topic, partition;

-- name: lock_partition
-- One replay at a time sends what came from a partition, so that keys keep their order. Held by the session.
SELECT pg_try_advisory_lock(hashtextextended('roomkeeper.dlq.' || %(topic)s || '/' || %(partition)s::text, 0)) AS locked;

-- name: unlock_partition
-- Let the next replay have it.
SELECT pg_advisory_unlock(hashtextextended('roomkeeper.dlq.' || %(topic)s || '/' || %(partition)s::text, 0));

-- name: settle_session
-- A batch's rows are found one by one: for a table of some size the planner would read all of it for every batch. And a
-- replay that was stopped in the middle of a batch keeps nobody from its rows for longer than this.
SELECT set_config('enable_seqscan', 'off', false), set_config('idle_in_transaction_session_timeout', '120s', false);

-- name: next_letters
-- The next messages of a partition in their original order, locked until the end of the transaction.
SELECT letter_id, ctid::text, topic, partition, at_offset, size_bytes, sealed, letter_partition, letter_offset, edited_value
FROM dead_letters AS letter
WHERE status = ANY(%(statuses)s::text[]) AND change_no <= %(bound)s AND topic = %(topic)s AND partition = %(partition)s
  AND (at_offset, letter_id) > (%(after_offset)s, %(after_id)s::uuid)
  AND dead_letter_matches(letter, %(filters)s::jsonb)
ORDER BY at_offset, letter_id
LIMIT %(limit)s
FOR UPDATE;

-- name: mark_replayed
-- These were sent back, and lie there. Their rows are locked, so they are still where they were chosen.
UPDATE dead_letters AS letter
SET status = 'replayed', status_at = %(at)s, status_by = %(actor)s, job = %(job)s, sent_attempt = attempt,
    sent_partition = sent.partition, sent_offset = sent.at_offset
FROM unnest(
    string_to_array(%(row)s, ' ')::tid[], string_to_array(%(sent_partition)s, ' ')::integer[],
    string_to_array(%(sent_offset)s, ' ')::bigint[]
) AS sent (place, partition, at_offset)
WHERE letter.ctid = sent.place;

-- name: mark_expired
-- These are in the topic no more.
UPDATE dead_letters SET status = 'expired', status_at = %(at)s, status_by = %(actor)s, job = %(job)s
WHERE ctid = ANY(string_to_array(%(row)s, ' ')::tid[]);

-- name: job_targets
-- For each topic and partition that a job sent to: the last offset, how many, and how many came back.
SELECT topic, sent_partition AS partition, max(sent_offset) AS last_offset, count(*) AS sent,
    count(*) FILTER (WHERE attempt > sent_attempt) AS returned
FROM dead_letters
WHERE job = %(job)s AND sent_offset IS NOT NULL
GROUP BY topic, sent_partition
ORDER BY topic, sent_partition;

-- name: job_returned
-- What came back of a job.
SELECT * FROM dead_letters WHERE job = %(job)s AND attempt > sent_attempt ORDER BY topic, partition, at_offset;
