-- What is heard, what is pending, what was said, and why. All times are UTC milliseconds;
-- `thread` is '' at a channel's top level.

CREATE TABLE counters (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    revision INTEGER NOT NULL,
    last_number INTEGER NOT NULL,
    -- Makes the keys of posts this installation's own.
    installation TEXT NOT NULL
);
INSERT INTO counters VALUES (1, 0, 0, lower(hex(randomblob(8))));

CREATE TABLE users (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    PRIMARY KEY (workspace, id)
) WITHOUT ROWID;

CREATE TABLE channels (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    visibility TEXT NOT NULL,
    PRIMARY KEY (workspace, id)
) WITHOUT ROWID;

-- A deleted line stays as a tombstone without its text.
CREATE TABLE messages (
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    id TEXT NOT NULL,
    thread TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    author TEXT NOT NULL,
    author_kind TEXT NOT NULL,
    text TEXT NOT NULL,
    mentions TEXT NOT NULL,
    edits INTEGER NOT NULL DEFAULT 0,
    edited_ms INTEGER,
    deleted_ms INTEGER,
    visibility TEXT NOT NULL,
    gate TEXT,
    decision INTEGER,
    -- The revision that it came with, and the one that it came or changed with.
    heard INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (workspace, id, channel)
);
CREATE INDEX messages_in_order ON messages (workspace, channel, thread, at_ms, id);
CREATE INDEX messages_in_channel ON messages (workspace, channel, at_ms, id);
CREATE INDEX messages_by_revision ON messages (workspace, revision);
CREATE INDEX messages_by_decision ON messages (decision) WHERE decision IS NOT NULL;

-- One pending step per conversation. ready_ms: when it is due, or when its lease ends, if later.
CREATE TABLE steps (
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    thread TEXT NOT NULL,
    verb TEXT NOT NULL,
    piece INTEGER,
    due_ms INTEGER NOT NULL,
    ready_ms INTEGER NOT NULL,
    decision INTEGER NOT NULL,
    is_owed INTEGER NOT NULL,
    is_redrafted INTEGER NOT NULL,
    follow_ms INTEGER,
    generation INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    token INTEGER,
    lease_until_ms INTEGER,
    PRIMARY KEY (workspace, channel, thread)
) WITHOUT ROWID;
CREATE INDEX steps_ready ON steps (ready_ms);

CREATE TABLE owed (
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    message TEXT NOT NULL,
    thread TEXT NOT NULL,
    asker TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    closed_ms INTEGER,
    PRIMARY KEY (workspace, channel, message)
) WITHOUT ROWID;
CREATE INDEX owed_open ON owed (workspace, channel, thread) WHERE closed_ms IS NULL;

-- state: draft, sending, said, replaced, dropped, dead. Only drafts are replaceable.
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY,
    -- The first piece of the same draft.
    draft INTEGER NOT NULL,
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    thread TEXT NOT NULL,
    decision INTEGER NOT NULL,
    key TEXT NOT NULL,
    text TEXT NOT NULL,
    notes TEXT NOT NULL,
    state TEXT NOT NULL,
    dispatched_ms INTEGER,
    message TEXT
);
CREATE INDEX outbox_drafts ON outbox (workspace, channel, thread) WHERE state = 'draft';
CREATE INDEX outbox_by_draft ON outbox (draft);
CREATE INDEX outbox_by_message ON outbox (workspace, message) WHERE message IS NOT NULL;
CREATE INDEX outbox_by_decision ON outbox (decision);

CREATE TABLE decisions (
    id INTEGER PRIMARY KEY,
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    thread TEXT NOT NULL,
    opened_ms INTEGER NOT NULL,
    closed_ms INTEGER,
    is_addressed INTEGER NOT NULL,
    gate TEXT,
    judgment TEXT,
    state INTEGER,
    ended TEXT,
    why TEXT,
    revision INTEGER NOT NULL
);
CREATE INDEX decisions_open ON decisions (workspace, channel, thread, id) WHERE closed_ms IS NULL;
CREATE INDEX decisions_judged ON decisions (workspace, channel, thread, id)
    WHERE closed_ms IS NOT NULL AND state IS NOT NULL;
CREATE INDEX decisions_of_channel ON decisions (workspace, channel, id);
CREATE INDEX decisions_by_revision ON decisions (workspace, revision);

-- Model calls. result: kept, superseded, failed.
CREATE TABLE attempts (
    id INTEGER PRIMARY KEY,
    decision INTEGER NOT NULL,
    verb TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    model TEXT NOT NULL,
    prompt_hash TEXT NOT NULL,
    prompt_bytes INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    latency_ms INTEGER NOT NULL,
    result TEXT NOT NULL,
    judgment TEXT,
    error TEXT
);
CREATE INDEX attempts_of_decision ON attempts (decision);

CREATE TABLE dead_letters (
    id INTEGER PRIMARY KEY,
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    thread TEXT NOT NULL,
    verb TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    error TEXT NOT NULL,
    text TEXT
);
