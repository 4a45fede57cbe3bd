//! The schema of a database: its version and its migrations.

use std::borrow::Cow;

use sqlx::SqlStr;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};

use crate::StoreError;
use crate::database::connection::{Connection, Readers, query};
use crate::database::{rows, sql};

/// A schema migration: its version, its name and its statements.
pub type SchemaMigration = (i64, &'static str, &'static str);

/// Migrates the database called `shown` to the newest schema.
pub async fn migrate(
    shown: &str,
    migrations: &[SchemaMigration],
    connection: &mut Connection,
) -> Result<(), StoreError> {
    let migrations = migrations.iter().map(|(version, name, statements)| {
        let kind = MigrationType::Simple;
        Migration::new(*version, Cow::Borrowed(*name), kind, SqlStr::from_static(statements), false)
    });
    let migrator = Migrator::with_migrations(migrations.collect());
    // First, because the migrator would take the mark for a migration of a newer version.
    if let Some(moved_to) = moved_to(connection).await.map_err(|error| error.into_broken(shown))? {
        return Err(moved_error(shown, &moved_to));
    }
    connection.migrate(&migrator).await.map_err(|error| match error {
        MigrateError::VersionMissing(version) => newer_schema_error(shown, version),
        MigrateError::Execute(error) => connection.to_store_error(error).into_broken(shown),
        other => StoreError::Broken(format!("cannot bring {shown} up to date: {other}")),
    })
}

/// Marks a database as moved, among its migrations. No program knows a migration with this number, so every version
/// refuses the database.
const MOVED: i64 = 9_000_000_000;

/// The new location of a database that was moved.
pub async fn moved_to(connection: &mut Connection) -> Result<Option<String>, StoreError> {
    if query(sql::HAS_MIGRATIONS).fetch_optional(&mut *connection).await?.is_none() {
        return Ok(None);
    }
    let moved = query(sql::MOVED_TO).bind(MOVED).fetch_optional(connection).await?;
    moved.map(|row| rows::column(&row, "description")).transpose()
}

/// Marks the database as moved: from now on, every process refuses to open it and reports the new location.
pub async fn set_moved_to(connection: &mut Connection, place: &str) -> Result<(), StoreError> {
    let mark = query(sql::SET_MOVED_TO).bind(MOVED).bind(place).bind(Some(Vec::new()));
    mark.execute(connection).await.map(|_| ())
}

pub async fn drop_moved_mark(connection: &mut Connection) -> Result<(), StoreError> {
    query(sql::DROP_MOVED_MARK).bind(MOVED).execute(connection).await.map(|_| ())
}

pub fn moved_error(shown: &str, moved_to: &str) -> StoreError {
    StoreError::Broken(format!(
        "{shown} was moved to {moved_to}; use that one, or move it back with `aizuchi migrate --replace`. If the move did \
         not finish, run it again"
    ))
}

/// Fails unless exactly these migrations were applied.
pub async fn expect_newest(
    shown: &str,
    migrations: &[SchemaMigration],
    connection: &mut Connection,
) -> Result<(), StoreError> {
    let has_table = query(sql::HAS_MIGRATIONS).fetch_optional(&mut *connection).await?.is_some();
    if !has_table {
        return Err(StoreError::Broken(format!("{shown} is not an Aizuchi database")));
    }
    if let Some(moved_to) = moved_to(connection).await? {
        return Err(moved_error(shown, &moved_to));
    }
    let newest = query(sql::NEWEST_MIGRATION).fetch_one(connection).await?;
    let newest = rows::column::<Option<i64>>(&newest, "version")?.unwrap_or(0);
    match newest - migrations.last().map_or(0, |(version, ..)| *version) {
        0 => Ok(()),
        ..0 => Err(older_schema_error(shown)),
        1.. => Err(newer_schema_error(shown, newest)),
    }
}

pub fn older_schema_error(shown: &str) -> StoreError {
    StoreError::Broken(format!(
        "{shown} was written by an older version of Aizuchi; `aizuchi run` brings it up to date"
    ))
}

pub fn newer_schema_error(shown: &str, version: i64) -> StoreError {
    StoreError::Broken(format!(
        "{shown} was written by a newer version of Aizuchi (it has schema {version}); use that version"
    ))
}

/// The newest migration that was applied to a database.
pub async fn newest_migration(readers: &Readers) -> Result<i64, StoreError> {
    let has_table = query(sql::HAS_MIGRATIONS).fetch_optional(readers).await?.is_some();
    if !has_table {
        return Ok(0);
    }
    let moved = query(sql::MOVED_TO).bind(MOVED).fetch_optional(readers).await?;
    if let Some(moved) = moved {
        let moved_to: String = rows::column(&moved, "description")?;
        return Err(StoreError::Broken(format!("it was moved to {moved_to}; use that one")));
    }
    let newest = query(sql::NEWEST_MIGRATION).fetch_one(readers).await?;
    Ok(rows::column::<Option<i64>>(&newest, "version")?.unwrap_or(0))
}
