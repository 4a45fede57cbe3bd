-- What one person said in a channel, newest first.
CREATE INDEX messages_of_author ON messages (workspace, channel, author, at_ms, id);

-- Who or what changed a memory or a memo (scope 'memo'). It holds no text; the versions do, as long as they are kept.
CREATE TABLE memory_changes (
    id BIGINT PRIMARY KEY,
    workspace TEXT COLLATE "C" NOT NULL,
    scope TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    thread TEXT COLLATE "C" NOT NULL,
    term TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    changed_by TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    old_version BIGINT,
    new_version BIGINT NOT NULL
);
CREATE INDEX memory_changes_newest ON memory_changes (workspace, id);
CREATE INDEX memory_changes_by_time ON memory_changes (at_ms);
