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
