-- The tokens of models whose price is not known.
ALTER TABLE spending ADD COLUMN unpriced_tokens BIGINT NOT NULL DEFAULT 0;
-- What cost nothing so far was most probably not priced.
UPDATE spending SET unpriced_tokens = tokens WHERE micros = 0;
