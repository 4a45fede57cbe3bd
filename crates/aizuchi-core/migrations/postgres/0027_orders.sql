-- What was ordered on the console, through the API, in the chat and on the command line, and by whom. It holds no text
-- of the chat.
CREATE TABLE given_orders (
    id BIGINT PRIMARY KEY,
    workspace TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    given_by TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    until_ms BIGINT,
    value TEXT COLLATE "C",
    decision BIGINT
);
CREATE INDEX given_orders_of_giver ON given_orders (workspace, given_by);
CREATE INDEX given_orders_by_time ON given_orders (at_ms);
