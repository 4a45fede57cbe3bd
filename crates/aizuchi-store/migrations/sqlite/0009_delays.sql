-- How long people of a channel take to answer somebody else's line: a list of counts.
ALTER TABLE channels ADD COLUMN delays TEXT NOT NULL DEFAULT '[]';
