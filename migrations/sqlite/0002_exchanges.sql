-- What models cost, in millionths; and what they were asked and what they said, kept apart from the
-- ledger since they are dropped after a while, or when a line that they hold is taken back.

ALTER TABLE attempts ADD COLUMN price_micros INTEGER;

CREATE TABLE exchanges (
    attempt INTEGER PRIMARY KEY,
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    -- The ids of the lines that the prompt holds, a JSON list.
    lines TEXT NOT NULL,
    prompt TEXT NOT NULL,
    answer TEXT
);
CREATE INDEX exchanges_of_channel ON exchanges (workspace, channel);
CREATE INDEX exchanges_by_age ON exchanges (at_ms);
