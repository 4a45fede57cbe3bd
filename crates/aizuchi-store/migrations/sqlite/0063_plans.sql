-- What somebody asked to be told at a time. Each has a step of its own beside the one of its conversation, so that
-- neither delays the other; `verb` follows from `piece`, the outbox item to be posted.
CREATE TABLE plans (
    id INTEGER PRIMARY KEY,
    -- By which people name it; unique among the pending plans of a workspace.
    number INTEGER NOT NULL,
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    thread TEXT NOT NULL,
    asker TEXT NOT NULL,
    -- The message that asked for it; '' if a slash command did.
    message TEXT NOT NULL,
    -- asker, channel or named; `whom` is the name.
    audience TEXT NOT NULL,
    whom TEXT NOT NULL,
    kind TEXT NOT NULL,
    what TEXT NOT NULL,
    -- How it recurs; null: once.
    recurrence TEXT,
    zone TEXT NOT NULL,
    made_ms INTEGER NOT NULL,
    due_ms INTEGER NOT NULL,
    ready_ms INTEGER NOT NULL,
    piece INTEGER,
    decision INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    token INTEGER,
    lease_until_ms INTEGER
);
CREATE INDEX plans_ready ON plans (ready_ms);
CREATE INDEX plans_of_workspace ON plans (workspace, number);
CREATE INDEX plans_of_message ON plans (workspace, channel, message);
CREATE INDEX plans_decision ON plans (decision) WHERE decision IS NOT NULL;
