-- Whether the tokens of a call are estimated, since the model did not report them.
ALTER TABLE attempts ADD COLUMN usage_is_estimated INTEGER NOT NULL DEFAULT 0;

-- Prompts and answers are stored compressed; `prompt` is then 'zstd', and empty where they were dropped. Their size
-- counts against a limit.
ALTER TABLE exchanges ADD COLUMN packed BLOB;
ALTER TABLE exchanges ADD COLUMN stored_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE exchanges
    SET stored_bytes = length(CAST(prompt AS BLOB)) + coalesce(length(CAST(answer AS BLOB)), 0);
DROP INDEX exchanges_by_age;
CREATE INDEX exchanges_by_age ON exchanges (at_ms, stored_bytes);
