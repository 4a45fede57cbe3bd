-- How soon users answer is no longer learned.
ALTER TABLE channels DROP COLUMN delays;
