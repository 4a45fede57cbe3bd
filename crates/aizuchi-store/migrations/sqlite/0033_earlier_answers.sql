-- How many answers a message had got before an edit asked once more.
ALTER TABLE owed ADD COLUMN earlier_answers INTEGER NOT NULL DEFAULT 0;
