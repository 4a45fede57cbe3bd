-- What was ordered on the console, through the API, in the chat and on the command line, and by whom. It holds no text
-- of the chat.
CREATE TABLE given_orders (
    id INTEGER PRIMARY KEY,
    workspace TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    given_by TEXT NOT NULL,
    kind TEXT NOT NULL,
    channel TEXT NOT NULL,
    user_id TEXT NOT NULL,
    until_ms INTEGER,
    value TEXT,
    decision INTEGER
);
CREATE INDEX given_orders_of_giver ON given_orders (workspace, given_by);
CREATE INDEX given_orders_by_time ON given_orders (at_ms);
