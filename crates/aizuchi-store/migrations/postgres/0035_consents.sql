-- Calls of tools that may write, each of which somebody has to allow. They belong to a draft, the first part of which is
-- `draft`; nobody is asked before that is posted.
-- state: drafted, open, allowed, calling, answered, unknown, refused, lapsed.
CREATE TABLE consents (
    id BIGINT PRIMARY KEY,
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    thread TEXT COLLATE "C" NOT NULL,
    -- A JSON list of the messages for which the call is made.
    messages TEXT COLLATE "C" NOT NULL,
    is_addressed BIGINT NOT NULL,
    decision BIGINT NOT NULL,
    draft BIGINT NOT NULL,
    tool TEXT COLLATE "C" NOT NULL,
    -- JSON as it was shown, and what the tool answered. Both are empty once nothing more is to come of it.
    arguments TEXT COLLATE "C" NOT NULL,
    answer TEXT COLLATE "C",
    lineage TEXT COLLATE "C" NOT NULL,
    seen BIGINT NOT NULL,
    made_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    decided_by TEXT COLLATE "C",
    decided_ms BIGINT,
    -- When a call that is being made has ended.
    until_ms BIGINT,
    is_settled BIGINT NOT NULL DEFAULT 0,
    revision BIGINT NOT NULL
);
CREATE INDEX consents_of_workspace ON consents (workspace, id);
CREATE INDEX consents_of_decision ON consents (decision);
CREATE INDEX consents_of_draft ON consents (draft);
CREATE INDEX consents_unsettled ON consents (id) WHERE is_settled = 0;
