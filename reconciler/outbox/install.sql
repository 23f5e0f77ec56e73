-- The outbox of Roomkeeper: insert a row in the transaction in which you write your own meeting.
--
--   command   meeting_key                body
--   create    your name of the meeting   {"host", "topic", "start_time", "timezone", "duration_minutes", ...}
--   change    the same                   only what is to change
--   cancel    the same                   {} or {"reason": "..."}
--   register  the same                   {"email", "first_name", "last_name"}
--   decide    the same                   {"email", "action": "approve" | "deny" | "cancel"}
--
-- `meeting_key` is the idempotency key of the create: the same key is the same meeting, over HTTP and here.
CREATE TABLE IF NOT EXISTS roomkeeper_outbox (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    meeting_key      text NOT NULL CHECK (meeting_key <> ''),
    command          text NOT NULL,
    body             jsonb NOT NULL DEFAULT '{}',
    expected_version bigint,
    idempotency_key  text NOT NULL DEFAULT gen_random_uuid()::text,
    created_at       timestamptz NOT NULL DEFAULT now(),
    rejected_at      timestamptz,   -- set by the relay on a row that cannot be a command
    reason           text
);
CREATE INDEX IF NOT EXISTS roomkeeper_outbox_by_meeting ON roomkeeper_outbox (meeting_key, id)
    WHERE rejected_at IS NULL;
CREATE INDEX IF NOT EXISTS roomkeeper_outbox_waiting ON roomkeeper_outbox (id)
    WHERE rejected_at IS NULL;

CREATE OR REPLACE FUNCTION roomkeeper_outbox_ring() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('roomkeeper_outbox', '');
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER roomkeeper_outbox_ring AFTER INSERT ON roomkeeper_outbox
    FOR EACH STATEMENT EXECUTE FUNCTION roomkeeper_outbox_ring();
