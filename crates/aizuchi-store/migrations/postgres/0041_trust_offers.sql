-- Where nearly all was approved that was proposed with some confidence, the persona offers to speak by itself from that
-- confidence on: the newest offer of each channel. `id` is the proposal whose click led to it.
-- state: open, accepted, declined, withdrawn (clicks since then say otherwise).
CREATE TABLE trust_offers (
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    id BIGINT NOT NULL,
    -- In thousandths.
    min_confidence BIGINT NOT NULL,
    -- How much was approved from there on, and of how many clicks the offer knows.
    share DOUBLE PRECISION NOT NULL,
    clicks BIGINT NOT NULL,
    made_ms BIGINT NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    decided_by TEXT COLLATE "C",
    decided_ms BIGINT,
    PRIMARY KEY (workspace, channel)
);
