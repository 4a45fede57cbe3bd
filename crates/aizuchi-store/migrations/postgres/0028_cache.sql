-- The part of a call's input that was written to the provider's prefix cache, which costs more than to send it.
ALTER TABLE attempts ADD COLUMN cache_write_tokens BIGINT NOT NULL DEFAULT 0;
