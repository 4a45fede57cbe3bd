-- The revision at which a channel was last public no more: words that were made from its lines before that
-- must not be said or kept elsewhere.
ALTER TABLE channels ADD COLUMN withdrawn INTEGER;
CREATE INDEX channels_withdrawn ON channels (workspace, withdrawn) WHERE withdrawn IS NOT NULL;
