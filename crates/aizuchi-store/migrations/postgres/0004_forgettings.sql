-- Somebody who is being forgotten, in small steps. `position` is how far that is, as JSON, and '' once it is done. Then
-- the row stays for a while, since nobody is forgotten twice within the hour.
CREATE TABLE forgettings (
    workspace TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    -- When they asked for it, and when it began.
    asked_ms BIGINT NOT NULL,
    begun_ms BIGINT NOT NULL,
    -- What was heard up to this revision is forgotten.
    until BIGINT NOT NULL,
    keeps_name BIGINT NOT NULL,
    position TEXT COLLATE "C" NOT NULL,
    messages BIGINT NOT NULL DEFAULT 0,
    own_messages BIGINT NOT NULL DEFAULT 0,
    memos BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (workspace, user_id)
);

-- The memories and memos that told of them: prompts since then that held one go, too.
CREATE TABLE forgotten_memories (
    workspace TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    memory BIGINT NOT NULL,
    since_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, user_id, memory)
);

-- What people are and were called, and since when: 0 if that was before this was noted.
CREATE TABLE user_names (
    workspace TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    since_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, user_id, name)
);
INSERT INTO user_names SELECT workspace, id, name, 0 FROM users;

CREATE INDEX messages_by_author ON messages (workspace, author, heard);

-- The planner needs to know nobody, and what it knows is not forgotten with them.
ALTER TABLE forgettings
    ALTER COLUMN user_id SET STATISTICS 0,
    ALTER COLUMN position SET STATISTICS 0;
ALTER TABLE forgotten_memories
    ALTER COLUMN user_id SET STATISTICS 0;
ALTER TABLE user_names
    ALTER COLUMN user_id SET STATISTICS 0,
    ALTER COLUMN name SET STATISTICS 0;

-- What is deleted has no links any more, so erasing its text changes none.
DROP TRIGGER links_outdated ON messages;
CREATE TRIGGER links_outdated AFTER UPDATE OF text, deleted_ms, withheld ON messages
FOR EACH ROW WHEN ((old.text <> new.text OR old.withheld <> new.withheld
    OR old.deleted_ms IS DISTINCT FROM new.deleted_ms)
    AND (old.deleted_ms IS NULL OR new.deleted_ms IS NULL))
EXECUTE FUNCTION drop_outdated_links();
