//! A database in one SQLite file, with a write-ahead log that survives power loss (`synchronous=FULL`). One process
//! owns the file.

pub mod earlier_version;
pub mod lock_file;
pub mod inspect;
pub mod myao2;
pub mod sql;

use std::fs::{DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::Duration;

use aizuchi_model::input_file;
use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

use crate::StoreError;
use crate::database::connection::{Connection, Readers};
use crate::database::damage::DamageMark;
use crate::database::files::DatabaseFiles;
use crate::database::location::OpenedDatabase;
use crate::database::schema::{SchemaMigration, migrate};
use crate::database::writer::Ownership;
use crate::database::{DatabaseStore, MAX_READERS, driver_error};

/// All schema migrations, oldest first.
pub const MIGRATIONS: &[SchemaMigration] = &[
    (1, "start", include_str!("../migrations/sqlite/0001_start.sql")),
    (2, "exchanges", include_str!("../migrations/sqlite/0002_exchanges.sql")),
    (3, "recall", include_str!("../migrations/sqlite/0003_recall.sql")),
    (4, "memory", include_str!("../migrations/sqlite/0004_memory.sql")),
    (5, "withdrawn", include_str!("../migrations/sqlite/0005_withdrawn.sql")),
    (6, "sources", include_str!("../migrations/sqlite/0006_sources.sql")),
    (7, "deciding", include_str!("../migrations/sqlite/0007_deciding.sql")),
    (8, "platforms", include_str!("../migrations/sqlite/0008_platforms.sql")),
    (9, "delays", include_str!("../migrations/sqlite/0009_delays.sql")),
    (10, "roles", include_str!("../migrations/sqlite/0010_roles.sql")),
    (11, "early reactions", include_str!("../migrations/sqlite/0011_early_reactions.sql")),
    (12, "resets", include_str!("../migrations/sqlite/0012_resets.sql")),
    (13, "second_looks", include_str!("../migrations/sqlite/0013_second_looks.sql")),
    (14, "links", include_str!("../migrations/sqlite/0014_links.sql")),
    (15, "forgettings", include_str!("../migrations/sqlite/0015_forgettings.sql")),
    (16, "reservations", include_str!("../migrations/sqlite/0016_reservations.sql")),
    (18, "calls", include_str!("../migrations/sqlite/0018_calls.sql")),
    (19, "limits", include_str!("../migrations/sqlite/0019_limits.sql")),
    (22, "redactions", include_str!("../migrations/sqlite/0022_redactions.sql")),
    (23, "probes", include_str!("../migrations/sqlite/0023_probes.sql")),
    (24, "usermerge", include_str!("../migrations/sqlite/0024_usermerge.sql")),
    (25, "moments", include_str!("../migrations/sqlite/0025_moments.sql")),
    (26, "forgotten users", include_str!("../migrations/sqlite/0026_forgotten_users.sql")),
    (27, "console", include_str!("../migrations/sqlite/0027_console.sql")),
    (29, "marks", include_str!("../migrations/sqlite/0029_marks.sql")),
    (30, "letters", include_str!("../migrations/sqlite/0030_letters.sql")),
    (31, "salt", include_str!("../migrations/sqlite/0031_salt.sql")),
    (32, "cockpit", include_str!("../migrations/sqlite/0032_cockpit.sql")),
    (33, "earlier answers", include_str!("../migrations/sqlite/0033_earlier_answers.sql")),
    (34, "expiry", include_str!("../migrations/sqlite/0034_expiry.sql")),
    (35, "unpriced", include_str!("../migrations/sqlite/0035_unpriced.sql")),
    (36, "restored", include_str!("../migrations/sqlite/0036_restored.sql")),
    (37, "figures", include_str!("../migrations/sqlite/0037_figures.sql")),
    (38, "orders", include_str!("../migrations/sqlite/0038_orders.sql")),
    (39, "cache", include_str!("../migrations/sqlite/0039_cache.sql")),
    (42, "files", include_str!("../migrations/sqlite/0042_files.sql")),
    (43, "proposals", include_str!("../migrations/sqlite/0043_proposals.sql")),
    (44, "standing orders", include_str!("../migrations/sqlite/0044_standing_orders.sql")),
    (45, "uploads", include_str!("../migrations/sqlite/0045_uploads.sql")),
    (46, "consents", include_str!("../migrations/sqlite/0046_consents.sql")),
    (47, "order drafts", include_str!("../migrations/sqlite/0047_order_drafts.sql")),
    (48, "weekly notes", include_str!("../migrations/sqlite/0048_weekly_notes.sql")),
    (49, "health", include_str!("../migrations/sqlite/0049_health.sql")),
    (50, "room settings", include_str!("../migrations/sqlite/0050_room_settings.sql")),
    (52, "trust offers", include_str!("../migrations/sqlite/0052_trust_offers.sql")),
    (55, "web calls", include_str!("../migrations/sqlite/0055_web_calls.sql")),
    (56, "no delays", include_str!("../migrations/sqlite/0056_no_delays.sql")),
    (57, "quotes", include_str!("../migrations/sqlite/0057_quotes.sql")),
    (58, "topic", include_str!("../migrations/sqlite/0058_topic.sql")),
    (59, "failures", include_str!("../migrations/sqlite/0059_failures.sql")),
    (60, "no moments", include_str!("../migrations/sqlite/0060_no_moments.sql")),
    (61, "no weekly notes", include_str!("../migrations/sqlite/0061_no_weekly_notes.sql")),
    (62, "needed confidence", include_str!("../migrations/sqlite/0062_needed_confidence.sql")),
    (63, "plans", include_str!("../migrations/sqlite/0063_plans.sql")),
    (64, "catch up", include_str!("../migrations/sqlite/0064_catch_up.sql")),
];

/// How long a statement waits for another program's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);
/// The page cache of each reader, in KiB (SQLite's notation is a negative number). Full-text search touches pages all
/// over the database.
const READER_CACHE_SIZE: &str = "-8192";
/// How many rows the driver's thread may buffer. One statement reads at most this many, so the thread never blocks.
const ROW_BUFFER: usize = 512;
/// New files and folders hold private messages, so only the process's own user can read them.
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

/// Opens or creates the database, migrates it, and releases the leases of the previous owner. Nothing is written unless
/// the returned writer runs.
pub async fn open(path: &Path) -> Result<OpenedDatabase, StoreError> {
    open_with_readers(path, MAX_READERS).await
}

/// Does the same as [`open`], with at most this many readers.
pub async fn open_with_readers(path: &Path, readers: u32) -> Result<OpenedDatabase, StoreError> {
    let path_text = path.display().to_string();
    let (mut connection, lock) = connect(path).await?;
    let to_broken = |error| driver_error::from_sqlite(error).into_broken(&path_text);
    // Before the migration, since older versions refuse a migrated file.
    earlier_version::keep_copy(path, &mut connection).await;
    migrate(&path_text, MIGRATIONS, &mut connection).await?;
    let readers = SqlitePoolOptions::new()
        .max_connections(readers)
        // A file does not disconnect; the test would cost a round trip to the connection's thread.
        .test_before_acquire(false)
        // If the file has been moved away, a reader must not create an empty one.
        .connect_with(
            options(path)
                .create_if_missing(false)
                .pragma("query_only", "1")
                .pragma("cache_size", READER_CACHE_SIZE),
        )
        .await
        .map_err(to_broken)?;
    // Only now, since the log does not exist before the database is open.
    let ownership = Ownership::FileLock { lock, files: DatabaseFiles::find(path)? };
    let started = DatabaseStore::start(
        connection,
        Readers::Sqlite(readers, DamageMark::default()),
        ownership,
    )
    .await;
    started.map_err(|error| error.into_broken(&path_text))
}

/// Opens or creates the file exclusively, as long as the lock is held.
pub async fn connect(path: &Path) -> Result<(Connection, File), StoreError> {
    // Before anything is created or changed there: that database must stay as it is.
    myao2::refuse(path).await?;
    // Before the file is created or opened, since only its owner may do either.
    let lock = lock_file::lock(path).await?;
    create_private(path)?;
    let connection = options(path).connect().await;
    let connection = connection.map_err(|error| to_broken(path, error))?;
    Ok((Connection::Sqlite(connection), lock))
}

/// Opens a second connection, which writes beside the process that owns the file.
pub async fn connect_secondary(path: &Path) -> Result<Connection, StoreError> {
    let connection = options(path).create_if_missing(false).connect().await;
    Ok(Connection::Sqlite(connection.map_err(|error| to_broken(path, error))?))
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        // In WAL mode, `NORMAL` would lose the newest commits on power loss, and these were acknowledged.
        .synchronous(SqliteSynchronous::Full)
        // Deleted text must not remain in the file. The log beside it is truncated by retention.
        .pragma("secure_delete", "1")
        .busy_timeout(BUSY_TIMEOUT)
        .row_buffer_size(ROW_BUFFER)
}

/// Opens one snapshot of a file that another process may be writing to.
pub async fn open_snapshot(path: &Path) -> Result<Connection, StoreError> {
    let readers = inspect::readers(path).await?;
    let snapshot = readers.snapshot().await;
    snapshot.map_err(|error| error.into_broken(&path.display().to_string()))
}

/// Creates a database that never has a log or journal file beside it. The caller writes it under a temporary name, and
/// renames it when it is complete.
pub async fn create_anew(path: &Path) -> Result<Connection, StoreError> {
    // An interrupted call may have left a partial file.
    match std::fs::remove_file(path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => {
            return Err(StoreError::Broken(format!("cannot remove {}: {error}", path.display())));
        }
    }
    create_private(path)?;
    let options = SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Memory)
        .synchronous(SqliteSynchronous::Off);
    let connection = options.connect().await.map_err(|error| to_broken(path, error))?;
    Ok(Connection::Sqlite(connection))
}

/// Copies a closed database and migrates the copy.
pub async fn copy_and_migrate(from: &Path, to: &Path) -> Result<(), StoreError> {
    let mut log = from.as_os_str().to_owned();
    log.push("-wal");
    // Data that is only in the log would be missing in the copy.
    if std::fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
        return Err(StoreError::Broken(format!(
            "{} is in use, or was not closed; copy it with `aizuchi backup` or `.backup`",
            from.display()
        )));
    }
    let copied = input_file::open(from).and_then(|mut from| {
        let mut options = File::options();
        let mut to = options.create(true).truncate(true).write(true).mode(FILE_MODE).open(to)?;
        std::io::copy(&mut from, &mut to)
    });
    copied.map_err(|error| {
        StoreError::Broken(format!("cannot copy {} to {}: {error}", from.display(), to.display()))
    })?;
    let connection = options(to).connect().await.map_err(|error| to_broken(to, error))?;
    let mut connection = Connection::Sqlite(connection);
    migrate(&from.display().to_string(), MIGRATIONS, &mut connection).await?;
    connection.close().await
}

fn to_broken(path: &Path, error: sqlx::Error) -> StoreError {
    driver_error::from_sqlite(error).into_broken(&path.display().to_string())
}

/// Creates the folder of a file, readable only by this user.
pub fn create_folder(path: &Path) -> Result<(), StoreError> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else {
        return Ok(());
    };
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder).map_err(|error| {
        StoreError::Broken(format!("cannot create the folder of {}: {error}", path.display()))
    })
}

/// Creates the empty file of a new database. SQLite would let others read it, and gives the log beside it the same
/// mode.
fn create_private(path: &Path) -> Result<(), StoreError> {
    match File::options().create_new(true).append(true).mode(FILE_MODE).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(StoreError::Broken(format!("cannot create {}: {error}", path.display()))),
    }
}
