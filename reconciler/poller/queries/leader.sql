-- name: try_to_lead
-- The lead, unless another session has it; it ends with the session.
SELECT pg_try_advisory_lock(hashtextextended('roomkeeper poller lead', 0)) AS yes;

-- name: sign_of_life
-- Whether the session stands.
SELECT true AS yes;
