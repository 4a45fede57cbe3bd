-- What deciding looks at: how lines are waited out, what was weighed, what was said unasked, what was
-- used up, and what people ordered.

-- 1: not to be listened to, so in no prompt and no memory.
ALTER TABLE messages ADD COLUMN withheld INTEGER NOT NULL DEFAULT 0;

-- When the first line was said that a step waits for.
ALTER TABLE steps ADD COLUMN since_ms INTEGER NOT NULL DEFAULT 0;
UPDATE steps SET since_ms = due_ms;

-- The line that a reaction is to; `text` is its emoji then.
ALTER TABLE outbox ADD COLUMN reaction_on TEXT;
ALTER TABLE outbox ADD COLUMN is_unasked INTEGER NOT NULL DEFAULT 0;
CREATE INDEX outbox_unasked ON outbox (workspace, dispatched_ms, channel)
    WHERE is_unasked = 1 AND dispatched_ms IS NOT NULL;

ALTER TABLE decisions ADD COLUMN mode TEXT;
ALTER TABLE decisions ADD COLUMN passed TEXT;
ALTER TABLE decisions ADD COLUMN conversation_state TEXT;
-- The revision that the verdict was made from.
ALTER TABLE decisions ADD COLUMN considered INTEGER;
CREATE INDEX decisions_unasked ON decisions (workspace, channel, closed_ms, thread)
    WHERE ended = 'spoke' AND is_addressed = 0;
CREATE INDEX decisions_over_budget ON decisions (workspace, channel, thread, closed_ms)
    WHERE ended = 'over_budget';

CREATE INDEX owed_by_asker ON owed (workspace, asker, closed_ms);

-- What models used up, by whole hours and days, for a channel or ('') for the whole workspace.
CREATE TABLE spending (
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    span TEXT NOT NULL,
    begin_ms INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    micros INTEGER NOT NULL,
    PRIMARY KEY (workspace, channel, span, begin_ms)
) WITHOUT ROWID;

-- A channel, or '' for all.
CREATE TABLE mutes (
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    until_ms INTEGER NOT NULL,
    PRIMARY KEY (workspace, channel)
) WITHOUT ROWID;

CREATE TABLE modes (
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    mode TEXT NOT NULL,
    PRIMARY KEY (workspace, channel)
) WITHOUT ROWID;

CREATE TABLE opted_out (
    workspace TEXT NOT NULL,
    user TEXT NOT NULL,
    PRIMARY KEY (workspace, user)
) WITHOUT ROWID;

-- How people react to lines. A reaction that was taken away stays for as long as its line, so that an
-- older report of it does not bring it back.

CREATE TABLE reactions (
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    message TEXT NOT NULL,
    emoji TEXT NOT NULL,
    user_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    removed_ms INTEGER,
    PRIMARY KEY (workspace, message, channel, emoji, user_id)
) WITHOUT ROWID;

-- The revision at which the reactions to a line changed last. It is not the line's own, since a
-- reaction is no edit: prompts, drafts, memories and the index of words stay as they are.
ALTER TABLE messages ADD COLUMN reacted INTEGER;
CREATE INDEX messages_by_reaction ON messages (workspace, reacted) WHERE reacted IS NOT NULL;

-- However a line goes, the reactions to it go with it.
CREATE TRIGGER reactions_deleted AFTER UPDATE OF deleted_ms ON messages WHEN new.deleted_ms IS NOT NULL
BEGIN
    DELETE FROM reactions WHERE workspace = old.workspace AND message = old.id AND channel = old.channel;
END;
CREATE TRIGGER reactions_removed AFTER DELETE ON messages
BEGIN
    DELETE FROM reactions WHERE workspace = old.workspace AND message = old.id AND channel = old.channel;
END;
