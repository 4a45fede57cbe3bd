-- Counts the probes that checked whether the database is writable. Writing the same bytes again would write nothing.
ALTER TABLE counters ADD COLUMN probes INTEGER NOT NULL DEFAULT 0;
