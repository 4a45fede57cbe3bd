-- Finding lines by their words. Lines are indexed in batches, in the order of their revisions.

-- Up to which revision; whatever came or changed later is searched as it stands.
CREATE TABLE recall_watermark (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    revision INTEGER NOT NULL
);
INSERT INTO recall_watermark VALUES (1, 0);

-- A channel's lines that were heard with the same visibility.
CREATE TABLE recall_rooms (
    number INTEGER PRIMARY KEY,
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    visibility TEXT NOT NULL,
    -- How many lines are indexed, and the number that the newest one was given.
    lines INTEGER NOT NULL,
    last INTEGER NOT NULL,
    UNIQUE (workspace, channel, visibility)
);

-- The lines that are indexed. Their numbers are ours, since those that SQLite gives to the rows of
-- `messages` may change under VACUUM: the room's number above, the line's in the lower 32 bits.
CREATE TABLE recall_lines (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL
);
CREATE INDEX recall_lines_by_id ON recall_lines (id);

-- Only which terms are in which lines: the text itself is nowhere but in `messages`. Terms come from
-- our own analyzer, with spaces between them. What is deleted is to be gone from the file.
CREATE VIRTUAL TABLE recall_terms USING fts5 (
    terms, content = '', columnsize = 0, detail = none, tokenize = 'ascii'
);
INSERT INTO recall_terms (recall_terms, rank) VALUES ('secure-delete', 1);

-- To take a line out of the index, one has to know what it said. Whoever changes a line leaves that
-- here, and the writer empties this before it commits.
CREATE TABLE recall_stale (
    number INTEGER NOT NULL,
    text TEXT NOT NULL
);
CREATE TRIGGER recall_edited AFTER UPDATE OF text ON messages WHEN old.text <> new.text
BEGIN
    INSERT INTO recall_stale
    SELECT l.number, old.text FROM recall_lines AS l
    CROSS JOIN recall_rooms AS r ON r.number = l.number >> 32
    WHERE l.id = old.id AND r.workspace = old.workspace AND r.channel = old.channel;
END;
CREATE TRIGGER recall_removed AFTER DELETE ON messages
BEGIN
    INSERT INTO recall_stale
    SELECT l.number, old.text FROM recall_lines AS l
    CROSS JOIN recall_rooms AS r ON r.number = l.number >> 32
    WHERE l.id = old.id AND r.workspace = old.workspace AND r.channel = old.channel;
END;
