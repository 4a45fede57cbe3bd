//! The few statements that PostgreSQL needs in another form than a translation gives.

use crate::store::database::sql;
use crate::store::database::sql::recall;

/// Statements that differ from SQLite's, and their PostgreSQL versions.
pub const OVERRIDES: &[(&str, &str)] = &[
    (sql::BEGIN, "BEGIN"),
    // Only our own tables: the database may hold others'.
    (
        sql::forget::VACUUM,
        "VACUUM (FULL, ANALYZE) messages, owed, outbox, decisions, attempts, exchanges, exchange_lines, dead_letters,
            exchange_memories, memories, memory_sources, memos, memo_lines, users, user_names, channels, forgettings,
            forgotten_memories, reactions, links, recall_lines, recall_stale",
    ),
    // Less than the writer waits before it gives up the connection.
    (
        sql::forget::LIMIT_SCRUB_TIME,
        "SELECT set_config('statement_timeout', '540s', false)",
    ),
    (
        sql::forget::UNLIMIT_SCRUB_TIME,
        "SELECT set_config('statement_timeout', '0', false)",
    ),
    // Only SQLite has a write-ahead log to truncate and an FTS5 index to optimize.
    (sql::TRUNCATE_WAL, "SELECT 1"),
    (recall::COMPACT, "SELECT 1"),
    (recall::MARK_REMOVED_TERMS, "SELECT 1"),
    (recall::ERASE_REMOVED_TERMS, "SELECT 1"),
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
