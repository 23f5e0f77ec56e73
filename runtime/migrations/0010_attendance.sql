-- Rooms, runs and connections as the projector writes them, and as they are read.
--
-- `room_states` and `run_states` hold what the newest entry of a room or run says (guarded by generation and revision)
-- beside what any entry proves of it: when the room was last heard of and last proven to exist, that and when a run
-- started. Proofs only rise, so they need no guard; a row may begin with nothing but proofs, under revision -1.
-- The views `rooms` and `instances` and the function `attendance` compute the rest when read.

ALTER TABLE rooms RENAME TO room_states;
ALTER TABLE room_states
    DROP COLUMN existence,
    DROP COLUMN entry,
    ALTER COLUMN shown SET DEFAULT '{}',
    ADD COLUMN said text,                               -- newest statement about existence: created, deleted, recovered
    ADD COLUMN said_at timestamptz,
    ADD COLUMN permanently_deleted boolean NOT NULL DEFAULT false,
    ADD COLUMN gone_since timestamptz,                  -- the oldest of three 404s; null while there are fewer
    ADD COLUMN dates_listed_at timestamptz,             -- newest whole list of a series' dates
    ADD COLUMN wants_get boolean NOT NULL DEFAULT false, -- something changed of which only a GET can tell what
    ADD COLUMN proven_at timestamptz;
ALTER TABLE room_states RENAME CONSTRAINT rooms_pkey TO room_states_pkey;

ALTER TABLE instances RENAME TO run_states;
ALTER TABLE run_states
    DROP COLUMN status,
    DROP COLUMN started_at,
    DROP COLUMN entry,
    ALTER COLUMN shown SET DEFAULT '{}',
    ADD COLUMN told_started boolean NOT NULL DEFAULT false,
    ADD COLUMN told_ended boolean NOT NULL DEFAULT false,
    ADD COLUMN start_carrier smallint,                  -- 4 started, 3 ended, 2 past meeting, 1 an event of a participant
    ADD COLUMN told_started_at timestamptz,
    ADD COLUMN end_polled boolean NOT NULL DEFAULT false,
    ADD COLUMN witnessed boolean NOT NULL DEFAULT false, -- whether a participant's event proves that it started
    ADD COLUMN witnessed_started_at timestamptz,
    ADD COLUMN started_at timestamptz GENERATED ALWAYS AS (
        CASE WHEN start_carrier > 1 THEN told_started_at ELSE least(told_started_at, witnessed_started_at) END
    ) STORED;
ALTER TABLE run_states RENAME CONSTRAINT instances_pkey TO run_states_pkey;
ALTER INDEX instances_by_uuid RENAME TO run_states_by_uuid;
CREATE INDEX run_states_by_start ON run_states (account_id, zoom_id, started_at);

ALTER TABLE connections
    DROP COLUMN entry,
    ADD COLUMN is_report boolean NOT NULL DEFAULT false, -- a row of a report that names no connection
    ADD COLUMN name text NOT NULL DEFAULT '',
    ADD COLUMN registrant_id text,
    ADD COLUMN zoom_user text,
    ADD COLUMN customer_key text,
    ADD COLUMN email text,                              -- lower case; null where it is masked
    ADD COLUMN links text[] NOT NULL DEFAULT '{}',      -- user ids of the same group
    ADD COLUMN stays jsonb NOT NULL DEFAULT '[]',       -- [[joined ms, left ms or null, breakout room, reported], ...]
    ADD COLUMN orphan_leaves bigint[] NOT NULL DEFAULT '{}',
    ADD COLUMN in_lobby boolean NOT NULL DEFAULT false;

ALTER TABLE room_entries
    DROP COLUMN entry,
    ADD COLUMN gone boolean NOT NULL DEFAULT false,     -- a date of a series that was deleted since its newest proof
    ADD COLUMN proven_at timestamptz;

CREATE FUNCTION as_ms(at timestamptz) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (extract(epoch FROM at) * 1000)::bigint;

CREATE FUNCTION as_time(ms bigint) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN timestamptz 'epoch' + ms * interval '1 millisecond';

-- Runs with the status that only rises. A run of which no end was told is over when the next one starts.
CREATE VIEW instances AS
SELECT
    run.account_id,
    run.zoom_id,
    run.uuid,
    CASE
        WHEN run.told_ended OR (run.ended_at IS NULL AND next.started_at IS NOT NULL) THEN 'ended'
        WHEN run.told_started OR run.witnessed THEN 'started'
        ELSE 'unknown'
    END AS status,
    run.started_at,
    coalesce(run.ended_at, next.started_at) AS ended_at,
    run.ended_at IS NULL AND next.started_at IS NOT NULL AS end_inferred,
    run.end_polled,
    run.shown,
    run.generation,
    run.revision
FROM run_states AS run
LEFT JOIN LATERAL (
    SELECT min(later.started_at) AS started_at
    FROM run_states AS later
    WHERE later.account_id = run.account_id AND later.zoom_id = run.zoom_id AND later.started_at > run.started_at
) AS next ON true;

-- Rooms with their existence: the newest statement, unless something newer proves the contrary.
CREATE VIEW rooms AS
SELECT
    room.account_id,
    room.zoom_id,
    room.topic,
    room.host_id,
    state.existence,
    room.start_at,
    room.duration_minutes,
    room.last_seen_event_at,
    room.wants_get,
    room.shown
        || jsonb_build_object('existence', state.existence, 'last_seen_event_at', room.last_seen_event_at)
        || CASE WHEN dates.listed IS NULL THEN '{}' ELSE jsonb_build_object('occurrences', dates.listed) END AS shown,
    room.generation,
    room.revision
FROM room_states AS room
CROSS JOIN LATERAL (
    SELECT CASE
        WHEN room.permanently_deleted THEN 'permanently_deleted'
        WHEN room.said = 'deleted' AND coalesce(room.said_at, '-infinity') >= coalesce(room.proven_at, '-infinity')
            THEN 'deleted'
        WHEN room.gone_since > coalesce(room.proven_at, '-infinity') THEN 'gone_unconfirmed'
        WHEN room.said IS NOT NULL OR room.proven_at IS NOT NULL THEN 'exists'
        ELSE 'unknown'
    END AS existence
) AS state
LEFT JOIN LATERAL (
    SELECT jsonb_agg(date.shown ORDER BY date.shown ->> 'start_time', date.entry_key) AS listed
    FROM room_entries AS date
    WHERE date.account_id = room.account_id AND date.zoom_id = room.zoom_id AND date.kind = 'occurrence'
      AND NOT date.gone
      AND coalesce(date.proven_at, '-infinity') >= coalesce(room.dates_listed_at, '-infinity')
) AS dates ON true;

-- Whether a row of a report is about a stay: they begin together, or the row spans the start of an open one.
CREATE FUNCTION shows_stay(stay_joined bigint, stay_left bigint, joined bigint, until bigint) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN abs(stay_joined - joined) <= 10000
        OR (stay_left IS NULL AND joined <= stay_joined AND (until IS NULL OR stay_joined < until));

-- The people of one run: for each the union of their stays. An open stay counts to the end of the run, and while the run
-- goes on to `present_at`. The same as `schemas.rooms.attendance`, which a test holds beside it.
CREATE FUNCTION attendance(
    of_account text, of_room text, of_run text, present_at timestamptz DEFAULT clock_timestamp()
)
RETURNS TABLE (
    person text, identified_by text, name text, seconds bigint, present boolean, first_joined_at timestamptz,
    last_left_at timestamptz, connections bigint, stays jsonb, breakout_seconds jsonb, anomalies jsonb
)
LANGUAGE sql STABLE
AS $$
WITH RECURSIVE run AS (
    SELECT i.status = 'ended' AS over, as_ms(i.ended_at) AS ended, i.end_inferred
    FROM instances AS i
    WHERE i.account_id = of_account AND i.zoom_id = of_room AND i.uuid = of_run
),
connection AS MATERIALIZED (
    SELECT c.*
    FROM connections AS c
    WHERE c.account_id = of_account AND c.zoom_id = of_room AND c.uuid = of_run
),
link AS (
    SELECT c.user_id AS one, l.other FROM connection AS c CROSS JOIN LATERAL unnest(c.links) AS l (other)
),
linked AS (
    SELECT one, other FROM link UNION SELECT other, one FROM link
),
reach AS (
    SELECT one, other FROM linked
    UNION
    SELECT r.one, l.other FROM reach AS r JOIN linked AS l ON l.one = r.other
),
root AS (
    SELECT one AS user_id, least(one COLLATE "C", min(other COLLATE "C")) AS root FROM reach GROUP BY one
),
grouped AS MATERIALIZED (
    SELECT coalesce(r.root, c.user_id) AS grp, c.*
    FROM connection AS c LEFT JOIN root AS r ON r.user_id = c.user_id
),
identifier AS (
    SELECT DISTINCT g.grp, i.rank, i.value COLLATE "C" AS value
    FROM grouped AS g
    CROSS JOIN LATERAL (
        VALUES (1, g.registrant_id), (2, g.zoom_user), (3, g.customer_key), (4, g.email)
    ) AS i (rank, value)
    WHERE i.value IS NOT NULL
),
strongest AS (
    SELECT DISTINCT ON (grp) grp, rank, value FROM identifier ORDER BY grp, rank, value
),
user_is AS (
    SELECT i.value AS weak, min(s.rank) AS rank, min(s.value) AS value
    FROM identifier AS i JOIN strongest AS s ON s.grp = i.grp AND s.rank < 2
    WHERE i.rank = 2
    GROUP BY i.value HAVING count(DISTINCT (s.rank, s.value)) = 1
),
after_users AS (
    SELECT s.grp, s.rank AS own, coalesce(w.rank, s.rank) AS rank, coalesce(w.value, s.value) AS value
    FROM strongest AS s LEFT JOIN user_is AS w ON s.rank = 2 AND w.weak = s.value
),
key_is AS (
    SELECT i.value AS weak, min(s.rank) AS rank, min(s.value) AS value
    FROM identifier AS i JOIN after_users AS s ON s.grp = i.grp AND s.own < 3
    WHERE i.rank = 3
    GROUP BY i.value HAVING count(DISTINCT (s.rank, s.value)) = 1
),
after_keys AS (
    SELECT s.grp, s.own, coalesce(w.rank, s.rank) AS rank, coalesce(w.value, s.value) AS value
    FROM after_users AS s LEFT JOIN key_is AS w ON s.own = 3 AND w.weak = s.value
),
email_is AS (
    SELECT i.value AS weak, min(s.rank) AS rank, min(s.value) AS value
    FROM identifier AS i JOIN after_keys AS s ON s.grp = i.grp AND s.own < 4
    WHERE i.rank = 4
    GROUP BY i.value HAVING count(DISTINCT (s.rank, s.value)) = 1
),
somebody AS (
    SELECT s.grp, coalesce(w.rank, s.rank) AS rank, coalesce(w.value, s.value) AS value
    FROM after_keys AS s LEFT JOIN email_is AS w ON s.own = 4 AND w.weak = s.value
),
named AS MATERIALIZED (
    SELECT coalesce(s.rank, 5) AS rank, coalesce(s.value, g.grp) AS value, g.*
    FROM grouped AS g LEFT JOIN somebody AS s ON s.grp = g.grp
),
stay AS MATERIALIZED (
    SELECT n.rank, n.value, n.user_id, n.is_report, (s.it ->> 0)::bigint AS joined, (s.it ->> 1)::bigint AS until,
           s.it ->> 2 AS breakout_room, (s.it ->> 3)::boolean AS reported
    FROM named AS n CROSS JOIN LATERAL jsonb_array_elements(n.stays) AS s (it)
),
told AS MATERIALIZED (
    SELECT rank, value, joined, max(until) AS until FROM stay WHERE is_report GROUP BY rank, value, joined
),
closing AS (
    SELECT s.user_id, s.joined, max(t.until) AS until
    FROM stay AS s JOIN told AS t ON t.rank = s.rank AND t.value = s.value
    WHERE NOT s.is_report AND s.until IS NULL AND t.until IS NOT NULL
      AND shows_stay(s.joined, s.until, t.joined, t.until)
    GROUP BY s.user_id, s.joined
),
whole AS MATERIALIZED (
    SELECT s.rank, s.value, s.joined, s.breakout_room, s.reported,
           coalesce(s.until, CASE WHEN c.until IS NOT NULL THEN greatest(s.joined, c.until) END) AS until
    FROM stay AS s LEFT JOIN closing AS c ON c.user_id = s.user_id AND c.joined = s.joined AND s.until IS NULL
    WHERE NOT s.is_report
    UNION ALL
    SELECT t.rank, t.value, t.joined, '', true, t.until
    FROM told AS t
    WHERE NOT EXISTS (
        SELECT FROM stay AS s
        WHERE s.rank = t.rank AND s.value = t.value AND NOT s.is_report
          AND shows_stay(s.joined, s.until, t.joined, t.until)
    )
),
counted AS MATERIALIZED (
    SELECT w.*, CASE
        WHEN run.ended IS NOT NULL THEN least(run.ended, coalesce(w.until, run.ended))
        WHEN run.over THEN coalesce(w.until, w.joined)
        ELSE coalesce(w.until, greatest(w.joined, as_ms(present_at)))
    END AS counts_until
    FROM whole AS w CROSS JOIN run
    WHERE run.ended IS NULL OR w.joined <= run.ended
),
total AS (
    SELECT c.rank, c.value, min(c.joined) AS first_joined, max(c.counts_until) AS last_left,
           bool_or(c.until IS NULL) AS any_open,
           range_agg(int8range(c.joined, c.counts_until)) AS present_during,
           jsonb_agg(
               jsonb_build_object(
                   'joined_at', as_time(c.joined), 'left_at', as_time(c.until), 'breakout_room', c.breakout_room,
                   'reported', c.reported
               )
               ORDER BY c.joined, c.until NULLS LAST, c.breakout_room COLLATE "C"
           ) AS stays
    FROM counted AS c GROUP BY c.rank, c.value
),
breakout AS (
    SELECT b.rank, b.value, jsonb_object_agg(b.breakout_room, b.ms / 1000) AS seconds
    FROM (
        SELECT c.rank, c.value, c.breakout_room, (
            SELECT coalesce(sum(upper(r) - lower(r)), 0)::bigint
            FROM unnest(range_agg(int8range(c.joined, c.counts_until))) AS r
        ) AS ms
        FROM counted AS c WHERE c.breakout_room <> '' GROUP BY c.rank, c.value, c.breakout_room
    ) AS b
    GROUP BY b.rank, b.value
),
odd AS (
    SELECT w.rank, w.value, 'joined_after_end' AS kind, w.joined AS at
    FROM whole AS w CROSS JOIN run
    WHERE NOT run.end_inferred AND w.joined > run.ended
    UNION
    SELECT n.rank, n.value, 'left_without_join', o.at
    FROM named AS n CROSS JOIN LATERAL unnest(n.orphan_leaves) AS o (at)
),
anomaly AS (
    SELECT o.rank, o.value, jsonb_agg(jsonb_build_object('kind', o.kind, 'at', as_time(o.at)) ORDER BY o.kind, o.at) AS found
    FROM odd AS o GROUP BY o.rank, o.value
),
people AS (
    SELECT n.rank, n.value, count(*) AS connections, coalesce((
        array_agg(n.name ORDER BY f.joined NULLS LAST, n.user_id COLLATE "C") FILTER (WHERE n.name <> '')
    )[1], '') AS name
    FROM named AS n
    LEFT JOIN (SELECT user_id, min(joined) AS joined FROM stay GROUP BY user_id) AS f ON f.user_id = n.user_id
    GROUP BY n.rank, n.value
)
SELECT
    p.value,
    (ARRAY['registrant_id', 'user', 'customer_key', 'email', 'connection'])[p.rank],
    p.name,
    coalesce((SELECT sum(upper(r) - lower(r)) FROM unnest(t.present_during) AS r), 0)::bigint / 1000,
    NOT run.over AND coalesce(t.any_open, false),
    as_time(t.first_joined),
    CASE WHEN run.over OR NOT coalesce(t.any_open, false) THEN as_time(t.last_left) END,
    p.connections,
    coalesce(t.stays, '[]'),
    coalesce(b.seconds, '{}'),
    coalesce(a.found, '[]')
FROM people AS p
CROSS JOIN run
LEFT JOIN total AS t ON t.rank = p.rank AND t.value = p.value
LEFT JOIN breakout AS b ON b.rank = p.rank AND b.value = p.value
LEFT JOIN anomaly AS a ON a.rank = p.rank AND a.value = p.value
ORDER BY t.first_joined NULLS LAST, p.rank, p.value
$$;
