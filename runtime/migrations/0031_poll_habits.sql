-- When accounts (host '') and hosts were heard, and are usually heard: what tells a silence from a gap. The poller's own.
CREATE TABLE poll_heard (
    account_id      text NOT NULL,
    host_id         text NOT NULL,
    heard_at        timestamptz NOT NULL,               -- newest webhook about a room of it
    hour_at         timestamptz NOT NULL,               -- the hour that is being watched
    silent_since    timestamptz,                        -- while it is silent against its habit
    PRIMARY KEY (account_id, host_id)
);

CREATE TABLE poll_habits (
    account_id      text NOT NULL,
    host_id         text NOT NULL,
    slot            smallint NOT NULL,                  -- hour of the day, UTC; 24 more at weekends
    hours           integer NOT NULL,                   -- that were watched; halved now and then, so that habits may change
    heard           integer NOT NULL,                   -- of them, in which something was heard
    PRIMARY KEY (account_id, host_id, slot)
);
