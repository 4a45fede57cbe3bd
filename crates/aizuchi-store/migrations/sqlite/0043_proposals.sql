-- What the persona would say unasked where somebody approves it first. The words are rows of the outbox in the state
-- 'proposed', until somebody decides; `id` is the first of them.
-- state: open, approved, edited, declined, never, lapsed.
CREATE TABLE proposals (
    id INTEGER PRIMARY KEY,
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    thread TEXT NOT NULL,
    decision INTEGER NOT NULL,
    -- How sure the judge was. It is a label with what somebody decided.
    confidence REAL,
    made_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    state TEXT NOT NULL,
    decided_by TEXT,
    decided_ms INTEGER
);
CREATE INDEX proposals_of_workspace ON proposals (workspace, id);
CREATE INDEX proposals_open ON proposals (expires_ms) WHERE state = 'open';
CREATE INDEX proposals_decided ON proposals (workspace, decided_ms, id) WHERE decided_ms IS NOT NULL;
