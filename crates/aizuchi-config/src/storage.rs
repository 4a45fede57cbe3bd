//! The `storage`, `memory` and `retention` sections.

use std::path::PathBuf;

use aizuchi_store::database::location::{DatabaseLocation, PostgresUrl};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::values::{BoundedInteger, Seconds};

/// Where Aizuchi stores everything.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StorageConfig {
    /// `sqlite://FILE`, or `postgres://USER:PASSWORD@HOST/DATABASE`. A file path is relative to the config's folder. If
    /// omitted: `sqlite://data/aizuchi.db`.
    pub url: Option<StorageUrl>,
    /// Scheduled backups while Aizuchi runs. If omitted: none.
    pub backup: Option<BackupConfig>,
}

section! {
    /// Scheduled backups while Aizuchi runs.
    pub struct BackupConfig {
        /// The folder for the backups, relative to the config's folder.
        pub folder: FolderPath = FolderPath(PathBuf::from("backups")),
        /// Hours between backups.
        pub every_hours: BoundedInteger<1, 8760> = BoundedInteger(24),
        /// How many backups are kept; the oldest is deleted first.
        pub keep: BoundedInteger<1, 10_000> = BoundedInteger(7),
    }
}

text_settings! {
    /// A folder.
    FolderPath(PathBuf) = |text| is_file(&text).then(|| text.into()), "it must be a folder, like backups";
    /// A database's file.
    DatabasePath(PathBuf) = |text| (is_file(&text) && !text.contains("://")).then(|| text.into()),
        "it must be a file, like data/aizuchi.db";
}

section! {
    /// What Aizuchi remembers.
    pub struct MemoryConfig {
        /// The database file, relative to the config's folder, if `storage.url` is not set.
        pub database_path: Option<DatabasePath>,
        /// How long after a message it becomes part of a memory.
        pub long_term_update_interval_seconds: Seconds = Seconds(3600.0),
        /// How many versions of each memory are kept.
        pub keep_versions: BoundedInteger<1, 1000> = BoundedInteger(10),
        /// How far back the short-term memory looks.
        pub short_term_window_hours: BoundedInteger<1, 8760> = BoundedInteger(24),
        /// The longest long-term memory, in tokens.
        pub long_term_summary_max_tokens: BoundedInteger<1, 100_000> = BoundedInteger(500),
        /// The longest short-term memory, in tokens.
        pub short_term_summary_max_tokens: BoundedInteger<1, 100_000> = BoundedInteger(300),
    }
}

section! {
    /// How long things are kept.
    pub struct RetentionConfig {
        /// How many days messages are kept. Older ones are erased with the prompts and reasons made from them, at midnight
        /// UTC; memories and memos stay. If omitted: messages are kept forever.
        pub messages_days: Option<BoundedInteger<1, 36_500>>,
        /// How many days prompts and answers are kept, so that a decision can be explained. 0 keeps none.
        pub prompts_days: BoundedInteger<0, 3650> = BoundedInteger(30),
        /// How many megabytes of the database prompts and answers may take; the oldest are deleted first. 0 keeps none.
        pub prompts_mb: BoundedInteger<0, 1_000_000> = BoundedInteger(500),
    }
}

/// A database.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline)]
pub struct StorageUrl(#[schemars(with = "String")] pub DatabaseLocation);

impl RetentionConfig {
    pub fn keeps_prompts(&self) -> bool {
        self.prompts_days.0 > 0 && self.prompts_mb.0 > 0
    }
}

impl TryFrom<String> for StorageUrl {
    type Error = &'static str;

    fn try_from(value: String) -> Result<Self, &'static str> {
        if value.starts_with("postgres://") || value.starts_with("postgresql://") {
            let server =
                PostgresUrl::parse(&value).map(|server| Self(DatabaseLocation::Postgres(server)));
            return server.ok_or("it must be like postgres://USER:PASSWORD@HOST/DATABASE");
        }
        // SQLAlchemy writes `postgresql+asyncpg://`.
        if value.starts_with("postgresql+") {
            return Err("the driver does not belong here: it must begin with postgres://");
        }
        let file = value.strip_prefix("sqlite://").filter(|file| is_file(file));
        let file = file.ok_or(
            "it must be like sqlite://data/aizuchi.db or postgres://USER:PASSWORD@HOST/DATABASE",
        )?;
        Ok(Self(DatabaseLocation::Sqlite(PathBuf::from(file))))
    }
}

/// Whether this names a file. In-memory databases are rejected, because owed answers must survive a restart.
fn is_file(file: &str) -> bool {
    !file.is_empty() && !file.starts_with(':') && !file.contains(['?', '\0'])
}
