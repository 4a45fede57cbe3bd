//! Where a database is: in a file, or on a server.

use std::fmt;
use std::path::PathBuf;

use secrecy::{ExposeSecret, SecretString};
use sqlx::postgres::PgConnectOptions;

use crate::store::database::DatabaseStore;
use crate::store::database::writer::DatabaseWriter;
use crate::store::{StoreError, postgres, sqlite};

/// What is found where a database should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseStatus {
    /// Nothing yet; it can be created.
    Missing,
    UpToDate,
    /// It will be brought up to date at the next start.
    Outdated,
    /// An Aizuchi that runs has it open.
    InUse,
}

/// A database that is this process's own.
pub type OpenedDatabase = (DatabaseStore, DatabaseWriter);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseLocation {
    Sqlite(PathBuf),
    Postgres(PostgresUrl),
}

/// A database on a PostgreSQL server, by its `postgres://` URL. Shown without who logs in, and how.
#[derive(Clone, Debug)]
pub struct PostgresUrl {
    url: SecretString,
    redacted: String,
}

/// What may be set behind the `?` of a URL.
const URL_PARAMETERS: &[&str] = &[
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
];

impl DatabaseLocation {
    /// Opens the database for this process alone. Fails if another one has it.
    pub async fn open(&self) -> Result<OpenedDatabase, StoreError> {
        let taken = || {
            StoreError::Broken(format!(
                "another Aizuchi is active on {self}; stop it, or give this one a database of its own"
            ))
        };
        self.open_if_free().await?.ok_or_else(taken)
    }

    /// `None` if another process has it and this one may stand by: a file does not let it.
    pub async fn open_if_free(&self) -> Result<Option<OpenedDatabase>, StoreError> {
        match self {
            DatabaseLocation::Sqlite(path) => sqlite::open(path).await.map(Some),
            DatabaseLocation::Postgres(server) => postgres::open(server).await,
        }
    }

    /// Opens it as soon as no other process has it. Whoever stands by waits for the server as well.
    pub async fn wait_and_open(&self) -> OpenedDatabase {
        let mut told = None;
        loop {
            tokio::time::sleep(postgres::STANDBY_POLL_INTERVAL).await;
            match self.open_if_free().await {
                Ok(Some(opened)) => return opened,
                Ok(None) => told = None,
                Err(error) => {
                    let sentence = error.to_string();
                    if told.as_ref() != Some(&sentence) {
                        tracing::warn!("standing by: {sentence}");
                    }
                    told = Some(sentence);
                }
            }
        }
    }

    /// Looks without changing anything: `check` must not migrate it, nor create it.
    pub async fn inspect(&self) -> Result<DatabaseStatus, StoreError> {
        match self {
            DatabaseLocation::Sqlite(path) => sqlite::inspect::inspect(path).await,
            DatabaseLocation::Postgres(server) => postgres::inspect(server).await,
        }
    }
}

impl PostgresUrl {
    /// `None` if it is no URL of such a server.
    pub fn parse(url: &str) -> Option<Self> {
        let has_scheme = url.starts_with("postgres://") || url.starts_with("postgresql://");
        // The driver logs what it does not know, with its value, so it is asked only if it knows everything.
        let settings = url.split_once('?').map_or("", |(_, settings)| settings);
        let name = |setting: &str| setting.split('=').next().unwrap_or_default().to_owned();
        let is_known = settings
            .split('&')
            .all(|setting| setting.is_empty() || URL_PARAMETERS.contains(&name(setting).as_str()));
        if !has_scheme || !is_known {
            return None;
        }
        let options: PgConnectOptions = url.parse().ok()?;
        let database = options.get_database().unwrap_or_default();
        // A letter of the password that was not escaped has been taken for the end of the host.
        if database.contains(['@', '/', ':']) {
            return None;
        }
        let shown = format!("postgres://{}:{}/{database}", options.get_host(), options.get_port());
        Some(Self { url: url.to_owned().into(), redacted: shown })
    }

    pub fn url(&self) -> &str {
        self.url.expose_secret()
    }
}

impl PartialEq for PostgresUrl {
    fn eq(&self, other: &Self) -> bool {
        self.url() == other.url()
    }
}

impl Eq for PostgresUrl {}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.redacted)
    }
}

impl fmt::Display for DatabaseLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DatabaseLocation::Sqlite(path) => write!(formatter, "{}", path.display()),
            DatabaseLocation::Postgres(server) => server.fmt(formatter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_shown_without_who_logs_in() {
        for (url, shown) in [
            ("postgres://aki:hunter2@db:5433/cats", Some("postgres://db:5433/cats")),
            ("postgresql://aki:hunter2@db/cats?sslmode=require", Some("postgres://db:5432/cats")),
            // The password would have to be escaped.
            ("postgres://aki:12/hunter2@db/cats", None),
            ("postgres://aki:hunter2@db/cats?sslpassword=hunter3", None),
            ("mysql://aki:hunter2@db/cats", None),
        ] {
            let server = PostgresUrl::parse(url);
            assert_eq!(server.as_ref().map(PostgresUrl::to_string).as_deref(), shown, "{url}");
            assert!(!format!("{server:?}").contains("hunter"), "{server:?}");
        }
    }
}
