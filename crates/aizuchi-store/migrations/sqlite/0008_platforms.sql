-- What the writer's own app calls a line: it may come again under another id.
ALTER TABLE messages ADD COLUMN sent_as TEXT;
CREATE UNIQUE INDEX messages_sent_as ON messages (workspace, channel, sent_as)
    WHERE sent_as IS NOT NULL;

-- How far a platform's history has been heard.
CREATE TABLE bookmarks (
    workspace TEXT NOT NULL,
    place TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (workspace, place)
) WITHOUT ROWID;
