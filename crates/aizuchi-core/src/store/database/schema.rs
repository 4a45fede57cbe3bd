//! The schema of a database: its version, and how it is migrated.

use std::borrow::Cow;

use sqlx::SqlStr;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};

use crate::store::StoreError;
use crate::store::database::connection::{Connection, Readers, query};
use crate::store::database::{rows, sql};

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
    let migrated = connection.migrate(&Migrator::with_migrations(migrations.collect())).await;
    migrated.map_err(|error| match error {
        MigrateError::VersionMissing(version) => newer_schema_error(shown, version),
        MigrateError::Execute(error) => connection.to_store_error(error).into_broken(shown),
        other => StoreError::Broken(format!("cannot bring {shown} up to date: {other}")),
    })
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
    let newest = query(sql::NEWEST_MIGRATION).fetch_one(readers).await?;
    Ok(rows::column::<Option<i64>>(&newest, "version")?.unwrap_or(0))
}
