-- Decisions that ended in a way that is rare.
CREATE INDEX decisions_by_outcome ON decisions (workspace, channel, ended, id) WHERE ended IS NOT NULL;
