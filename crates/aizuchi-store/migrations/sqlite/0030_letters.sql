-- A dead letter names the decision that failed with it, so that its texts are found however they were said.
ALTER TABLE dead_letters ADD COLUMN decision INTEGER;
UPDATE dead_letters SET decision =
    (SELECT max(d.id) FROM decisions AS d
     WHERE d.workspace = dead_letters.workspace AND d.channel = dead_letters.channel
        AND d.thread = dead_letters.thread AND d.closed_ms = dead_letters.at_ms AND d.ended = 'failed');
CREATE INDEX dead_letters_by_decision ON dead_letters (decision);
