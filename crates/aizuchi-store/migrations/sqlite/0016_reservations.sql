-- What model calls may cost that are not booked yet. The key is the token of the claim that they are made for.
CREATE TABLE reservations (
    token INTEGER PRIMARY KEY,
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    is_unasked INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    micros INTEGER NOT NULL,
    until_ms INTEGER NOT NULL
);

-- The judge calls of the last hour about what one person said, and nobody else.
CREATE TABLE judge_calls (
    workspace TEXT NOT NULL,
    author TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    token INTEGER NOT NULL,
    PRIMARY KEY (workspace, author, at_ms, token)
) WITHOUT ROWID;

-- Those of the tokens that nobody waited for.
ALTER TABLE spending ADD COLUMN unasked_tokens INTEGER NOT NULL DEFAULT 0;

-- What is about to be said unasked.
CREATE INDEX steps_unasked ON steps (workspace, channel) WHERE is_owed = 0 AND verb <> 'judge';
