-- What an event, a request and a pass read does not grow with the number of meetings.

-- Lists of meetings by each of their filters, and of a room's runs.
CREATE INDEX meetings_of_host ON meetings (account_id, host, created_at DESC, meeting_id DESC);
CREATE INDEX meetings_in_status ON meetings (account_id, status, created_at DESC, meeting_id DESC);
CREATE INDEX run_states_in_order
    ON run_states (account_id, zoom_id, (coalesce(started_at, '-infinity')) DESC, (uuid COLLATE "C") DESC);

-- For each room that was heard of late, the rows of a whole block range are read: ranges are small. Ranges that are new
-- are all read until they are summarised, which is not left to the next vacuum.
DROP INDEX room_states_seen;
CREATE INDEX room_states_seen ON room_states USING brin (last_seen_event_at) WITH (pages_per_range = 4, autosummarize = on);

-- Whether a room is marked gone without a word of its deletion.
CREATE FUNCTION is_lost(
    permanently_deleted boolean, said text, gone_since timestamptz, proven_at timestamptz
) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN coalesce(
        NOT permanently_deleted AND said IS DISTINCT FROM 'deleted' AND gone_since > coalesce(proven_at, '-infinity'), false
    );
