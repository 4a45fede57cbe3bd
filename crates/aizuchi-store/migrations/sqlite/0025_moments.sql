-- What a decision looked like when it was about to be judged, as numbers: what a learned gate learns from.
ALTER TABLE decisions ADD COLUMN moment TEXT;
CREATE INDEX decisions_with_moments ON decisions (workspace, id) WHERE moment IS NOT NULL;
