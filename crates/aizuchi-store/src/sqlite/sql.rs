//! Statements on tables of other programs and of SQLite.

/// The number of these columns that exist: only myao2 has all three in a table of this name.
pub const MYAO2_MARKS: &str = "
    SELECT count(*) AS n FROM pragma_table_info('messages')
    WHERE name IN ('message_id', 'user_is_bot', 'thread_ts')";

/// The columns of all tables except those of the search index, of the migrations and of SQLite.
pub const COLUMNS: &str = "
    SELECT m.name AS table_name, c.name AS column_name, c.type AS kind
    FROM sqlite_schema AS m CROSS JOIN pragma_table_info(m.name) AS c
    WHERE m.type = 'table' AND m.name NOT LIKE 'recall\\_%' ESCAPE '\\' AND m.name <> '_sqlx_migrations'
        AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
    ORDER BY m.name, c.name";

pub const RENEW_INSTALLATION: &str = "UPDATE counters SET installation = lower(hex(randomblob(8)))";

/// Writes a copy without deleted data.
pub const VACUUM_INTO: &str = "VACUUM INTO ?1";

/// Checks the integrity of the file; `ok` if it is intact.
pub const QUICK_CHECK: &str = "PRAGMA quick_check(1)";
