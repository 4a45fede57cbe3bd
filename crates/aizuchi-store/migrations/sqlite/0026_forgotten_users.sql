-- Who was forgotten, as a hash, so that a backup that was made before does not bring them back.
CREATE TABLE forgotten_users (
    workspace TEXT NOT NULL,
    user_hash TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (workspace, user_hash)
) WITHOUT ROWID;
