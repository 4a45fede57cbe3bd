-- What each message most probably replies to: a row for each message that it may be, and one with the parent '' if it
-- may begin something new.
CREATE TABLE links (
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    message TEXT NOT NULL,
    -- That of the models that found it, 0 if the platform says so.
    version INTEGER NOT NULL,
    parent TEXT NOT NULL,
    probability REAL NOT NULL,
    PRIMARY KEY (workspace, channel, message, version, parent)
) WITHOUT ROWID;

-- Links are found from a message and the forty before it. If one of these changes or goes, they are found anew.
CREATE TRIGGER links_outdated AFTER UPDATE OF text, deleted_ms, withheld ON messages
WHEN old.text <> new.text OR old.withheld <> new.withheld OR old.deleted_ms IS NOT new.deleted_ms
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
