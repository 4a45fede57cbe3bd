//! The statements for both databases, as constants. A test prepares each of them.
//!
//! `LIMIT +?1` instead of `LIMIT ?1`: SQLite peeks at a bare placeholder while planning and replans for each new value,
//! which takes longer than most statements run.

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $sql:expr;)*) => {
        $($(#[$doc])* pub const $name: &str = $sql;)*

        /// The name and text of every statement in this module.
        pub const ALL: &[(&str, &str)] = &[$((stringify!($name), $name)),*];
    };
}

/// The recorded usage of the models at `$now`; the channel '' stands for all channels.
macro_rules! spent {
    ($channel:literal, $now:literal) => {
        concat!(
            "(SELECT json_object(
                'tokens_in_day', coalesce(sum(tokens) FILTER (WHERE span = 'hour'), 0),
                'unsolicited_tokens_in_day', coalesce(sum(unasked_tokens) FILTER (WHERE span = 'hour'), 0),
                'micros_in_day', coalesce(sum(micros) FILTER (WHERE span = 'hour'), 0),
                'micros_in_month', coalesce(sum(micros) FILTER (WHERE span = 'day'), 0))
            FROM spending WHERE workspace = ?1 AND channel = ", $channel, "
                AND (span = 'hour' AND begin_ms > ", $now, " - 86400000
                    OR span = 'day' AND begin_ms > ", $now, " - 2592000000))"
        )
    };
}

/// Whether the decision `d` counts toward the answers of the users who asked, like `Decision::took_an_answer`.
macro_rules! took_an_answer {
    () => {
        "(d.ended = 'spoke' OR d.ended IS NOT NULL
            AND EXISTS (SELECT 1 FROM attempts AS t WHERE t.decision = d.id AND t.verb = 'reply'))"
    };
}

/// The size of a message's files. They are stored only for the local room.
macro_rules! upload_bytes {
    () => {
        "CASE WHEN messages.workspace = 'local' AND messages.attachments <> '[]' THEN
            (SELECT CAST(coalesce(sum(u.size_bytes), 0) AS BIGINT) FROM uploads AS u
             WHERE u.channel = messages.channel AND u.message = messages.id)
         ELSE 0 END"
    };
}

/// Erases the texts of dead letters of these decisions, which may repeat what has been deleted.
macro_rules! erase_dead_letters {
    ($decisions:ident) => {
        concat!(
            "UPDATE dead_letters SET text = NULL
            WHERE text IS NOT NULL AND decision IN (",
            $decisions!(),
            ")"
        )
    };
}

/// Erases the outbox texts of these decisions that nobody has seen: those of dead letters, and of proposals, which
/// cannot be approved after this.
macro_rules! erase_unseen_texts {
    ($decisions:ident) => {
        concat!(
            "UPDATE outbox SET text = '', notes = json_set(notes, '$.why', '')
            WHERE state IN ('dead', 'proposed', 'original') AND decision IN (",
            $decisions!(),
            ")"
        )
    };
}

/// Erases the arguments and answers of these decisions' calls that need consent.
macro_rules! erase_consents {
    ($decisions:ident) => {
        concat!(
            "UPDATE consents SET arguments = '', answer = NULL
            WHERE is_settled = 0 AND decision IN (",
            $decisions!(),
            ")"
        )
    };
}

pub mod consents;
pub mod context;
pub mod decisions;
pub mod expiry;
pub mod figures;
pub mod forget;
pub mod memory;
pub mod messages;
pub mod orders;
pub mod plans;
pub mod proposals;
pub mod recall;
pub mod redaction;
pub mod spending;
pub mod steps;
pub mod transfer;
pub mod trust;
pub mod uploads;
pub mod web_calls;

/// The name and text of every statement.
pub fn all_statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lists = [
        ALL,
        consents::ALL,
        context::ALL,
        decisions::ALL,
        expiry::ALL,
        figures::ALL,
        forget::ALL,
        memory::ALL,
        messages::ALL,
        orders::ALL,
        plans::ALL,
        proposals::ALL,
        recall::ALL,
        redaction::ALL,
        spending::ALL,
        steps::ALL,
        trust::ALL,
        uploads::ALL,
        web_calls::ALL,
    ];
    lists.into_iter().flatten().copied()
}

statements! {
    // The driver's own table.
    HAS_MIGRATIONS = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '_sqlx_migrations'";
    NEWEST_MIGRATION = "SELECT max(version) AS version FROM _sqlx_migrations";
    // Takes SQLite's write lock at once; a transaction that begins by reading may fail when it first writes.
    BEGIN = "BEGIN IMMEDIATE";
    COMMIT = "COMMIT";
    ROLLBACK = "ROLLBACK";
    HEARTBEAT = "SELECT 1";
    MOVED_TO = "SELECT description FROM _sqlx_migrations WHERE version = ?1";
    SET_MOVED_TO = "
        INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
        VALUES (?1, ?2, TRUE, ?3, 0)";
    DROP_MOVED_MARK = "DELETE FROM _sqlx_migrations WHERE version = ?1";
    COUNTERS = "SELECT revision, last_number, installation, copied_ms, restored_ms FROM counters";
    INSTALLATION = "SELECT installation FROM counters";
    PUT_COUNTERS = "UPDATE counters SET revision = ?1, last_number = ?2";
    /// Recorded in a backup: when it was made.
    NOTE_COPIED = "UPDATE counters SET copied_ms = ?1, restored_ms = NULL, backed_up_ms = ?1";
    /// Recorded in the database that was backed up.
    NOTE_BACKED_UP = "UPDATE counters SET backed_up_ms = ?1 WHERE coalesce(backed_up_ms, 0) < ?1";
    LAST_BACKUP = "SELECT backed_up_ms FROM counters";
    /// A copy that was made with other tools does not know its time, though it may hold the time of an earlier copy;
    /// the newest message before the restore replaces it.
    NOTE_RESTORED = "
        UPDATE counters SET restored_ms = ?1,
            copied_ms = coalesce(CASE WHEN restored_ms IS NULL THEN copied_ms END, (SELECT max(at_ms) FROM messages WHERE at_ms <= ?1), 0)";
    /// Skips the numbers that may have been assigned in the lost time span: a question with buttons in a chat may still
    /// refer to one. More than a thousand per second are not assigned for long.
    SKIP_LOST_NUMBERS = "
        UPDATE counters SET last_number = last_number + 1000000
            + CASE WHEN copied_ms > 0 AND copied_ms < restored_ms THEN restored_ms - copied_ms ELSE 0 END";
    /// Changes a byte: SQLite writes nothing if nothing changes.
    PROBE = "UPDATE counters SET probes = probes + 1";
    /// A message that nobody sees: its workspace does not exist, and it is removed in the same transaction. SQLite writes
    /// the removed pages nevertheless, since deleted text is overwritten.
    PUT_PROBE = "
        INSERT INTO messages (workspace, channel, id, thread, at_ms, author, author_kind, text, mentions, visibility, heard, revision)
        VALUES ('', 'probe', 'probe', '', 0, '', 'system', ?1, '[]', 'private', 0, 0)";
    DROP_PROBE = "DELETE FROM messages WHERE workspace = '' AND id = 'probe'";
    /// Whether the newest messages can be read.
    READ_NEWEST = "
        SELECT max(length(m.text)) AS n
        FROM (SELECT text FROM messages WHERE deleted_ms IS NULL ORDER BY at_ms DESC LIMIT 20) AS m";
    PUT_CURSOR = "
        INSERT INTO bookmarks (workspace, place, value) VALUES (?1, ?2, ?3)
        ON CONFLICT (workspace, place) DO UPDATE SET value = excluded.value WHERE bookmarks.value <> excluded.value";
    CURSORS = "
        SELECT workspace, place, value FROM bookmarks WHERE workspace = ?1 ORDER BY place";
    /// Only a server chooses plans by statistics; for SQLite the statements name the index.
    ANALYZE = "SELECT 'nothing to analyze'";
    /// Waits for readers as long as for a lock.
    TRUNCATE_WAL = "PRAGMA wal_checkpoint(TRUNCATE)";
    /// How many pages the log holds, and how many of these are in the file, too.
    LOG_FRAMES = "PRAGMA wal_checkpoint(NOOP)";
    PAGE_SIZE = "SELECT page_size AS n FROM pragma_page_size()";
    /// Afterwards, pages are read from the file again.
    DROP_CACHE = "PRAGMA shrink_memory";
    CHECK_PAGES = "PRAGMA quick_check(1)";
    /// The timeout for a lock.
    SET_BUSY_TIMEOUT = "PRAGMA busy_timeout = 2000";
    SET_NO_BUSY_TIMEOUT = "PRAGMA busy_timeout = 0";
    DATABASE_SIZE = "SELECT page_count * page_size AS n FROM pragma_page_count(), pragma_page_size()";
}
