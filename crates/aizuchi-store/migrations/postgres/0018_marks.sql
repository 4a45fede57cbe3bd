-- What people mark decisions as on the pages.
CREATE TABLE decision_marks (
    decision BIGINT PRIMARY KEY,
    workspace TEXT COLLATE "C" NOT NULL,
    mark TEXT COLLATE "C" NOT NULL,
    marked_by TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL
);
CREATE INDEX decision_marks_by_time ON decision_marks (workspace, at_ms);

-- A mark is about what was said, and goes with it.
CREATE FUNCTION drop_marks_of_deleted() RETURNS TRIGGER LANGUAGE plpgsql
AS $$
BEGIN
    DELETE FROM decision_marks WHERE decision = old.decision;
    RETURN NULL;
END
$$;
CREATE TRIGGER marks_of_deleted AFTER UPDATE OF deleted_ms ON messages
FOR EACH ROW WHEN (old.deleted_ms IS NULL AND new.deleted_ms IS NOT NULL AND old.decision IS NOT NULL)
EXECUTE FUNCTION drop_marks_of_deleted();
