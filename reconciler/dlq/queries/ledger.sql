-- name: letters
-- Dead letters in the order in which their messages first came.
SELECT letter.*
FROM dead_letters AS letter
WHERE status = ANY(%(statuses)s::text[]) AND dead_letter_matches(letter, %(filters)s::jsonb)
ORDER BY topic, partition, at_offset, letter_id;

-- name: newest_letters
-- The dead letters that failed last.
SELECT letter.*
FROM dead_letters AS letter
WHERE status = ANY(%(statuses)s::text[]) AND dead_letter_matches(letter, %(filters)s::jsonb)
ORDER BY failed_at DESC, letter_id
LIMIT %(limit)s;

-- name: count_letters
-- How many there are.
SELECT count(*) AS count
FROM dead_letters AS letter
WHERE status = ANY(%(statuses)s::text[]) AND dead_letter_matches(letter, %(filters)s::jsonb);

-- name: letter
-- One dead letter.
SELECT * FROM dead_letters WHERE letter_id = %(letter_id)s;

-- name: stats
-- How many of each kind, how many of them failed within the last hour and day, since when, and until when.
SELECT status, stage, error_class, topic, count(*) AS count,
    count(*) FILTER (WHERE failed_at > %(hour_ago)s) AS last_hour,
    count(*) FILTER (WHERE failed_at > %(day_ago)s) AS last_day,
    min(first_failed_at) AS first_at, max(failed_at) AS last_at
FROM dead_letters
WHERE status = ANY(%(statuses)s::text[])
GROUP BY status, stage, error_class, topic
ORDER BY count DESC, stage, error_class, topic;

-- name: discard_letters
-- Give up on dead letters; the messages stay in the topic until its retention ends. Rows are locked in the order of their
-- origins, as the projection and replays lock them: in another, two of these would wait for each other.
WITH chosen AS MATERIALIZED (
    SELECT letter.letter_id
    FROM dead_letters AS letter
    WHERE status IN ('open', 'held') AND dead_letter_matches(letter, %(filters)s::jsonb)
    ORDER BY topic COLLATE "C", partition, at_offset, letter_id
    FOR UPDATE
)
UPDATE dead_letters AS letter
SET status = 'discarded', status_at = %(at)s, status_by = %(actor)s, reason = %(reason)s
FROM chosen
WHERE letter.letter_id = chosen.letter_id;

-- name: edit_letter
-- Put another value in place of the original's, for the next replay. The letter that was looked at must be the present one.
UPDATE dead_letters
SET edited_value = %(value)s, edited_at = %(at)s, edited_by = %(actor)s
WHERE letter_id = %(letter_id)s AND attempt = %(attempt)s AND status IN ('open', 'held');

-- name: audit
-- Note what an operator did.
INSERT INTO audit (at, actor, verb, target, reason)
VALUES (%(at)s, %(actor)s, %(verb)s, %(target)s, %(reason)s);

-- name: ledger_offsets
-- How far the ledger has read the topic of dead letters.
SELECT partition, next_offset FROM projector_offsets WHERE projection = 'dead_letters' AND topic = %(topic)s;

-- name: projected_offsets
-- How far the projection of an event topic has come.
SELECT partition, min(next_offset) AS next_offset FROM projector_offsets WHERE topic = %(topic)s GROUP BY partition;
