-- How far Zoom's webhook logs are read, and which deliveries were taken from them, so that none is sent twice.

CREATE TABLE webhook_log_places (
    account_id      text PRIMARY KEY,
    read_until      timestamptz NOT NULL,               -- failed attempts up to here were taken
    span_seconds    double precision NOT NULL           -- how much time is asked for at once
);

CREATE TABLE taken_deliveries (
    account_id      text NOT NULL,
    request_id      text NOT NULL,
    taken_at        timestamptz NOT NULL,
    PRIMARY KEY (account_id, request_id)
);
CREATE INDEX taken_deliveries_by_time ON taken_deliveries (account_id, taken_at);
