-- Whether the tokens of a call are estimated, since the model did not report them.
ALTER TABLE attempts ADD COLUMN usage_is_estimated BIGINT NOT NULL DEFAULT 0;

-- Prompts and answers are stored compressed; `prompt` is then 'zstd', and empty where they were dropped. Their size
-- counts against a limit.
ALTER TABLE exchanges
    ADD COLUMN packed BYTEA,
    ADD COLUMN stored_bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE exchanges
    ALTER COLUMN packed SET STORAGE EXTERNAL,
    ALTER COLUMN packed SET STATISTICS 0;
UPDATE exchanges SET stored_bytes = octet_length(prompt) + coalesce(octet_length(answer), 0);
DROP INDEX exchanges_by_age;
CREATE INDEX exchanges_by_age ON exchanges (at_ms, stored_bytes);
