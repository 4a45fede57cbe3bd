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
-- Whoever gave them was forgotten or has opted out: their words are gone, and so will be the prompts that held them.
CREATE INDEX standing_orders_withdrawn ON standing_orders (workspace, number, version) WHERE text = '';

-- The orders that prompts held.
CREATE TABLE exchange_orders (
    workspace TEXT NOT NULL,
    number INTEGER NOT NULL,
    version INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    PRIMARY KEY (workspace, number, version, attempt)
) WITHOUT ROWID;
CREATE INDEX exchange_orders_of_attempt ON exchange_orders (attempt);

-- The last number of an order in each workspace. None is given twice, also if its order is erased.
CREATE TABLE standing_order_numbers (
    workspace TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (workspace)
) WITHOUT ROWID;
