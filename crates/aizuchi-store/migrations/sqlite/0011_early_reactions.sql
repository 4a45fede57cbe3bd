-- Somebody may react to a line before it is known here: to a post of ours before the platform's answer, or to
-- a line that is read later. Such a reaction waits for its line.
ALTER TABLE reactions ADD COLUMN is_early INTEGER NOT NULL DEFAULT 0;
CREATE INDEX reactions_early ON reactions (workspace, message, channel) WHERE is_early = 1;
