-- What the console reads: when the persona last spoke in a channel, and how a day's decisions ended.
CREATE INDEX messages_by_persona ON messages (workspace, channel, at_ms) WHERE author_kind = 'persona';
CREATE INDEX decisions_by_time ON decisions (workspace, opened_ms);

-- Who read the text of private channels on the pages, by hours.
CREATE TABLE private_reads (
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    reader TEXT COLLATE "C" NOT NULL,
    what TEXT COLLATE "C" NOT NULL,
    hour_ms BIGINT NOT NULL,
    last_ms BIGINT NOT NULL,
    reads BIGINT NOT NULL,
    PRIMARY KEY (workspace, channel, reader, what, hour_ms)
);
CREATE INDEX private_reads_by_time ON private_reads (last_ms);
