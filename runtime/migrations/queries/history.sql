-- name: lock
-- Waits until no other process migrates this database; the lock ends with the connection.
SELECT pg_advisory_lock(hashtext('roomkeeper.migrations'));

-- name: create_history
-- The record of what has run.
CREATE TABLE IF NOT EXISTS schema_migrations (
    number     integer PRIMARY KEY,
    name       text NOT NULL,
    checksum   text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- name: has_history
-- Whether anything can have run.
SELECT to_regclass('schema_migrations') IS NOT NULL AS has_history;

-- name: read_history
-- What has run, in order.
SELECT number, name, checksum, applied_at FROM schema_migrations ORDER BY number;

-- name: record
-- Notes a migration in the transaction that ran it.
INSERT INTO schema_migrations (number, name, checksum) VALUES (%(number)s, %(name)s, %(checksum)s);
