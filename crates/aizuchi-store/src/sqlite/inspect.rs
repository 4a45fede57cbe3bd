//! Inspects a database without changing anything: `check` must neither migrate nor create it.

use std::fs::File;
use std::path::{Path, PathBuf};

use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};

use crate::StoreError;
use crate::database::connection::Readers;
use crate::database::damage::DamageMark;
use crate::database::location::DatabaseStatus;
use crate::database::{driver_error, schema};
use crate::sqlite::lock_file::{is_locked, lock_path};
use crate::sqlite::{MIGRATIONS, myao2};

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
    let newest_applied = newest_migration(path).await?;
    let newest_known = MIGRATIONS.last().map_or(0, |(version, _, _)| *version);
    if newest_applied > newest_known {
        return Err(schema::newer_schema_error(&path.display().to_string(), newest_applied));
    }
    Ok(if newest_applied == newest_known {
        DatabaseStatus::UpToDate
    } else {
        DatabaseStatus::Outdated
    })
}

async fn newest_migration(path: &Path) -> Result<i64, StoreError> {
    let readers = readers(path).await?;
    let newest = schema::newest_migration(&readers).await;
    // Closed explicitly, so that SQLite removes its files beside the database.
    readers.close().await;
    newest.map_err(|error| error.into_broken(&path.display().to_string()))
}

/// Opens read-only connections that leave no files beside the database.
pub async fn readers(path: &Path) -> Result<Readers, StoreError> {
    let path_text = path.display();
    if !path.exists() {
        return Err(StoreError::Broken(format!(
            "{path_text} does not exist yet; `aizuchi run` creates it"
        )));
    }
    // After a clean shutdown the main file is complete; opening it as immutable then creates no files beside it.
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    let has_wal = std::fs::metadata(wal).is_ok_and(|wal| wal.len() > 0);
    let is_closed = !is_locked(path)? && !has_wal;
    let options = SqliteConnectOptions::new().filename(path).read_only(true).immutable(is_closed);
    let pool = SqlitePoolOptions::new().max_connections(2).connect_with(options).await;
    pool.map(|pool| Readers::Sqlite(pool, DamageMark::default()))
        .map_err(|error| driver_error::from_sqlite(error).into_broken(&path_text.to_string()))
}

/// Fails unless the nearest existing folder is writable.
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
    // Permissions alone do not tell whether the disk is full or mounted read-only.
    let trial = folder.join(format!(".aizuchi-check-{}", std::process::id()));
    File::create(&trial).map_err(broken)?;
    std::fs::remove_file(&trial).map_err(broken)
}
