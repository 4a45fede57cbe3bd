-- Where nearly all was approved that was proposed with some confidence, the persona offers to speak by itself from that
-- confidence on: the newest offer of each channel. `id` is the proposal whose click led to it.
-- state: open, accepted, declined, withdrawn (clicks since then say otherwise).
CREATE TABLE trust_offers (
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    id INTEGER NOT NULL,
    -- In thousandths.
    min_confidence INTEGER NOT NULL,
    -- How much was approved from there on, and of how many clicks the offer knows.
    share REAL NOT NULL,
    clicks INTEGER NOT NULL,
    made_ms INTEGER NOT NULL,
    state TEXT NOT NULL,
    decided_by TEXT,
    decided_ms INTEGER,
    PRIMARY KEY (workspace, channel)
) WITHOUT ROWID;
