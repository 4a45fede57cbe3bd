-- What is remembered, and what is still to be. `scope` is workspace, channel or thread, with '' for the
-- ids that it does not have; `term` is short_term or long_term.

CREATE TABLE memories (
    id INTEGER PRIMARY KEY,
    workspace TEXT NOT NULL,
    scope TEXT NOT NULL,
    channel TEXT NOT NULL,
    thread TEXT NOT NULL,
    term TEXT NOT NULL,
    -- The newest version; older ones are kept for a while.
    is_current INTEGER NOT NULL,
    made_ms INTEGER NOT NULL,
    -- When the newest line behind it was said.
    newest_ms INTEGER NOT NULL,
    -- JSON: dated entries with the lines behind them, and lines that lost their entry.
    entries TEXT NOT NULL,
    lost TEXT NOT NULL,
    -- As prompts print it: in its own channel, and everywhere else.
    text TEXT,
    public_text TEXT,
    -- The revision at which an entry was last dropped from it.
    touched INTEGER
);
CREATE UNIQUE INDEX memories_current ON memories (workspace, scope, channel, thread, term) WHERE is_current = 1;
CREATE INDEX memories_versions ON memories (workspace, scope, channel, thread, term, id);
CREATE INDEX memories_of_threads ON memories (workspace, channel, newest_ms) WHERE is_current = 1 AND scope = 'thread';

-- Which memories, in any of their versions, a line is behind.
CREATE TABLE memory_sources (
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    line TEXT NOT NULL,
    scope TEXT NOT NULL,
    of_channel TEXT NOT NULL,
    of_thread TEXT NOT NULL,
    term TEXT NOT NULL,
    PRIMARY KEY (workspace, channel, line, scope, of_channel, of_thread, term)
) WITHOUT ROWID;

-- Memories that wait to be made. ready_ms: when it is due, or when its lease ends, if later. again_ms: when
-- it is due once more, if it was armed while it was being made.
CREATE TABLE chores (
    workspace TEXT NOT NULL,
    scope TEXT NOT NULL,
    channel TEXT NOT NULL,
    thread TEXT NOT NULL,
    term TEXT NOT NULL,
    due_ms INTEGER NOT NULL,
    ready_ms INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    token INTEGER,
    again_ms INTEGER,
    PRIMARY KEY (workspace, scope, channel, thread, term)
) WITHOUT ROWID;
CREATE INDEX chores_ready ON chores (ready_ms);

-- The memories that prompts held.
CREATE TABLE exchange_memories (
    memory INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    PRIMARY KEY (memory, attempt)
) WITHOUT ROWID;
CREATE INDEX exchange_memories_of_attempt ON exchange_memories (attempt);

-- Somebody was forgotten, and the file is still to be rewritten.
CREATE TABLE scrubs (due INTEGER NOT NULL);

-- Model calls of chores belong to no decision: theirs is 0, and this says what they were for.
ALTER TABLE attempts ADD COLUMN chore TEXT;
-- What did not fit into the prompt, as JSON.
ALTER TABLE attempts ADD COLUMN left_out TEXT NOT NULL DEFAULT '[]';

-- Short named notes that the persona keeps; their ids are no memory's. `realm` is '' for what everybody may
-- know, else the channel. `memo` is the whole of it as JSON, `touched` the revision that it came or changed with.
CREATE TABLE memos (
    id INTEGER PRIMARY KEY,
    workspace TEXT NOT NULL,
    realm TEXT NOT NULL,
    name TEXT NOT NULL,
    channel TEXT NOT NULL,
    priority INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    touched INTEGER NOT NULL,
    memo TEXT NOT NULL
);
CREATE UNIQUE INDEX memos_named ON memos (workspace, realm, name);
CREATE INDEX memos_of_channel ON memos (workspace, channel);
CREATE INDEX memos_important ON memos (workspace, realm, priority DESC, updated_ms DESC, name);
CREATE INDEX memos_recent ON memos (workspace, realm, updated_ms DESC, name);

-- The lines behind a memo: it goes with any of them.
CREATE TABLE memo_lines (
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    line TEXT NOT NULL,
    memo INTEGER NOT NULL,
    PRIMARY KEY (workspace, channel, line, memo)
) WITHOUT ROWID;
CREATE INDEX memo_lines_of_memo ON memo_lines (memo);
