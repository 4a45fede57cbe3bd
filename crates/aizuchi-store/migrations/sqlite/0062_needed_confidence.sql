-- The confidence that the judge needed when it was asked. Rules may have changed since.
ALTER TABLE decisions ADD COLUMN needed_confidence REAL;
