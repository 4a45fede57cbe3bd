-- Failed calls, by when they were made.
CREATE INDEX attempts_failed ON attempts (workspace, at_ms) WHERE result = 'failed';
