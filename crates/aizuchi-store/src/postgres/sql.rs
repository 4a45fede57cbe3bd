//! Statements that only PostgreSQL has.

/// The advisory lock of the installation in the first schema of the search path.
macro_rules! lock_key {
    () => {
        "1634302837, hashtext(current_schema())"
    };
}

// The view shows both keys as unsigned numbers, and `hashtext` may be negative.
/// The sessions that hold the lock.
macro_rules! lock_held {
    () => {
        "l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
            AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND l.classid = 1634302837
            AND l.objid::bigint = hashtext(current_schema())::bigint & 4294967295"
    };
}

/// The name of a session that copies a whole database.
macro_rules! transfer_name {
    () => {
        "'aizuchi transfer'"
    };
}

pub const TAKE_LOCK: &str = concat!("SELECT pg_try_advisory_lock(", lock_key!(), ") AS is_taken");

/// Whether a session holds the lock, and whether the database is usable.
pub const SERVER_STATUS: &str = concat!(
    "SELECT CAST(current_setting('server_version_num') AS BIGINT) AS version,
        pg_is_in_recovery() AS is_replica, current_setting('server_encoding') AS encoding,
        current_schema() IS NOT NULL AS has_schema,
        EXISTS (SELECT 1 FROM pg_locks AS l WHERE ",
    lock_held!(),
    ") AS is_locked,
        coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_create"
);

// A statement that waits for its client counts as silent: the client may be gone.
// A transfer waits for its client or for the other database for as long as copying a table takes.
/// Terminates the session that holds the lock, if it has been silent for $1 seconds. A session whose statement is
/// still running is not silent, and a transfer may be.
pub const TERMINATE_SILENT_SESSION: &str = concat!(
    "SELECT pg_terminate_backend(a.pid, 5000) AS is_ended
    FROM pg_locks AS l
    JOIN pg_stat_activity AS a ON a.pid = l.pid
    WHERE ",
    lock_held!(),
    "
        AND a.state_change < clock_timestamp() - make_interval(secs => $1)
        AND (a.state <> 'active' OR a.wait_event_type = 'Client')
        AND a.application_name <> ",
    transfer_name!()
);

/// Names this session as one that copies a whole database.
pub const NAME_TRANSFER: &str =
    concat!("SELECT set_config('application_name', ", transfer_name!(), ", false)");

/// The columns of all tables except those of the search index and of the migrations. Columns that the server numbers
/// itself are left out.
pub const COLUMNS: &str = r#"
    SELECT table_name::text AS table_name, column_name::text AS column_name, data_type::text AS kind
    FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name NOT LIKE 'recall\_%' AND table_name <> '_sqlx_migrations'
        AND identity_generation IS DISTINCT FROM 'ALWAYS'
    ORDER BY table_name::text COLLATE "C", column_name::text COLLATE "C""#;

/// The columns that the server numbers itself.
pub const SEQUENCES: &str = r#"
    SELECT table_name::text AS table_name, column_name::text AS column_name
    FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name NOT LIKE 'recall\_%' AND identity_generation = 'BY DEFAULT'"#;

/// Resets the search index.
pub const CLEAR_INDEX: &[&str] = &[
    "TRUNCATE recall_rooms, recall_lines, recall_stale, recall_postings",
    "UPDATE recall_watermark SET revision = 0",
];

pub const RENEW_INSTALLATION: &str =
    "UPDATE counters SET installation = left(replace(gen_random_uuid()::text, '-', ''), 16)";
