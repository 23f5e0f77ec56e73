-- The poller: what it asked, what came of it, and what it knows of each host's habits. Only the poller writes here, and
-- here alone: what it sees of rooms goes to Kafka. Losing these tables costs calls, never knowledge.

-- Rooms that were asked about, or that a host's list showed otherwise than they are known.
CREATE TABLE poll_rooms (
    account_id      text NOT NULL,
    zoom_id         text NOT NULL,
    asked_at        timestamptz,                        -- newest visit
    next_at         timestamptz,                        -- not before, for the same rules
    rules           text[] NOT NULL DEFAULT '{}',       -- that held at the newest visit
    times           integer NOT NULL DEFAULT 0,         -- visits in a row for the same rules
    outcome         text,                               -- of the newest visit
    got_at          timestamptz,                        -- newest GET that showed the room
    missing_at      timestamptz,                        -- newest GET that found none; null once one was seen again
    past_read_at    timestamptz,                        -- newest whole list of past runs
    suspicion       text,                               -- what a host's list showed: changed, missing
    suspected_at    timestamptz,
    listed          text,                               -- digest of the list's item that was looked into last
    PRIMARY KEY (account_id, zoom_id)
);
CREATE INDEX poll_rooms_suspected ON poll_rooms (account_id, suspected_at) WHERE suspicion IS NOT NULL;
CREATE INDEX poll_rooms_missing ON poll_rooms (account_id, missing_at) WHERE missing_at IS NOT NULL;
CREATE INDEX poll_rooms_by_visit ON poll_rooms (asked_at);

-- Runs that were compared with Zoom's past data, or are to be.
CREATE TABLE poll_runs (
    account_id      text NOT NULL,
    zoom_id         text NOT NULL,
    uuid            text NOT NULL,
    asked_at        timestamptz NOT NULL,
    next_at         timestamptz,                        -- null once nothing more is to be asked
    times           integer NOT NULL DEFAULT 1,
    outcome         text NOT NULL,                      -- settled, not_yet, unprocessed, too_old, refused, given_up
    PRIMARY KEY (account_id, zoom_id, uuid)
);
CREATE INDEX poll_runs_by_visit ON poll_runs (asked_at);

-- Hosts whose lists are compared with what is known.
CREATE TABLE poll_hosts (
    account_id      text NOT NULL,
    host            text NOT NULL,                      -- e-mail or id, as it is known
    host_id         text,                               -- as the list named it
    listed_at       timestamptz,                        -- newest whole list
    due_at          timestamptz NOT NULL,
    outcome         text,
    PRIMARY KEY (account_id, host)
);
CREATE INDEX poll_hosts_due ON poll_hosts (due_at);

-- What an account may not be asked for a while: Zoom refused it for the whole account.
CREATE TABLE poll_refusals (
    account_id      text NOT NULL,
    endpoint        text NOT NULL,
    reason          text NOT NULL,
    refused_at      timestamptz NOT NULL,
    until_at        timestamptz NOT NULL,
    PRIMARY KEY (account_id, endpoint)
);

-- Passes, for whoever asked for one and waits, and for the record of the last days.
CREATE TABLE poll_passes (
    pass_id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    began_at        timestamptz NOT NULL,
    ended_at        timestamptz,
    report          jsonb
);

-- By what the poller finds rooms and runs.
CREATE INDEX room_states_by_date ON room_states (account_id, start_at) WHERE start_at IS NOT NULL;
CREATE INDEX room_states_by_host ON room_states (account_id, host_id, start_at) WHERE start_at IS NOT NULL;
CREATE INDEX room_states_wanted ON room_states (account_id) WHERE wants_get;
-- A block range index costs the projector's frequent updates nothing.
CREATE INDEX room_states_seen ON room_states USING brin (last_seen_event_at) WITH (pages_per_range = 16);
CREATE INDEX run_states_open ON run_states (account_id, started_at) WHERE ended_at IS NULL;
CREATE INDEX run_states_by_end ON run_states (account_id, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX room_entries_dates ON room_entries (account_id, (shown ->> 'start_time')) WHERE kind = 'occurrence' AND NOT gone;

-- Whether a room is there to be asked about: neither deleted nor gone since it was last proven to exist.
CREATE FUNCTION is_there(
    permanently_deleted boolean, said text, said_at timestamptz, gone_since timestamptz, proven_at timestamptz
) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN NOT permanently_deleted
        AND NOT (coalesce(said = 'deleted', false) AND coalesce(said_at, '-infinity') >= coalesce(proven_at, '-infinity'))
        AND coalesce(gone_since <= coalesce(proven_at, '-infinity'), true);
