-- Settings that people ordered for a workspace ('' as the channel), a channel ('' as the thread) or a thread. The last one
-- wins, once for admins and once for members; the journal has those before.
CREATE TABLE room_settings (
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    thread TEXT COLLATE "C" NOT NULL,
    setting TEXT COLLATE "C" NOT NULL,
    role TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    ordered_by TEXT COLLATE "C" NOT NULL,
    ordered_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, channel, thread, setting, role)
);
