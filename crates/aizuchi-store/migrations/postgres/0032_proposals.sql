-- What the persona would say unasked where somebody approves it first. The words are rows of the outbox in the state
-- 'proposed', until somebody decides; `id` is the first of them.
-- state: open, approved, edited, declined, never, lapsed.
CREATE TABLE proposals (
    id BIGINT PRIMARY KEY,
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    thread TEXT COLLATE "C" NOT NULL,
    decision BIGINT NOT NULL,
    -- How sure the judge was. It is a label with what somebody decided.
    confidence DOUBLE PRECISION,
    made_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    decided_by TEXT COLLATE "C",
    decided_ms BIGINT
);
CREATE INDEX proposals_of_workspace ON proposals (workspace, id);
CREATE INDEX proposals_open ON proposals (expires_ms) WHERE state = 'open';
CREATE INDEX proposals_decided ON proposals (workspace, decided_ms, id) WHERE decided_ms IS NOT NULL;
