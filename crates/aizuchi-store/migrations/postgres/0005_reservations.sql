-- What model calls may cost that are not booked yet. The key is the token of the claim that they are made for.
CREATE TABLE reservations (
    token BIGINT PRIMARY KEY,
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    is_unasked BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    micros BIGINT NOT NULL,
    until_ms BIGINT NOT NULL
);

-- The judge calls of the last hour about what one person said, and nobody else.
CREATE TABLE judge_calls (
    workspace TEXT COLLATE "C" NOT NULL,
    author TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    token BIGINT NOT NULL,
    PRIMARY KEY (workspace, author, at_ms, token)
);

-- Those of the tokens that nobody waited for.
ALTER TABLE spending ADD COLUMN unasked_tokens BIGINT NOT NULL DEFAULT 0;

-- What is about to be said unasked.
CREATE INDEX steps_unasked ON steps (workspace, channel) WHERE is_owed = 0 AND verb <> 'judge';
