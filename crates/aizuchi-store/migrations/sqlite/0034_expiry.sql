-- Messages that were erased because they were too old, and decisions whose reasons were: they stay without any text.
ALTER TABLE messages ADD COLUMN is_expired INTEGER NOT NULL DEFAULT 0;
-- After years, a channel is mostly what has expired, and the newest that are left are read for each decision.
CREATE INDEX messages_left ON messages (workspace, channel, thread, at_ms, id) WHERE deleted_ms IS NULL AND withheld = 0;
CREATE INDEX messages_unexpired ON messages (at_ms) WHERE deleted_ms IS NULL;
ALTER TABLE decisions ADD COLUMN is_expired INTEGER NOT NULL DEFAULT 0;
CREATE INDEX decisions_unexpired ON decisions (closed_ms) WHERE closed_ms IS NOT NULL AND is_expired = 0;

-- A mark holds no text. It goes with what somebody deleted, and stays with what was too old.
DROP TRIGGER marks_of_deleted;
CREATE TRIGGER marks_of_deleted AFTER UPDATE OF deleted_ms ON messages
WHEN old.deleted_ms IS NULL AND new.deleted_ms IS NOT NULL AND new.is_expired = 0 AND old.decision IS NOT NULL
BEGIN
    DELETE FROM decision_marks WHERE decision = old.decision;
END;
