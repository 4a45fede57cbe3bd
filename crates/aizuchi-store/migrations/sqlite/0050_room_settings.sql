-- Settings that people ordered for a workspace ('' as the channel), a channel ('' as the thread) or a thread. The last one
-- wins, once for admins and once for members; the journal has those before.
CREATE TABLE room_settings (
    workspace TEXT NOT NULL,
    channel TEXT NOT NULL,
    thread TEXT NOT NULL,
    setting TEXT NOT NULL,
    role TEXT NOT NULL,
    value TEXT NOT NULL,
    ordered_by TEXT NOT NULL,
    ordered_ms INTEGER NOT NULL,
    PRIMARY KEY (workspace, channel, thread, setting, role)
) WITHOUT ROWID;
