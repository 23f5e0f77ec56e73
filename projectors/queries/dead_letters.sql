-- name: upsert_dead_letters
-- What the newest copy of each message says. A further attempt is a return: it is open again, or held. The same attempt
-- seen again only moves the row to the later copy; an older one changes nothing.
INSERT INTO dead_letters AS stored (
    letter_id, topic, partition, at_offset, happened_at, stage, error_class, error_message, first_failed_at, failed_at,
    attempt, failed_job, message_key, key_text, size_bytes, sealed, letter_partition, letter_offset, status, status_at,
    change_no
)
SELECT *, nextval('dead_letter_changes')
FROM unnest(
    %(letter_id)s::uuid[], %(topic)s::text[], %(partition)s::integer[], %(at_offset)s::bigint[],
    %(happened_at)s::timestamptz[], %(stage)s::text[], %(error_class)s::text[], %(error_message)s::text[],
    %(first_failed_at)s::timestamptz[], %(failed_at)s::timestamptz[], %(attempt)s::integer[], %(failed_job)s::text[],
    %(message_key)s::bytea[], %(key_text)s::text[], %(size_bytes)s::integer[], %(sealed)s::boolean[],
    %(letter_partition)s::integer[], %(letter_offset)s::bigint[], %(status)s::text[], %(failed_at)s::timestamptz[]
)
ON CONFLICT (letter_id) DO UPDATE SET
    stage = excluded.stage,
    error_class = excluded.error_class,
    error_message = excluded.error_message,
    failed_at = excluded.failed_at,
    attempt = excluded.attempt,
    failed_job = excluded.failed_job,
    message_key = excluded.message_key,
    key_text = excluded.key_text,
    size_bytes = excluded.size_bytes,
    sealed = excluded.sealed,
    letter_partition = excluded.letter_partition,
    letter_offset = excluded.letter_offset,
    status = CASE
        WHEN excluded.attempt > stored.attempt OR stored.status = 'expired' THEN excluded.status ELSE stored.status
    END,
    status_at = CASE
        WHEN excluded.attempt > stored.attempt OR stored.status = 'expired' THEN excluded.status_at ELSE stored.status_at
    END,
    edited_value = CASE WHEN excluded.attempt > stored.attempt THEN NULL ELSE stored.edited_value END,
    change_no = CASE WHEN excluded.attempt > stored.attempt THEN excluded.change_no ELSE stored.change_no END
WHERE (excluded.attempt, excluded.letter_offset) > (stored.attempt, stored.letter_offset);
