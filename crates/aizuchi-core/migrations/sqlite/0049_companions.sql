-- What the bots of a channel do unasked, by their ids: how often they join in what people say, and how often they begin.
ALTER TABLE channels ADD COLUMN bots TEXT NOT NULL DEFAULT '{}';
