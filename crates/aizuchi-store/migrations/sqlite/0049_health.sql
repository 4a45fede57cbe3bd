-- When the newest backup was made, by whichever process. In a backup: when it was made itself.
ALTER TABLE counters ADD COLUMN backed_up_ms INTEGER;
-- How the calls for each memory went: the newest one of each result.
CREATE INDEX attempts_of_chores ON attempts (workspace, chore, result, id) WHERE chore IS NOT NULL;
