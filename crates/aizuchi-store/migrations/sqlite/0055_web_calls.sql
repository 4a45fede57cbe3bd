-- What replies have looked up on the web within the last day: how often, for which decision, and for whom; nothing of what.
-- person: whom the reply answers, empty for nobody, or somebody who is forgotten.
CREATE TABLE web_calls (
    decision INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    workspace TEXT NOT NULL,
    person TEXT NOT NULL,
    calls INTEGER NOT NULL,
    PRIMARY KEY (decision, at_ms)
) WITHOUT ROWID;
CREATE INDEX web_calls_by_time ON web_calls (at_ms);
