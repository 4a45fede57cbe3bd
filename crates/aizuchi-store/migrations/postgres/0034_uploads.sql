-- The files that people send in the local room, where no chat platform keeps them. What is in one stands in parts, so that
-- no row is large.
CREATE TABLE uploads (
    id TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    media_type TEXT COLLATE "C" NOT NULL,
    size_bytes BIGINT NOT NULL,
    uploaded_ms BIGINT NOT NULL,
    -- The message that was sent with it. NULL until then.
    channel TEXT COLLATE "C",
    message TEXT COLLATE "C",
    PRIMARY KEY (id)
);
CREATE INDEX uploads_of_message ON uploads (channel, message);
CREATE INDEX uploads_unsent ON uploads (uploaded_ms) WHERE message IS NULL;
CREATE TABLE upload_parts (
    upload TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    bytes BYTEA NOT NULL,
    PRIMARY KEY (upload, number)
);

-- A file goes where its message goes, whatever statement takes that away.
CREATE FUNCTION note_sent_uploads() RETURNS TRIGGER LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE uploads SET channel = new.channel, message = new.id
    WHERE uploads.message IS NULL
        AND uploads.id IN (SELECT f.value ->> 'id' FROM json_array_elements(new.attachments::json) AS f(value));
    RETURN NULL;
END
$$;
CREATE TRIGGER uploads_sent AFTER INSERT ON messages
FOR EACH ROW WHEN (new.workspace = 'local' AND new.attachments <> '[]') EXECUTE FUNCTION note_sent_uploads();

CREATE FUNCTION drop_removed_uploads() RETURNS TRIGGER LANGUAGE plpgsql
AS $$
BEGIN
    DELETE FROM uploads
    WHERE uploads.channel = new.channel AND uploads.message = new.id
        AND uploads.id NOT IN (SELECT f.value ->> 'id' FROM json_array_elements(new.attachments::json) AS f(value));
    RETURN NULL;
END
$$;
CREATE TRIGGER uploads_removed AFTER UPDATE OF attachments ON messages
FOR EACH ROW WHEN (new.workspace = 'local' AND old.attachments <> new.attachments)
EXECUTE FUNCTION drop_removed_uploads();

CREATE FUNCTION drop_deleted_uploads() RETURNS TRIGGER LANGUAGE plpgsql
AS $$
BEGIN
    DELETE FROM uploads WHERE uploads.channel = old.channel AND uploads.message = old.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER uploads_deleted AFTER DELETE ON messages
FOR EACH ROW WHEN (old.workspace = 'local' AND old.attachments <> '[]') EXECUTE FUNCTION drop_deleted_uploads();

CREATE FUNCTION drop_upload_parts() RETURNS TRIGGER LANGUAGE plpgsql
AS $$
BEGIN
    DELETE FROM upload_parts WHERE upload_parts.upload = old.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER upload_parts_removed AFTER DELETE ON uploads
FOR EACH ROW EXECUTE FUNCTION drop_upload_parts();
