-- name: lock_roles
-- Waits until no other process gives rights in this database; the lock ends with the transaction.
SELECT pg_advisory_xact_lock(hashtext('roomkeeper.database_roles'));

-- name: own_relations
-- What may be revoked of: tables, views and sequences of the schema that are this user's, or of a role that it is in.
SELECT c.relname AS name, c.relkind = 'S' AS is_sequence
FROM pg_class AS c
WHERE c.relnamespace = to_regnamespace(%(schema)s) AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
  AND pg_has_role(c.relowner, 'USAGE')
ORDER BY c.relname;
