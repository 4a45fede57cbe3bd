-- How often a decision was looked at again.
ALTER TABLE steps ADD COLUMN second_looks INTEGER NOT NULL DEFAULT 0;
