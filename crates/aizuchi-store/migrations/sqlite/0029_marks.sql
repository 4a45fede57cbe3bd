-- What people mark decisions as on the pages.
CREATE TABLE decision_marks (
    decision INTEGER PRIMARY KEY,
    workspace TEXT NOT NULL,
    mark TEXT NOT NULL,
    marked_by TEXT NOT NULL,
    at_ms INTEGER NOT NULL
);
CREATE INDEX decision_marks_by_time ON decision_marks (workspace, at_ms);

-- A mark is about what was said, and goes with it.
CREATE TRIGGER marks_of_deleted AFTER UPDATE OF deleted_ms ON messages
WHEN old.deleted_ms IS NULL AND new.deleted_ms IS NOT NULL AND old.decision IS NOT NULL
BEGIN
    DELETE FROM decision_marks WHERE decision = old.decision;
END;
