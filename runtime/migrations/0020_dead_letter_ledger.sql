-- The ledger of dead letters: one row for each message that failed, through all its returns. The message itself stays in
-- the topic; what operators did about it is known here alone.

CREATE SEQUENCE dead_letter_changes AS bigint;

CREATE TABLE dead_letters (
    letter_id       uuid PRIMARY KEY,                   -- derived from the origin and stage of the first failure
    topic           text NOT NULL,                      -- where it came from: logical name, partition, offset
    partition       integer NOT NULL,                   -- -1, with the offset, of a body that never was a record
    at_offset       bigint NOT NULL,
    happened_at     timestamptz NOT NULL,               -- when it was put there
    stage           text NOT NULL,                      -- who could not use it, the newest time
    error_class     text NOT NULL,
    error_message   text NOT NULL,
    first_failed_at timestamptz NOT NULL,
    failed_at       timestamptz NOT NULL,
    attempt         integer NOT NULL,
    failed_job      text,                               -- the replay after which it failed
    message_key     bytea,
    key_text        text,                               -- the key, where it is text
    size_bytes      integer NOT NULL,
    sealed          boolean NOT NULL,
    letter_partition integer NOT NULL,                  -- where its newest copy lies in dead-letters
    letter_offset   bigint NOT NULL,
    status          text NOT NULL,                      -- open, held, replayed, discarded, expired
    status_at       timestamptz NOT NULL,
    status_by       text,
    reason          text,
    job             text,                               -- the replay that sent it last
    sent_attempt    integer,                            -- the attempt that was sent back
    sent_partition  integer,                            -- where the replay lies in its topic
    sent_offset     bigint,
    edited_value    bytea,                              -- sent in place of the original, which stays
    edited_at       timestamptz,
    edited_by       text,
    change_no       bigint NOT NULL                     -- rises with each arrival and return: what a replay may take
);
-- Of what waits alone: a replay then writes its row and one entry of one index. The rest is read through, when asked for.
CREATE INDEX dead_letters_in_order ON dead_letters (topic, partition, at_offset, letter_id) WHERE status IN ('open', 'held');
CREATE INDEX dead_letters_by_key ON dead_letters (key_text) WHERE status IN ('open', 'held');
CREATE INDEX dead_letters_by_time ON dead_letters (failed_at, letter_id) WHERE status IN ('open', 'held');

-- Replays. How far one has come is told by the rows that carry its name; nothing is counted here.
CREATE TABLE dead_letter_jobs (
    job             text PRIMARY KEY,
    filters         jsonb NOT NULL,
    bound           bigint NOT NULL,                    -- takes nothing that arrived or returned after this change
    status          text NOT NULL,                      -- running, done, cancelled
    created_at      timestamptz NOT NULL,
    created_by      text NOT NULL,
    ended_at        timestamptz
);

-- Whether a dead letter is among those that the filters name; what a filter does not name, it does not mind.
CREATE FUNCTION dead_letter_matches(letter dead_letters, filters jsonb) RETURNS boolean
LANGUAGE sql STABLE
AS $$
    SELECT (filters->>'letter_id' IS NULL OR letter.letter_id = (filters->>'letter_id')::uuid)
       AND (filters->>'stage' IS NULL OR letter.stage = filters->>'stage')
       AND (filters->>'error' IS NULL OR letter.error_class = filters->>'error')
       AND (filters->>'topic' IS NULL OR letter.topic = filters->>'topic')
       AND (filters->>'partition' IS NULL OR letter.partition = (filters->>'partition')::integer)
       AND (filters->>'from_offset' IS NULL OR letter.at_offset >= (filters->>'from_offset')::bigint)
       AND (filters->>'to_offset' IS NULL OR letter.at_offset <= (filters->>'to_offset')::bigint)
       AND (filters->>'key' IS NULL OR letter.key_text = filters->>'key')
       AND (filters->>'since' IS NULL OR letter.failed_at >= (filters->>'since')::timestamptz)
       AND (filters->>'until' IS NULL OR letter.failed_at < (filters->>'until')::timestamptz)
       AND (filters->>'text' IS NULL OR strpos(lower(letter.error_message), lower(filters->>'text')) > 0)
$$;
