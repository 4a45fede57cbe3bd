-- The files of a message, as JSON: they are erased with its text. Their names stand apart, because they are searched.
ALTER TABLE messages ADD COLUMN attachments TEXT COLLATE "C" NOT NULL DEFAULT '[]';
ALTER TABLE messages ADD COLUMN file_names TEXT COLLATE "C" NOT NULL DEFAULT '';
-- The planner needs to know nothing of words.
ALTER TABLE messages
    ALTER COLUMN attachments SET STATISTICS 0,
    ALTER COLUMN file_names SET STATISTICS 0;

CREATE OR REPLACE FUNCTION note_stale_line() RETURNS TRIGGER LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO recall_stale (number, text)
    SELECT l.number, old.text || ' ' || old.file_names FROM recall_lines AS l
    JOIN recall_rooms AS r ON r.number = l.number >> 32
    WHERE l.id = old.id AND r.workspace = old.workspace AND r.channel = old.channel;
    RETURN NULL;
END
$$;
DROP TRIGGER recall_edited ON messages;
CREATE TRIGGER recall_edited AFTER UPDATE OF text, file_names ON messages
FOR EACH ROW WHEN (old.text <> new.text OR old.file_names <> new.file_names) EXECUTE FUNCTION note_stale_line();
