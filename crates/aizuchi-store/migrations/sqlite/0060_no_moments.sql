-- No gate is learned from verdicts any more.
UPDATE decisions SET gate = 'nothing_open' WHERE gate = 'learned';
DROP INDEX decisions_with_moments;
ALTER TABLE decisions DROP COLUMN moment;
