-- What the members of a channel say it is for.
ALTER TABLE channels ADD COLUMN topic TEXT COLLATE "C" NOT NULL DEFAULT '';
