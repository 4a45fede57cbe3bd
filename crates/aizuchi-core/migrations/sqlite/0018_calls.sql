-- Whether the tokens of a call are estimated, since the model did not report them.
ALTER TABLE attempts ADD COLUMN usage_is_estimated INTEGER NOT NULL DEFAULT 0;
