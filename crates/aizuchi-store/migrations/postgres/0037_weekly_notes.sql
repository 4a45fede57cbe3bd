-- What a week's note told of a channel, once: who begins the row sends it. Nothing of it is kept but that.
-- week: the date of its end, as 20261123. state: sending, sent, nothing (any more), refused.
CREATE TABLE weekly_notes (
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    week BIGINT NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    begun_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, channel, week)
);
-- The proposal of a decision, for its page.
CREATE INDEX proposals_by_decision ON proposals (decision);
