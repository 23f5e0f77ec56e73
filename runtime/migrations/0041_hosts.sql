-- Hosts as Zoom knows them: an answer names a host by id and by e-mail address, and callers may use either.
CREATE TABLE zoom_hosts (
    account_id      text NOT NULL,
    alias           text NOT NULL,                      -- what callers say, in lower case
    host_id         text NOT NULL,
    PRIMARY KEY (account_id, alias)
);

-- Under which name a call draws on a budget of the day: a host has one, however it is named.
CREATE FUNCTION budget_name(account text, budget_scope text, said text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN budget_scope <> 'host' THEN said ELSE coalesce(
        (SELECT host_id FROM zoom_hosts WHERE account_id = account AND alias = lower(said)),
        CASE WHEN said LIKE '%@%' THEN lower(said) ELSE said END
    ) END
$$;
