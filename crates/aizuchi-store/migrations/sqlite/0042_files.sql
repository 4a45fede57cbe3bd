-- The files of a message, as JSON: they are erased with its text. Their names stand apart, because they are searched.
ALTER TABLE messages ADD COLUMN attachments TEXT NOT NULL DEFAULT '[]';
ALTER TABLE messages ADD COLUMN file_names TEXT NOT NULL DEFAULT '';

DROP TRIGGER recall_edited;
CREATE TRIGGER recall_edited AFTER UPDATE OF text, file_names ON messages
WHEN old.text <> new.text OR old.file_names <> new.file_names
BEGIN
    INSERT INTO recall_stale
    SELECT l.number, old.text || ' ' || old.file_names FROM recall_lines AS l
    CROSS JOIN recall_rooms AS r ON r.number = l.number >> 32
    WHERE l.id = old.id AND r.workspace = old.workspace AND r.channel = old.channel;
END;
DROP TRIGGER recall_removed;
CREATE TRIGGER recall_removed AFTER DELETE ON messages
BEGIN
    INSERT INTO recall_stale
    SELECT l.number, old.text || ' ' || old.file_names FROM recall_lines AS l
    CROSS JOIN recall_rooms AS r ON r.number = l.number >> 32
    WHERE l.id = old.id AND r.workspace = old.workspace AND r.channel = old.channel;
END;
