-- When the backup was made that a database was restored from, and when it was restored.
ALTER TABLE counters ADD COLUMN copied_ms BIGINT;
ALTER TABLE counters ADD COLUMN restored_ms BIGINT;
