//! Looks at a database without changing anything: `check` must not migrate it, nor create it.

use std::fs::{File, TryLockError};
use std::ops::Not;
use std::path::{Path, PathBuf};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection, query};

use crate::store::StoreError;
use crate::store::sqlite::{MIGRATIONS, beside, myao2, opening, rows, sql};

/// What is found where the database should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing yet; it can be created.
    Absent,
    Current,
    /// It will be brought up to date at the next start.
    Older,
    /// An Aizuchi that runs has it open.
    InUse,
}

pub async fn examine(path: &Path) -> Result<Found, StoreError> {
    if !path.exists() {
        return can_be_created(path).map(|()| Found::Absent);
    }
    myao2::refuse(path).await?;
    if is_locked(path)? {
        return Ok(Found::InUse);
    }
    for file in [path, &beside(path)] {
        let is_ours = !file.exists() || File::options().append(true).open(file).is_ok();
        if !is_ours {
            return Err(StoreError::Broken(format!("{} cannot be written", file.display())));
        }
    }
    can_be_created(path)?;
    let newest = newest_migration(path).await.map_err(|error| opening(path, error))?;
    let ours = MIGRATIONS.last().map_or(0, |(version, _, _)| *version);
    if newest > ours {
        return Err(newer(path, newest));
    }
    Ok(if newest == ours { Found::Current } else { Found::Older })
}

async fn newest_migration(path: &Path) -> Result<i64, sqlx::Error> {
    let mut connection = look_into(path, false).await?;
    let newest = migration(&mut connection).await?;
    connection.close().await?;
    Ok(newest)
}

/// A connection that changes nothing, not even beside the database.
pub(super) async fn look_into(
    path: &Path,
    is_in_use: bool,
) -> Result<SqliteConnection, sqlx::Error> {
    looking(path, is_in_use).connect().await
}

/// How one looks without changing anything.
pub(super) fn looking(path: &Path, is_in_use: bool) -> SqliteConnectOptions {
    // A database that was closed well has all in one file, and then nothing is left beside it.
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let is_closed = !is_in_use && std::fs::metadata(log).is_ok_and(|log| log.len() > 0).not();
    SqliteConnectOptions::new().filename(path).read_only(true).immutable(is_closed)
}

/// The newest change of the schema that a database has.
pub(super) async fn migration(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    let has_table = query(sql::HAS_MIGRATIONS).fetch_optional(&mut *connection).await?.is_some();
    Ok(match has_table {
        true => {
            let row = query(sql::NEWEST_MIGRATION).fetch_one(connection).await?;
            rows::column::<Option<i64>>(&row, "version").ok().flatten().unwrap_or(0)
        }
        false => 0,
    })
}

/// Whether a running Aizuchi holds the lock beside it.
pub(super) fn is_locked(path: &Path) -> Result<bool, StoreError> {
    let Ok(file) = File::open(beside(path)) else { return Ok(false) };
    match file.try_lock() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => {
            Err(StoreError::Broken(format!("cannot lock {}: {error}", path.display())))
        }
    }
}

pub(super) fn newer(path: &Path, newest: i64) -> StoreError {
    StoreError::Broken(format!(
        "{} was written by a newer version of Aizuchi (it has schema {newest}); use that version",
        path.display()
    ))
}

/// Whether we may write into the nearest folder that is there.
fn can_be_created(path: &Path) -> Result<(), StoreError> {
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
