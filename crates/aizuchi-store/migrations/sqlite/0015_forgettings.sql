-- Somebody who is being forgotten, in small steps. `position` is how far that is, as JSON, and '' once it is done. Then
-- the row stays for a while, since nobody is forgotten twice within the hour.
CREATE TABLE forgettings (
    workspace TEXT NOT NULL,
    user_id TEXT NOT NULL,
    -- When they asked for it, and when it began.
    asked_ms INTEGER NOT NULL,
    begun_ms INTEGER NOT NULL,
    -- What was heard up to this revision is forgotten.
    until INTEGER NOT NULL,
    keeps_name INTEGER NOT NULL,
    position TEXT NOT NULL,
    messages INTEGER NOT NULL DEFAULT 0,
    own_messages INTEGER NOT NULL DEFAULT 0,
    memos INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (workspace, user_id)
) WITHOUT ROWID;

-- The memories and memos that told of them: prompts since then that held one go, too.
CREATE TABLE forgotten_memories (
    workspace TEXT NOT NULL,
    user_id TEXT NOT NULL,
    memory INTEGER NOT NULL,
    since_ms INTEGER NOT NULL,
    PRIMARY KEY (workspace, user_id, memory)
) WITHOUT ROWID;

-- What people are and were called, and since when: 0 if that was before this was noted.
CREATE TABLE user_names (
    workspace TEXT NOT NULL,
    user_id TEXT NOT NULL,
    name TEXT NOT NULL,
    since_ms INTEGER NOT NULL,
    PRIMARY KEY (workspace, user_id, name)
) WITHOUT ROWID;
INSERT INTO user_names SELECT workspace, id, name, 0 FROM users;

CREATE INDEX messages_by_author ON messages (workspace, author, heard);

-- What is deleted has no links any more, so erasing its text changes none.
DROP TRIGGER links_outdated;
CREATE TRIGGER links_outdated AFTER UPDATE OF text, deleted_ms, withheld ON messages
WHEN (old.text <> new.text OR old.withheld <> new.withheld OR old.deleted_ms IS NOT new.deleted_ms)
    AND (old.deleted_ms IS NULL OR new.deleted_ms IS NULL)
BEGIN
    DELETE FROM links WHERE workspace = old.workspace AND channel = old.channel AND version > 0 AND message IN (
        SELECT old.id
        UNION ALL SELECT id FROM (SELECT id FROM messages
            WHERE workspace = old.workspace AND channel = old.channel AND thread = old.thread
                AND (at_ms, id) > (old.at_ms, old.id) AND deleted_ms IS NULL AND withheld = 0
            ORDER BY at_ms, id LIMIT 40)
        UNION ALL SELECT id FROM (SELECT id FROM messages
            WHERE workspace = old.workspace AND channel = old.channel AND thread = old.id
                AND deleted_ms IS NULL AND withheld = 0
            ORDER BY at_ms, id LIMIT 40));
    DELETE FROM links WHERE workspace = old.workspace AND channel = old.channel AND message = old.id
        AND new.deleted_ms IS NOT NULL;
END;
