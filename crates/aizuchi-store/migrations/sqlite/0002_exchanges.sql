-- What models cost, in millionths; and what they were asked and what they said, kept apart from the
-- ledger since they are dropped after a while, or when a line that they hold is edited or deleted.

ALTER TABLE attempts ADD COLUMN price_micros INTEGER;

CREATE TABLE exchanges (
    attempt INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    prompt TEXT NOT NULL,
    answer TEXT
);
CREATE INDEX exchanges_by_age ON exchanges (at_ms);

-- The lines that prompts held.
CREATE TABLE exchange_lines (
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    line TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    PRIMARY KEY (workspace, channel, line, attempt)
) WITHOUT ROWID;
CREATE INDEX exchange_lines_of_attempt ON exchange_lines (attempt, line);

-- How often an owed answer was begun anew.
ALTER TABLE steps RENAME COLUMN is_redrafted TO redrafts;
