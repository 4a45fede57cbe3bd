//! Keeps a copy of the file, as the earlier version left it, before a newer version migrates it: the earlier one
//! refuses a migrated file, and an unattended upgrade makes no backup.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;
use tracing::{info, warn};

use crate::StoreError;
use crate::database::connection::{Connection, query};
use crate::database::schema::migrate;
use crate::database::{rows, sql};
use crate::sqlite::{self, MIGRATIONS, create_private, to_broken};
use crate::transfer::target::{PartialFile, expect_sound, with_suffix};

/// How long a copy is kept. An operator who downgrades does so by then. The copy contains data that may have been
/// forgotten since.
pub const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Keeps a copy if migrations are pending. Without disk space for one, the start continues: a migration is one
/// transaction.
pub async fn keep_copy(path: &Path, connection: &mut Connection) {
    // If this cannot be determined, the migration reports what is wrong.
    if let Ok(Some(first)) = pending_migration(connection).await {
        let copy = with_suffix(path, &format!(".before-{first}"));
        if is_current(&copy, path) {
            return;
        }
        match copy_to(&copy, connection).await {
            Ok(()) => {
                info!(copy = %copy.display(), "kept the database as the earlier version left it");
            }
            Err(error) => {
                warn!(%error, "the database as the earlier version left it cannot be kept");
            }
        }
    }
}

/// Whether a database with this newest migration was written by an earlier version.
pub fn is_earlier(newest: i64) -> bool {
    newest > 0 && newest < MIGRATIONS.last().map_or(0, |(version, ..)| *version)
}

/// Whether a failed start has made this copy already, and nothing was written since.
fn is_current(copy: &Path, path: &Path) -> bool {
    let written = |file: &Path| std::fs::metadata(file).and_then(|found| found.modified()).ok();
    let newest = written(path).max(written(&with_suffix(path, "-wal")));
    // Not `>=`: of two files with the same time, either may be the newer one.
    written(copy).is_some_and(|copied| Some(copied) > newest)
}

/// The first migration that a file written by an earlier version needs.
async fn pending_migration(connection: &mut Connection) -> Result<Option<i64>, StoreError> {
    if query(sql::HAS_MIGRATIONS).fetch_optional(&mut *connection).await?.is_none() {
        return Ok(None);
    }
    let newest = query(sql::NEWEST_MIGRATION).fetch_one(connection).await?;
    let Some(newest) = rows::column::<Option<i64>>(&newest, "version")? else { return Ok(None) };
    Ok(MIGRATIONS.iter().map(|(version, ..)| *version).find(|version| *version > newest))
}

/// Writes a copy, replacing that of an earlier upgrade.
async fn copy_to(copy: &Path, connection: &mut Connection) -> Result<(), StoreError> {
    let failed = |error: std::io::Error| StoreError::Broken(format!("{}: {error}", copy.display()));
    let part = PartialFile::beside(copy, ".part");
    match std::fs::remove_file(part.path()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        Ok(()) | Err(_) => {}
    }
    // Into an empty file, so that only this user can read it.
    create_private(part.path())?;
    let Some(name) = part.path().to_str() else {
        return Err(StoreError::Broken(format!("{} is no path in UTF-8", copy.display())));
    };
    query(super::sql::VACUUM_INTO).bind(name.to_owned()).execute(connection).await?;
    File::open(part.path()).and_then(|file| file.sync_all()).map_err(failed)?;
    expect_sound(part.path()).await?;
    std::fs::rename(part.path(), copy).map_err(failed)
}

/// Writes a migrated copy of a file that an earlier version may be writing to.
pub async fn copy_migrated(path: &Path, copy: &Path) -> Result<(), StoreError> {
    let shown = path.display().to_string();
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let connection = options.connect().await.map_err(|error| to_broken(path, error))?;
    let mut connection = Connection::Sqlite(connection);
    copy_to(copy, &mut connection).await.map_err(|error| error.into_broken(&shown))?;
    connection.close().await?;
    let copied = sqlite::options(copy).connect().await.map_err(|error| to_broken(copy, error))?;
    let mut copied = Connection::Sqlite(copied);
    migrate(&shown, MIGRATIONS, &mut copied).await?;
    copied.close().await
}

/// Removes copies that are at least this old. Returns those that could not be removed. Files with other names that an
/// operator has put beside the database are not touched.
pub fn remove_copies(path: &Path, oldest: Duration) -> Vec<PathBuf> {
    let copies =
        MIGRATIONS.iter().map(|(number, ..)| with_suffix(path, &format!(".before-{number}")));
    let is_old = |copy: &PathBuf| {
        let made = std::fs::metadata(copy).and_then(|metadata| metadata.modified());
        let age = made.ok().and_then(|made| SystemTime::now().duration_since(made).ok());
        // A copy from the future, made while the clock was ahead, has no age.
        oldest.is_zero() || age.is_some_and(|age| age >= oldest)
    };
    let is_left = |copy: &PathBuf| match std::fs::remove_file(copy) {
        Ok(()) => false,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => {
            warn!(copy = %copy.display(), %error, "a copy of an earlier version cannot be removed");
            true
        }
    };
    copies.filter(|copy| copy.exists() && is_old(copy)).filter(is_left).collect()
}
