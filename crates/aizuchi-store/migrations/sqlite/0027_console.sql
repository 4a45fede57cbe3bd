-- What the console reads: when the persona last spoke in a channel, and how a day's decisions ended.
CREATE INDEX messages_by_persona ON messages (workspace, channel, at_ms) WHERE author_kind = 'persona';
CREATE INDEX decisions_by_time ON decisions (workspace, opened_ms);

-- Who read the text of private channels on the pages, by hours.
CREATE TABLE private_reads (
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    reader TEXT NOT NULL,
    what TEXT NOT NULL,
    hour_ms INTEGER NOT NULL,
    last_ms INTEGER NOT NULL,
    reads INTEGER NOT NULL,
    PRIMARY KEY (workspace, channel, reader, what, hour_ms)
) WITHOUT ROWID;
CREATE INDEX private_reads_by_time ON private_reads (last_ms);
