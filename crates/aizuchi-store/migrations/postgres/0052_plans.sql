-- What somebody asked to be told at a time. Each has a step of its own beside the one of its conversation, so that
-- neither delays the other; `verb` follows from `piece`, the outbox item to be posted.
CREATE TABLE plans (
    id BIGINT PRIMARY KEY,
    -- By which people name it; unique among the pending plans of a workspace.
    number BIGINT NOT NULL,
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    thread TEXT COLLATE "C" NOT NULL,
    asker TEXT COLLATE "C" NOT NULL,
    -- The message that asked for it; '' if a slash command did.
    message TEXT COLLATE "C" NOT NULL,
    -- asker, channel or named; `whom` is the name.
    audience TEXT COLLATE "C" NOT NULL,
    whom TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    what TEXT COLLATE "C" NOT NULL,
    -- How it recurs; null: once.
    recurrence TEXT COLLATE "C",
    zone TEXT COLLATE "C" NOT NULL,
    made_ms BIGINT NOT NULL,
    due_ms BIGINT NOT NULL,
    ready_ms BIGINT NOT NULL,
    piece BIGINT,
    decision BIGINT,
    attempts BIGINT NOT NULL DEFAULT 0,
    token BIGINT,
    lease_until_ms BIGINT
);
CREATE INDEX plans_ready ON plans (ready_ms);
CREATE INDEX plans_of_workspace ON plans (workspace, number);
CREATE INDEX plans_of_message ON plans (workspace, channel, message);
CREATE INDEX plans_decision ON plans (decision) WHERE decision IS NOT NULL;
