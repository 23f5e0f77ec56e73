-- Registrants over HTTP, and people whose meeting got another room.

-- Several commands of one request share its idempotency key; ids derive from it, so they alone tell commands apart.
ALTER TABLE commands
    DROP CONSTRAINT commands_account_id_meeting_id_idempotency_key_key,
    ADD COLUMN registrant_key uuid;                     -- whom it is about, where it is about a person

ALTER TABLE registrants
    ADD COLUMN moved boolean NOT NULL DEFAULT false;    -- registered for another room than the meeting has now
CREATE INDEX registrants_moved ON registrants (account_id) WHERE moved;
