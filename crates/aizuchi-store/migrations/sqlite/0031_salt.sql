-- The salt of each hash. Those without one get it at the next start.
ALTER TABLE forgotten_users ADD COLUMN salt TEXT NOT NULL DEFAULT '';
