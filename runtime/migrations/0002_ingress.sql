-- What ingress needs to accept commands and to list meetings that nobody has decided yet.

ALTER TABLE commands
    ADD COLUMN produced_at timestamptz;                 -- when the broker acknowledged it; null: not known to be in Kafka

CREATE INDEX commands_pending_creates ON commands (account_id, accepted_at DESC, meeting_id DESC)
    WHERE status = 'pending' AND command = 'CreateMeeting';

CREATE INDEX api_keys_by_account ON api_keys (account_id, created_at);
