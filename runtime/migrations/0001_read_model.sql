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
    details         jsonb,                              -- of a create: what the meeting will be, readable at once
    UNIQUE (account_id, meeting_id, idempotency_key)
);
CREATE INDEX commands_by_meeting ON commands (account_id, meeting_id);

CREATE TABLE meetings (
    account_id      text NOT NULL,
    meeting_id      uuid NOT NULL,
    version         bigint NOT NULL,
    status          text NOT NULL,
    host            text NOT NULL,
    topic           text NOT NULL,
    start_at        timestamptz NOT NULL,
    duration_minutes integer NOT NULL,
    details         jsonb NOT NULL,
    room_status     text NOT NULL,
    zoom_id         text,
    join_url        text,
    problem         jsonb,
    unsure          boolean NOT NULL,
    state           bytea NOT NULL,                     -- MeetingState, single-object encoding
    created_at      timestamptz NOT NULL,
    changed_at      timestamptz NOT NULL,
    generation      integer NOT NULL,
    revision        bigint NOT NULL,
    PRIMARY KEY (account_id, meeting_id)
);
CREATE INDEX meetings_by_creation ON meetings (account_id, created_at DESC, meeting_id DESC);
CREATE INDEX meetings_by_room ON meetings (account_id, zoom_id) WHERE zoom_id IS NOT NULL;

-- Never repeats, not after the database is rebuilt either: it begins at the microsecond of its making.
CREATE SEQUENCE room_request_epochs AS bigint;
SELECT setval('room_request_epochs', (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);

-- Pending room work, a projection of the meetings' state, with lease columns that only the room worker writes.
CREATE TABLE room_requests (
    provider_key    text PRIMARY KEY,
    account_id      text NOT NULL,
    meeting_id      uuid NOT NULL,
    host            text NOT NULL,
    action          text NOT NULL,                      -- create, update, cancel, remove
    n               bigint NOT NULL,
    zoom_id         text,
    start_at        timestamptz NOT NULL,
    added_at        timestamptz NOT NULL,
    due_at          timestamptz NOT NULL,
    attempts        integer NOT NULL DEFAULT 0,
    epoch           bigint,
    lease_until     timestamptz,
    leased_by       text,
    started_at      timestamptz,                        -- when a call first began; a started row is never replaced
    unknown_since   timestamptz,                        -- when a call first ended without a known outcome
    settled_at      timestamptz,
    outcome         text,
    error_code      text,
    error_message   text,
    retried         boolean NOT NULL DEFAULT false
);
CREATE INDEX room_requests_due ON room_requests (due_at);
CREATE INDEX room_requests_by_meeting ON room_requests (account_id, meeting_id, n);

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

CREATE TABLE audit (
    audit_id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at              timestamptz NOT NULL,
    actor           text NOT NULL,
    verb            text NOT NULL,
    target          text NOT NULL,
    reason          text
);
