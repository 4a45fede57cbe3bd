-- What people told the persona to do in a thread, in a channel ('' as the thread) or everywhere ('' as both), in all versions.
CREATE TABLE standing_orders (
    id BIGINT PRIMARY KEY,
    workspace TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    version BIGINT NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    thread TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    -- Who could read the channel when it was given. One that has become public does not show what was given before.
    visibility TEXT COLLATE "C" NOT NULL,
    given_by TEXT COLLATE "C" NOT NULL,
    given_ms BIGINT NOT NULL,
    ended_ms BIGINT
);
CREATE UNIQUE INDEX standing_orders_by_number ON standing_orders (workspace, number, version);
CREATE INDEX standing_orders_in_force ON standing_orders (workspace, channel, thread) WHERE ended_ms IS NULL;
-- Whoever gave them was forgotten or has opted out: their words are gone, and so will be the prompts that held them.
CREATE INDEX standing_orders_withdrawn ON standing_orders (workspace, number, version) WHERE text = '';

-- The orders that prompts held.
CREATE TABLE exchange_orders (
    workspace TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    version BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    PRIMARY KEY (workspace, number, version, attempt)
);
CREATE INDEX exchange_orders_of_attempt ON exchange_orders (attempt);

-- The last number of an order in each workspace. None is given twice, also if its order is erased.
CREATE TABLE standing_order_numbers (
    workspace TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (workspace)
);
