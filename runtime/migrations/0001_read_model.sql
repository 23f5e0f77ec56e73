-- The read model, the room work and what ingress needs before Kafka.
-- Every guarded row carries (generation, revision): a write counts only when its pair is at least the stored one.

CREATE TABLE api_keys (
    key_id       text PRIMARY KEY,
    account_id   text NOT NULL,
    name         text NOT NULL,
    key_hash     bytea NOT NULL UNIQUE,
    created_at   timestamptz NOT NULL,
    revoked_at   timestamptz
);

-- Commands as ingress accepted them, recorded before they are produced; the projector completes them.
CREATE TABLE commands (
    command_id      uuid PRIMARY KEY,
    account_id      text NOT NULL,
    meeting_id      uuid NOT NULL,
    command         text NOT NULL,
    idempotency_key text,
    request_hash    bytea NOT NULL,
    accepted_at     timestamptz NOT NULL,
    status          text NOT NULL DEFAULT 'pending',   -- pending, accepted, rejected
    code            text,
    message         text,
    version         bigint,
    decided_at      timestamptz,
    generation      integer,
    revision        bigint,
    details         jsonb,                              -- of a create: what the meeting will be, readable at once
    UNIQUE (account_id, meeting_id, idempotency_key)
);
CREATE INDEX commands_by_meeting ON commands (account_id, meeting_id);

-- The meetings. `state` is the whole of it; the columns beside it are taken from it, to search by.
CREATE TABLE meetings (
    account_id      text NOT NULL,
    meeting_id      uuid NOT NULL,
    version         bigint NOT NULL,
    status          text NOT NULL,                      -- scheduled, cancelled
    host            text NOT NULL,
    topic           text NOT NULL,
    start_at        timestamptz NOT NULL,
    duration_minutes integer NOT NULL,
    ends_at         timestamptz NOT NULL,               -- scheduled end, of a series that of its last meeting
    room_status     text NOT NULL,                      -- pending, ready, gone, failed, provider_unavailable, removing, removed
    zoom_id         text,
    problem_code    text,
    state           bytea NOT NULL,                     -- MeetingState, single-object encoding
    created_at      timestamptz NOT NULL,
    changed_at      timestamptz NOT NULL,
    generation      integer NOT NULL,
    revision        bigint NOT NULL,
    PRIMARY KEY (account_id, meeting_id)
);
CREATE INDEX meetings_by_creation ON meetings (account_id, created_at DESC, meeting_id DESC);
CREATE INDEX meetings_by_host ON meetings (account_id, host, ends_at);
CREATE INDEX meetings_by_room ON meetings (account_id, zoom_id) WHERE zoom_id IS NOT NULL;

-- Epochs of claims: fencing tokens. They never repeat, not after the database is rebuilt either: they begin at the
-- microsecond of the sequence's making, and a rebuild moves them on to its own.
CREATE SEQUENCE room_request_epochs AS bigint;
SELECT setval('room_request_epochs', (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);

-- Pending room work, a projection of the meetings' state: the projector inserts and deletes rows. The columns from
-- `due_at` on are the room worker's alone.
CREATE TABLE room_requests (
    account_id      text NOT NULL,
    provider_key    text NOT NULL,
    meeting_id      uuid NOT NULL,
    action          text NOT NULL,                      -- create, update, cancel, remove; register, approve, deny, unregister
    lane            text NOT NULL DEFAULT '',           -- work of one lane is done in order: '' of the meeting's room, else
                                                        -- the number of a second room, or the key of a registrant
    n               bigint NOT NULL,
    host            text NOT NULL,
    zoom_id         text,
    added_at        timestamptz NOT NULL,
    due_at          timestamptz NOT NULL,               -- next attempt; of a leased row, the lease's end; of a settled one, when it is asked after
    attempts        integer NOT NULL DEFAULT 0,
    looks           integer NOT NULL DEFAULT 0,         -- look-ups by key since the last call of unknown outcome
    epoch           bigint,                             -- of the last claim
    leased_by       text,                               -- who holds the lease; null when nobody does
    started_at      timestamptz,                        -- first call of which it is not known that it did nothing
    started_epoch   bigint,                             -- the claim that made it
    unknown_at      timestamptz,                        -- when the last call of unknown outcome had ended
    settled_at      timestamptz,                        -- when its outcome was handed to Kafka
    outcome         text,
    error_code      text,
    error_message   text,
    retried         boolean NOT NULL DEFAULT false,     -- made by a rebuild, or settled long ago: calls may have been made
    PRIMARY KEY (account_id, provider_key)
);
CREATE INDEX room_requests_due ON room_requests (account_id, due_at);
CREATE INDEX room_requests_by_meeting ON room_requests (account_id, meeting_id, lane, n);

-- People registered for meetings.
CREATE TABLE registrants (
    account_id      text NOT NULL,
    meeting_id      uuid NOT NULL,
    registrant_key  uuid NOT NULL,
    email           text NOT NULL,
    status          text NOT NULL,                      -- registering, pending, approved, denied, cancelled, failed
    zoom_id         text,
    registrant_id   text,
    problem_code    text,
    state           bytea NOT NULL,                     -- RegistrantState, single-object encoding
    created_at      timestamptz NOT NULL,
    generation      integer NOT NULL,
    revision        bigint NOT NULL,
    PRIMARY KEY (account_id, meeting_id, registrant_key)
);
CREATE INDEX registrants_by_creation ON registrants (account_id, meeting_id, created_at, registrant_key);

-- What is not called for a while: an account, its creates, or the creates and updates of one host.
CREATE TABLE parked (
    account_id      text NOT NULL,
    scope           text NOT NULL,                      -- account, creates, host
    host            text NOT NULL DEFAULT '',
    since_at        timestamptz NOT NULL,
    until_at        timestamptz NOT NULL,               -- the year 9999 when an operator paused it
    reason          text NOT NULL,
    PRIMARY KEY (account_id, scope, host)
);

-- What all processes share towards Zoom: each account's token, its breaker, its rates and its budgets of the day.
CREATE TABLE zoom_tokens (
    account_id      text PRIMARY KEY,
    sealed          bytea,                              -- the newest token, encrypted; null when there never was one
    expires_at      timestamptz,
    failed_at       timestamptz,                        -- when the last renewal failed; null when it worked
    refused         boolean NOT NULL DEFAULT false      -- whether Zoom refused the credentials
);

CREATE TABLE zoom_breakers (
    account_id      text PRIMARY KEY,
    state           text NOT NULL,                      -- closed, open, half_open
    failures        integer NOT NULL,                   -- since the last success
    until_at        timestamptz NOT NULL                -- end of the pause, or of the one call that is let through
);

CREATE TABLE rate_slots (
    account_id      text NOT NULL,
    label           text NOT NULL,
    free_at         timestamptz NOT NULL,               -- the next call may be made then
    PRIMARY KEY (account_id, label)
);

CREATE TABLE daily_budgets (
    account_id      text NOT NULL,
    scope           text NOT NULL,                      -- label, host, registrant, status
    name            text NOT NULL,
    day             date NOT NULL,                      -- UTC
    used            integer NOT NULL,
    PRIMARY KEY (account_id, scope, name, day)
);

-- Meetings whose room may be otherwise than the last call left it: it is read back until then.
CREATE TABLE unsure_meetings (
    account_id      text NOT NULL,
    meeting_id      uuid NOT NULL,
    since_at        timestamptz NOT NULL,
    until_at        timestamptz NOT NULL,
    due_at          timestamptz NOT NULL,               -- next read-back
    PRIMARY KEY (account_id, meeting_id)
);
CREATE INDEX unsure_meetings_due ON unsure_meetings (due_at);

-- Hosts whose lists are swept for rooms that carry a key: the projector notes each host of a meeting.
CREATE TABLE swept_hosts (
    account_id      text NOT NULL,
    host            text NOT NULL,
    swept_at        timestamptz,
    due_at          timestamptz NOT NULL,
    PRIMARY KEY (account_id, host)
);
CREATE INDEX swept_hosts_due ON swept_hosts (due_at);

-- The rooms, by entry of the rooms table. `entry` is the lattice state; columns beside it are computed from it.
CREATE TABLE rooms (
    account_id      text NOT NULL,
    zoom_id         text NOT NULL,
    topic           text,
    host_id         text,
    existence       text NOT NULL,
    start_at        timestamptz,
    duration_minutes integer,
    last_seen_event_at timestamptz,
    shown           jsonb NOT NULL,                     -- the room as the API shows it
    entry           bytea NOT NULL,
    generation      integer NOT NULL,
    revision        bigint NOT NULL,
    PRIMARY KEY (account_id, zoom_id)
);

CREATE TABLE instances (
    account_id      text NOT NULL,
    zoom_id         text NOT NULL,
    uuid            text NOT NULL,
    status          text NOT NULL,                      -- unknown, started, ended
    started_at      timestamptz,
    ended_at        timestamptz,
    shown           jsonb NOT NULL,
    entry           bytea NOT NULL,
    generation      integer NOT NULL,
    revision        bigint NOT NULL,
    PRIMARY KEY (account_id, zoom_id, uuid)
);
CREATE INDEX instances_by_uuid ON instances (account_id, uuid);

CREATE TABLE connections (
    account_id      text NOT NULL,
    zoom_id         text NOT NULL,
    uuid            text NOT NULL,
    user_id         text NOT NULL,                      -- for a report row without one: `token|join`
    shown           jsonb NOT NULL,                     -- identifiers, root, stays as points
    entry           bytea NOT NULL,
    generation      integer NOT NULL,
    revision        bigint NOT NULL,
    PRIMARY KEY (account_id, zoom_id, uuid, user_id)
);
CREATE INDEX connections_by_uuid ON connections (account_id, uuid);

-- Occurrences, registrants, recordings and facts of unknown kinds.
CREATE TABLE room_entries (
    account_id      text NOT NULL,
    zoom_id         text NOT NULL,
    kind            text NOT NULL,
    entry_key       text NOT NULL,
    shown           jsonb NOT NULL,
    entry           bytea NOT NULL,
    generation      integer NOT NULL,
    revision        bigint NOT NULL,
    PRIMARY KEY (account_id, zoom_id, kind, entry_key)
);

-- How far each projection has come; committed with the rows it wrote.
CREATE TABLE projector_offsets (
    projection      text NOT NULL,
    topic           text NOT NULL,
    partition       integer NOT NULL,
    next_offset     bigint NOT NULL,
    bad_run         integer NOT NULL DEFAULT 0,         -- bad records in a row just before next_offset
    PRIMARY KEY (projection, topic, partition)
);

CREATE TABLE alerts (
    name            text NOT NULL,
    account_id      text NOT NULL,
    since_at        timestamptz NOT NULL,
    until_at        timestamptz,
    message         text NOT NULL,
    PRIMARY KEY (name, account_id, since_at)
);
CREATE UNIQUE INDEX alerts_open ON alerts (name, account_id) WHERE until_at IS NULL;

CREATE TABLE audit (
    audit_id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at              timestamptz NOT NULL,
    actor           text NOT NULL,
    verb            text NOT NULL,
    target          text NOT NULL,
    reason          text
);
