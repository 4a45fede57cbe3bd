-- What is still to be withheld, page by page: what an opted-out user wrote, or ('' as the user) what stood in a reset
-- conversation. `before` and `before_id` are how far that is, newest first: a revision, or a time and an id.
CREATE TABLE redactions (
    workspace TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    thread TEXT COLLATE "C" NOT NULL,
    before BIGINT NOT NULL,
    before_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace, user_id, channel, thread)
);
