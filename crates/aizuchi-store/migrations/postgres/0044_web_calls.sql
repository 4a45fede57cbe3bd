-- What replies have looked up on the web within the last day: how often, for which decision, and for whom; nothing of what.
-- person: whom the reply answers, empty for nobody, or somebody who is forgotten.
CREATE TABLE web_calls (
    decision BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    workspace TEXT COLLATE "C" NOT NULL,
    person TEXT COLLATE "C" NOT NULL,
    calls BIGINT NOT NULL,
    PRIMARY KEY (decision, at_ms)
);
CREATE INDEX web_calls_by_time ON web_calls (at_ms);
