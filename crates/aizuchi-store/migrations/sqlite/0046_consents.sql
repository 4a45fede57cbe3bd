-- Calls of tools that may write, each of which somebody has to allow. They belong to a draft, the first part of which is
-- `draft`; nobody is asked before that is posted.
-- state: drafted, open, allowed, calling, answered, unknown, refused, lapsed.
CREATE TABLE consents (
    id INTEGER PRIMARY KEY,
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    thread TEXT NOT NULL,
    -- A JSON list of the messages for which the call is made.
    messages TEXT NOT NULL,
    is_addressed INTEGER NOT NULL,
    decision INTEGER NOT NULL,
    draft INTEGER NOT NULL,
    tool TEXT NOT NULL,
    -- JSON as it was shown, and what the tool answered. Both are empty once nothing more is to come of it.
    arguments TEXT NOT NULL,
    answer TEXT,
    lineage TEXT NOT NULL,
    seen INTEGER NOT NULL,
    made_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    state TEXT NOT NULL,
    decided_by TEXT,
    decided_ms INTEGER,
    -- When a call that is being made has ended.
    until_ms INTEGER,
    is_settled INTEGER NOT NULL DEFAULT 0,
    revision INTEGER NOT NULL
);
CREATE INDEX consents_of_workspace ON consents (workspace, id);
CREATE INDEX consents_of_decision ON consents (decision);
CREATE INDEX consents_of_draft ON consents (draft);
CREATE INDEX consents_unsettled ON consents (id) WHERE is_settled = 0;
