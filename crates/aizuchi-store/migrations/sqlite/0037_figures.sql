-- What the figures of a period are counted from.

-- Whose each model call was, also that of a memory. A channel is '' for the whole workspace.
ALTER TABLE attempts ADD COLUMN workspace TEXT NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN channel TEXT NOT NULL DEFAULT '';
UPDATE attempts SET workspace = d.workspace, channel = d.channel FROM decisions AS d WHERE d.id = attempts.decision;
-- Calls for memories did not say whose they were, but for which memory: channel/short_term/CHANNEL, for example, and with the
-- thread behind that.
UPDATE attempts SET channel = CASE
    WHEN chore LIKE 'channel/short_term/%' THEN substr(chore, 20)
    WHEN chore LIKE 'channel/long_term/%' THEN substr(chore, 19)
    WHEN chore LIKE 'thread/short_term/%' THEN substr(chore, 19, instr(substr(chore, 19) || '/', '/') - 1)
    WHEN chore LIKE 'thread/long_term/%' THEN substr(chore, 18, instr(substr(chore, 18) || '/', '/') - 1)
    ELSE '' END
WHERE chore IS NOT NULL;
-- The workspace is that of the messages in their prompts, as long as these are known; else the only one with such a channel,
-- or the only one that there is.
UPDATE attempts SET workspace = coalesce(
    (SELECT l.workspace FROM exchange_lines AS l WHERE l.attempt = attempts.id LIMIT 1),
    (SELECT CASE WHEN min(c.workspace) = max(c.workspace) THEN min(c.workspace) END
        FROM channels AS c WHERE c.id = attempts.channel),
    (SELECT CASE WHEN min(c.workspace) = max(c.workspace) THEN min(c.workspace) END FROM channels AS c),
    '')
WHERE chore IS NOT NULL;
CREATE INDEX attempts_by_time ON attempts (workspace, at_ms);

-- Model calls that belong to no claim. kind: trial, unfinished. Those of one order may be one row.
CREATE TABLE unclaimed_calls (
    id INTEGER PRIMARY KEY,
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    model TEXT NOT NULL,
    calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    usage_is_estimated INTEGER NOT NULL,
    price_micros INTEGER
);
CREATE INDEX unclaimed_calls_by_time ON unclaimed_calls (workspace, at_ms);

-- What may be a question.
CREATE INDEX messages_asking ON messages (workspace, at_ms) WHERE instr(text, '?') > 0 OR instr(text, '？') > 0;

-- Decisions that ended in a way that is rare.
CREATE INDEX decisions_by_outcome ON decisions (workspace, channel, ended, id) WHERE ended IS NOT NULL;
