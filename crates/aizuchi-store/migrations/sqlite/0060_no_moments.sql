-- No gate is learned from verdicts any more. What a learned gate settled is listed with the gate that now settles most of
-- it.
UPDATE decisions SET gate = 'nothing_open' WHERE gate = 'learned';
DROP INDEX decisions_with_moments;
ALTER TABLE decisions DROP COLUMN moment;
