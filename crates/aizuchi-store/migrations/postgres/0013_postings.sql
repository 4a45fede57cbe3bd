-- The full-text index: for each term, in which messages it is. A GIN index finds all messages with a term before the
-- newest can be chosen, which takes seconds for a common word among a million messages; here the newest are read
-- first, and no more than are wanted.
CREATE TABLE recall_postings (
    -- A term, or the first letter of terms in a script without spaces, followed by '*'.
    term TEXT COLLATE "C" NOT NULL,
    -- The number of the oldest message in this row. All of them are in the same channel.
    oldest BIGINT NOT NULL,
    -- By how much the numbers of the messages are larger, in ascending order.
    ahead INT[] NOT NULL,
    PRIMARY KEY (term, oldest)
) WITH (fillfactor = 80);
-- The planner needs to know no words.
ALTER TABLE recall_postings ALTER COLUMN term SET STATISTICS 0;

-- Everything is indexed anew, in the background.
DROP INDEX recall_terms;
ALTER TABLE recall_lines DROP COLUMN terms;
TRUNCATE recall_lines, recall_rooms, recall_stale;
UPDATE recall_watermark SET revision = 0;
