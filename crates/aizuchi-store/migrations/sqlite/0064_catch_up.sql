-- The IANA name of the time zone in a user's profile, where the platform tells it.
ALTER TABLE users ADD COLUMN zone TEXT;
-- When somebody was here last.
CREATE INDEX reactions_by_user ON reactions (workspace, user_id, at_ms);
-- How many plans somebody has.
CREATE INDEX plans_by_asker ON plans (workspace, asker);
