-- What one person said in a channel, newest first.
CREATE INDEX messages_of_author ON messages (workspace, channel, author, at_ms, id);

-- Who or what changed a memory or a memo (scope 'memo'). It holds no text; the versions do, as long as they are kept.
CREATE TABLE memory_changes (
    id INTEGER PRIMARY KEY,
    workspace TEXT NOT NULL,
    scope TEXT NOT NULL,
    channel TEXT NOT NULL,
    thread TEXT NOT NULL,
    term TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    changed_by TEXT NOT NULL,
    kind TEXT NOT NULL,
    old_version INTEGER,
    new_version INTEGER NOT NULL
);
CREATE INDEX memory_changes_newest ON memory_changes (workspace, id);
CREATE INDEX memory_changes_by_time ON memory_changes (at_ms);
