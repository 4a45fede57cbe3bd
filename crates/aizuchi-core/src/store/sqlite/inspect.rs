//! Looks at a database without changing anything: `check` must not migrate it, nor create it.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};

use crate::store::StoreError;
use crate::store::database::connection::Readers;
use crate::store::database::location::DatabaseStatus;
use crate::store::database::{newer_schema_error, read_only};
use crate::store::sqlite::{MIGRATIONS, lock_path, myao2, to_store_error};

pub async fn inspect(path: &Path) -> Result<DatabaseStatus, StoreError> {
    if !path.exists() {
        return check_creatable(path).map(|()| DatabaseStatus::Missing);
    }
    myao2::refuse(path).await?;
    if is_locked(path)? {
        return Ok(DatabaseStatus::InUse);
    }
    for file in [path, &lock_path(path)] {
        let is_ours = !file.exists() || File::options().append(true).open(file).is_ok();
        if !is_ours {
            return Err(StoreError::Broken(format!("{} cannot be written", file.display())));
        }
    }
    check_creatable(path)?;
    let newest = newest_migration(path).await?;
    let ours = MIGRATIONS.last().map_or(0, |(version, _, _)| *version);
    if newest > ours {
        return Err(newer_schema_error(&path.display().to_string(), newest));
    }
    Ok(if newest == ours { DatabaseStatus::UpToDate } else { DatabaseStatus::Outdated })
}

async fn newest_migration(path: &Path) -> Result<i64, StoreError> {
    let readers = readers(path).await?;
    let newest = read_only::newest_migration(&readers).await;
    // What is read is closed, so that nothing is left beside the file.
    readers.close().await;
    newest.map_err(|error| error.into_broken(&path.display().to_string()))
}

/// Connections that change nothing, not even beside the database.
pub async fn readers(path: &Path) -> Result<Readers, StoreError> {
    let shown = path.display();
    if !path.exists() {
        return Err(StoreError::Broken(format!(
            "{shown} does not exist yet; `aizuchi run` creates it"
        )));
    }
    // A database that was closed well has all in one file, and then nothing is left beside it.
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let has_log = std::fs::metadata(log).is_ok_and(|log| log.len() > 0);
    let is_closed = !is_locked(path)? && !has_log;
    let options = SqliteConnectOptions::new().filename(path).read_only(true).immutable(is_closed);
    let pool = SqlitePoolOptions::new().max_connections(2).connect_with(options).await;
    pool.map(Readers::Sqlite).map_err(|error| to_store_error(error).into_broken(&shown.to_string()))
}

/// Whether a running Aizuchi holds the lock beside it.
fn is_locked(path: &Path) -> Result<bool, StoreError> {
    let Ok(file) = File::open(lock_path(path)) else { return Ok(false) };
    match file.try_lock() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => {
            Err(StoreError::Broken(format!("cannot lock {}: {error}", path.display())))
        }
    }
}

/// Whether we may write into the nearest folder that is there.
fn check_creatable(path: &Path) -> Result<(), StoreError> {
    let folders = path.ancestors().skip(1).map(|folder| match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    });
    let folder: PathBuf =
        folders.into_iter().find(|folder| folder.exists()).unwrap_or(Path::new(".")).into();
    let broken = |error: std::io::Error| {
        StoreError::Broken(format!("{} cannot be created: {error}", path.display()))
    };
    if !folder.is_dir() {
        return Err(StoreError::Broken(format!(
            "{} cannot be created: {} is not a folder",
            path.display(),
            folder.display()
        )));
    }
    let trial = folder.join(format!(".aizuchi-check-{}", std::process::id()));
    File::create(&trial).map_err(broken)?;
    std::fs::remove_file(&trial).map_err(broken)
}
