-- name: lock_roles
-- Waits until no other process gives rights in this database; the lock ends with the transaction.
SELECT pg_advisory_xact_lock(hashtext('roomkeeper.database_roles'));
