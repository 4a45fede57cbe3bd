-- Until when conversations were begun anew. What is heard later of the time before is not listened to either.
CREATE TABLE resets (
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    thread TEXT NOT NULL,
    until_ms INTEGER NOT NULL,
    PRIMARY KEY (workspace, channel, thread)
) WITHOUT ROWID;
