//! PostgreSQL versions of the statements that the automatic translation cannot produce.

use crate::database::sql;
use crate::database::sql::recall;

/// The terms of the messages listed as [number, terms], and the first characters of those in scripts without spaces.
macro_rules! listed_terms {
    () => {
        "SELECT CAST(j.value ->> 0 AS BIGINT) AS number, t.term FROM json_each($1) AS j CROSS JOIN LATERAL
            (SELECT word COLLATE \"C\" AS term FROM unnest(string_to_array(j.value ->> 1, ' ')) AS word
             UNION SELECT (left(word, 1) || '*') COLLATE \"C\" FROM unnest(string_to_array(j.value ->> 1, ' ')) AS word
                WHERE word COLLATE \"C\" >= '\u{3005}') AS t"
    };
}

/// The tables that grow with what is heard, and from which users are forgotten.
macro_rules! growing_tables {
    () => {
        "messages, owed, outbox, decisions, attempts, exchanges, exchange_lines, dead_letters,
            exchange_memories, exchange_orders, memories, memory_sources, memos, memo_lines, old_memos, users, user_names, channels, forgettings,
            forgotten_memories, reactions, links, given_orders, standing_orders, recall_lines, recall_postings, recall_stale"
    };
}

/// Statements that differ from SQLite's, and their PostgreSQL versions.
pub const OVERRIDES: &[(&str, &str)] = &[
    (sql::BEGIN, "BEGIN"),
    // Only our own tables: the database may be shared with others.
    (sql::forget::VACUUM, concat!("VACUUM (FULL, ANALYZE) ", growing_tables!())),
    // Nothing waits for this one.
    (sql::forget::VACUUM_DEAD_ROWS, concat!("VACUUM (ANALYZE) ", growing_tables!())),
    (
        sql::forget::UNLIMIT_TIME,
        "SELECT set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false)",
    ),
    // As a session begins.
    (
        sql::forget::LIMIT_TIME,
        "SELECT set_config(name, reset_val, false) FROM pg_settings WHERE name IN ('statement_timeout', 'lock_timeout')",
    ),
    (sql::ANALYZE, concat!("ANALYZE ", growing_tables!())),
    // Only SQLite has a write-ahead log to truncate and an FTS5 index to optimize.
    (sql::TRUNCATE_WAL, "SELECT 1"),
    (sql::LOG_FRAMES, "SELECT 1"),
    (sql::PAGE_SIZE, "SELECT 1"),
    (sql::DROP_CACHE, "SELECT 1"),
    (sql::CHECK_PAGES, "SELECT 1"),
    // The planner takes the numbers of a search for a single group, so that a hash aggregation spills into tens of
    // thousands of files; and JIT compilation takes longer than the query.
    (
        recall::PREPARE_SEARCH,
        "SELECT set_config('statement_timeout', '3s', true), set_config('enable_hashagg', 'off', true),
            set_config('jit', 'off', true)",
    ),
    (recall::BEGIN_MERGE, "SELECT 1"),
    (recall::MERGE, "SELECT 1"),
    (recall::CHANGES, "SELECT 0 AS n"),
    (sql::DATABASE_SIZE, "SELECT pg_database_size(current_database()) AS n"),
    (sql::SET_BUSY_TIMEOUT, "SELECT 1"),
    (sql::SET_NO_BUSY_TIMEOUT, "SELECT 1"),
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
        concat!(
            "WITH new AS (SELECT term, number >> 32 AS channel, min(number) AS first, array_agg(number ORDER BY number) AS numbers
                FROM (", listed_terms!(), ") AS listed GROUP BY term, channel),
            placed AS (SELECT new.term, new.numbers, coalesce(open.oldest, new.first) AS oldest
                FROM new LEFT JOIN LATERAL
                    (SELECT oldest FROM (SELECT oldest, ahead FROM recall_postings AS p
                        WHERE p.term = new.term AND p.oldest BETWEEN new.channel << 32 AND ((new.channel + 1) << 32) - 1
                        ORDER BY p.oldest DESC LIMIT 1) AS newest
                     WHERE cardinality(ahead) < 128) AS open ON true)
            INSERT INTO recall_postings (term, oldest, ahead)
            SELECT term, oldest, ARRAY(SELECT CAST(number - oldest AS INT) FROM unnest(numbers) AS number ORDER BY number)
            FROM placed
            ON CONFLICT (term, oldest) DO UPDATE SET ahead = recall_postings.ahead || excluded.ahead"
        ),
    ),
    (
        recall::UNINDEX_TERMS,
        concat!(
            "WITH listed AS (", listed_terms!(), "),
            found AS (SELECT term, oldest, array_agg(number) AS numbers
                FROM (SELECT term, number,
                        (SELECT max(p.oldest) FROM recall_postings AS p
                         WHERE p.term = listed.term AND p.oldest <= listed.number) AS oldest
                    FROM listed) AS located
                GROUP BY term, oldest),
            kept AS (SELECT p.term, p.oldest,
                    ARRAY(SELECT a.ahead FROM unnest(p.ahead) WITH ORDINALITY AS a (ahead, place)
                        WHERE p.oldest + a.ahead <> ALL (found.numbers) ORDER BY a.place) AS ahead
                FROM found JOIN recall_postings AS p ON p.term = found.term AND p.oldest = found.oldest),
            emptied AS (DELETE FROM recall_postings AS p USING kept
                WHERE p.term = kept.term AND p.oldest = kept.oldest AND kept.ahead = '{}')
            UPDATE recall_postings AS p SET ahead = kept.ahead FROM kept
            WHERE p.term = kept.term AND p.oldest = kept.oldest AND kept.ahead <> '{}'"
        ),
    ),
    (
        recall::POSTINGS,
        "SELECT (SELECT coalesce(json_agg(number), '[]') FROM
            (SELECT p.oldest + a.ahead AS number
             FROM recall_postings AS p CROSS JOIN unnest(p.ahead) AS a (ahead)
             WHERE p.term = j.value ->> 0
                AND p.oldest BETWEEN CAST(j.value ->> 1 AS BIGINT) AND CAST(j.value ->> 2 AS BIGINT)
                AND (p.oldest >> 32) = ANY (ARRAY(SELECT CAST(value AS BIGINT) FROM json_each($2)))
             ORDER BY p.oldest DESC, a.ahead DESC
             LIMIT $3) AS found) AS numbers
        FROM json_each($1) AS j ORDER BY j.key",
    ),
    // Only the newest postings of each term in each channel: reading all postings of several common terms would take
    // seconds.
    (
        recall::POSTINGS_OF_ALL,
        "SELECT coalesce(json_agg(number), '[]') AS numbers FROM
            (SELECT newest.number FROM json_each($2) AS channel CROSS JOIN json_each($1) AS term CROSS JOIN LATERAL
                (SELECT p.oldest + a.ahead AS number
                 FROM recall_postings AS p CROSS JOIN unnest(p.ahead) AS a (ahead)
                 WHERE p.term = term.value #>> '{}'
                    AND p.oldest BETWEEN CAST(channel.value AS BIGINT) << 32
                        AND ((CAST(channel.value AS BIGINT) + 1) << 32) - 1
                 ORDER BY p.oldest DESC, a.ahead DESC
                 LIMIT 1000) AS newest
             GROUP BY newest.number
             HAVING count(*) = (SELECT count(*) FROM json_each($1))
             ORDER BY newest.number DESC
             LIMIT $3) AS found",
    ),
];
