-- What people told the persona to do in a thread, in a channel ('' as the thread) or everywhere ('' as both), in all versions.
CREATE TABLE standing_orders (
    id INTEGER PRIMARY KEY,
    workspace TEXT NOT NULL,
    number INTEGER NOT NULL,
    version INTEGER NOT NULL,
    channel TEXT NOT NULL,
    thread TEXT NOT NULL,
    text TEXT NOT NULL,
    -- Who could read the channel when it was given. One that has become public does not show what was given before.
    visibility TEXT NOT NULL,
    given_by TEXT NOT NULL,
    given_ms INTEGER NOT NULL,
    ended_ms INTEGER
);
CREATE UNIQUE INDEX standing_orders_by_number ON standing_orders (workspace, number, version);
CREATE INDEX standing_orders_in_force ON standing_orders (workspace, channel, thread) WHERE ended_ms IS NULL;
