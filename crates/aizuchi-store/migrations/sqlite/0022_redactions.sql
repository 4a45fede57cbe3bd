-- What is still to be withheld, page by page: what an opted-out user wrote, or ('' as the user) what stood in a reset
-- conversation. `before` and `before_id` are how far that is, newest first: a revision, or a time and an id.
CREATE TABLE redactions (
    workspace TEXT NOT NULL,
    user_id TEXT NOT NULL,
    channel TEXT NOT NULL,
    thread TEXT NOT NULL,
    before INTEGER NOT NULL,
    before_id TEXT NOT NULL,
    PRIMARY KEY (workspace, user_id, channel, thread)
) WITHOUT ROWID;
