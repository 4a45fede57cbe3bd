//! Statements that only PostgreSQL has.

use crate::store::database::recall::sql as recall;
use crate::store::database::sql;

/// The advisory lock of the Aizuchi in the first schema of the search path.
macro_rules! lock_key {
    () => {
        "1634302837, hashtext(current_schema())"
    };
}

/// The sessions that hold it.
macro_rules! lock_held {
    () => {
        "l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
            AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND l.classid = 1634302837
            AND l.objid::bigint = hashtext(current_schema())::bigint & 4294967295"
    };
}

pub const TAKE_LOCK: &str = concat!("SELECT pg_try_advisory_lock(", lock_key!(), ") AS is_taken");

/// Whether a session holds the lock, and the properties that [`check_compatibility`](super) needs.
pub const SERVER_STATUS: &str = concat!(
    "SELECT CAST(current_setting('server_version_num') AS BIGINT) AS version,
        pg_is_in_recovery() AS is_replica, current_setting('server_encoding') AS encoding,
        current_schema() IS NOT NULL AS has_schema,
        EXISTS (SELECT 1 FROM pg_locks AS l WHERE ",
    lock_held!(),
    ") AS is_locked,
        coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_create"
);

/// Terminates the session that holds the lock, if it has been silent for $1 seconds. A session whose statement is
/// still running is not silent.
pub const TERMINATE_SILENT_SESSION: &str = concat!(
    "SELECT pg_terminate_backend(a.pid, 5000) AS is_ended
    FROM pg_locks AS l
    JOIN pg_stat_activity AS a ON a.pid = l.pid
    WHERE ",
    lock_held!(),
    "
        AND a.state_change < clock_timestamp() - make_interval(secs => $1)
        AND (a.state <> 'active' OR a.wait_event_type = 'Client')"
);

/// Statements that differ from SQLite's, and their PostgreSQL versions.
pub const OVERRIDES: &[(&str, &str)] = &[
    (sql::BEGIN, "BEGIN"),
    // Only our own tables: the database may hold others'.
    (
        sql::forget::VACUUM,
        "VACUUM (FULL, ANALYZE) messages, owed, outbox, decisions, attempts, exchanges, exchange_lines, dead_letters,
            memories, memory_sources, memos, memo_lines, users, reactions, recall_lines, recall_stale",
    ),
    // Only SQLite has a write-ahead log to truncate and an FTS5 index to optimize.
    (sql::TRUNCATE_WAL, "SELECT 1"),
    (recall::COMPACT, "SELECT 1"),
    (
        sql::HAS_MIGRATIONS,
        "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = '_sqlx_migrations'",
    ),
    (
        sql::memory::REASSIGN_PROMPTS,
        "WITH kept AS (SELECT id FROM memories
            WHERE workspace = $1 AND scope = $2 AND channel = $3 AND thread = $4 AND term = $5
            ORDER BY id DESC LIMIT $6),
        old AS (SELECT id FROM memories
            WHERE workspace = $1 AND scope = $2 AND channel = $3 AND thread = $4 AND term = $5
            ORDER BY id DESC OFFSET $6)
        INSERT INTO exchange_memories (memory, attempt)
        SELECT (SELECT min(id) FROM kept), e.attempt FROM exchange_memories AS e
        WHERE e.memory IN (SELECT id FROM old)
        ON CONFLICT DO NOTHING",
    ),
    (
        recall::INDEX_TERMS,
        "UPDATE recall_lines SET terms = array_to_tsvector(string_to_array(j.value ->> 1, ' '))
        FROM json_each($1) AS j WHERE number = CAST(j.value ->> 0 AS BIGINT)",
    ),
    (
        recall::UNINDEX_TERMS,
        "UPDATE recall_lines SET terms = NULL
        FROM json_each($1) AS j WHERE number = CAST(j.value ->> 0 AS BIGINT)",
    ),
    (
        recall::POSTINGS,
        "SELECT (SELECT coalesce(json_agg(number), '[]') FROM
            (SELECT number FROM recall_lines
             WHERE terms @@ CAST(a.value ->> 0 AS tsquery)
                AND number BETWEEN CAST(a.value ->> 1 AS BIGINT) AND CAST(a.value ->> 2 AS BIGINT)
                AND (number >> 32) IN (SELECT CAST(value AS BIGINT) FROM json_each($2))
             ORDER BY number DESC
             LIMIT $3) AS found) AS numbers
        FROM json_each($1) AS a ORDER BY a.key",
    ),
];
