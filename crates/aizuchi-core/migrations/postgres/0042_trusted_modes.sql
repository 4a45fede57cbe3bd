-- The confidence that a judge needs besides what is configured, in hundredths, where somebody accepted an offer to speak
-- from there on. Another mode takes it away.
ALTER TABLE modes ADD COLUMN min_confidence BIGINT;
