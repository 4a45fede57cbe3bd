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

-- What memos were before they were changed or removed, for as long as the journal is kept. Their ids are those of no memory
-- and no memo; memo_lines has the messages behind them.
CREATE TABLE old_memos (
    id INTEGER PRIMARY KEY,
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    memo_id INTEGER NOT NULL,
    memo TEXT NOT NULL
);
CREATE INDEX old_memos_of_channel ON old_memos (workspace, channel);
CREATE INDEX old_memos_by_time ON old_memos (at_ms);
-- The decision for whose reply a tool changed a memo.
ALTER TABLE memory_changes ADD COLUMN decision INTEGER;
