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

-- What memos were before they were changed or removed, for as long as the journal is kept. Their ids are those of no memory
-- and no memo; memo_lines has the messages behind them.
CREATE TABLE old_memos (
    id BIGINT PRIMARY KEY,
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    memo_id BIGINT NOT NULL,
    memo TEXT COLLATE "C" NOT NULL
);
CREATE INDEX old_memos_of_channel ON old_memos (workspace, channel);
CREATE INDEX old_memos_by_time ON old_memos (at_ms);
-- The decision for whose reply a tool changed a memo.
ALTER TABLE memory_changes ADD COLUMN decision BIGINT;
