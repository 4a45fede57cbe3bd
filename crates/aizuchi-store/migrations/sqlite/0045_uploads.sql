-- The files that people send in the local room, where no chat platform keeps them. What is in one stands in parts, so that
-- no row is large.
CREATE TABLE uploads (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    uploaded_ms INTEGER NOT NULL,
    -- The message that was sent with it. NULL until then.
    channel TEXT,
    message TEXT,
    PRIMARY KEY (id)
) WITHOUT ROWID;
CREATE INDEX uploads_of_message ON uploads (channel, message);
CREATE INDEX uploads_unsent ON uploads (uploaded_ms) WHERE message IS NULL;
CREATE TABLE upload_parts (
    upload TEXT NOT NULL,
    number INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (upload, number)
);

-- A file goes where its message goes, whatever statement takes that away.
CREATE TRIGGER uploads_sent AFTER INSERT ON messages
WHEN new.workspace = 'local' AND new.attachments <> '[]'
BEGIN
    UPDATE uploads SET channel = new.channel, message = new.id
    WHERE message IS NULL AND id IN (SELECT f.value ->> 'id' FROM json_each(new.attachments) AS f);
END;
CREATE TRIGGER uploads_removed AFTER UPDATE OF attachments ON messages
WHEN new.workspace = 'local' AND old.attachments <> new.attachments
BEGIN
    DELETE FROM uploads
    WHERE channel = new.channel AND message = new.id
        AND id NOT IN (SELECT f.value ->> 'id' FROM json_each(new.attachments) AS f);
END;
CREATE TRIGGER uploads_deleted AFTER DELETE ON messages
WHEN old.workspace = 'local' AND old.attachments <> '[]'
BEGIN
    DELETE FROM uploads WHERE channel = old.channel AND message = old.id;
END;
CREATE TRIGGER upload_parts_removed AFTER DELETE ON uploads
BEGIN
    DELETE FROM upload_parts WHERE upload = old.id;
END;
