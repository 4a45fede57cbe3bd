-- Who looks after the workspace, as its platform says, and who ordered silence: what an admin ordered, only an
-- admin takes back.

ALTER TABLE users ADD COLUMN role TEXT NOT NULL DEFAULT 'member';
-- The local room is looked after by whoever is in it.
UPDATE users SET role = 'admin' WHERE workspace = 'local' AND kind = 'human';
CREATE TABLE silences (
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    role TEXT NOT NULL,
    until_ms INTEGER NOT NULL,
    PRIMARY KEY (workspace, channel, role)
) WITHOUT ROWID;
INSERT INTO silences SELECT workspace, channel, 'admin', until_ms FROM mutes;
DROP TABLE mutes;
ALTER TABLE silences RENAME TO mutes;
