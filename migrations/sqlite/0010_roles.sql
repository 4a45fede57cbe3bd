-- Who looks after the workspace, as its platform says, and who ordered silence: what an admin ordered, only an
-- admin takes back.

ALTER TABLE users ADD COLUMN role TEXT NOT NULL DEFAULT 'member';
-- The local room is looked after by whoever is in it.
UPDATE users SET role = 'admin' WHERE workspace = 'local' AND kind = 'human';
ALTER TABLE mutes ADD COLUMN role TEXT NOT NULL DEFAULT 'admin';
