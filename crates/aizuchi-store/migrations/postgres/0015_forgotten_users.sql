-- Who was forgotten, as a hash, so that a backup that was made before does not bring them back.
CREATE TABLE forgotten_users (
    workspace TEXT COLLATE "C" NOT NULL,
    user_hash TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, user_hash)
);
