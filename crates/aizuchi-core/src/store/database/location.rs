//! Where a database is: in a file, or on a server.

use std::fmt;
use std::path::PathBuf;

use secrecy::{ExposeSecret, SecretString};
use sqlx::postgres::PgConnectOptions;

use crate::store::database::DatabaseStore;
use crate::store::database::writer::DatabaseWriter;
use crate::store::{StoreError, postgres, sqlite};

/// The state of the database at a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseStatus {
    /// It does not exist yet, and can be created.
    Missing,
    UpToDate,
    /// The next start migrates it.
    Outdated,
    /// A running Aizuchi has it open.
    InUse,
}

/// A database that this process owns.
pub type OpenedDatabase = (DatabaseStore, DatabaseWriter);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseLocation {
    Sqlite(PathBuf),
    Postgres(PostgresUrl),
}

/// A database on a PostgreSQL server, by its `postgres://` URL. Displayed without the credentials.
#[derive(Clone, Debug)]
pub struct PostgresUrl {
    url: SecretString,
    redacted: String,
}

/// The query parameters that a URL may have.
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
    /// Opens the database for this process alone. Fails if another process owns it.
    pub async fn open(&self) -> Result<OpenedDatabase, StoreError> {
        let in_use = || {
            StoreError::Broken(format!(
                "another Aizuchi is active on {self}; stop it, or give this one a database of its own"
            ))
        };
        self.open_if_free().await?.ok_or_else(in_use)
    }

    /// `None` if another process owns it and this one may stand by. Only a server allows that; a file is an error.
    pub async fn open_if_free(&self) -> Result<Option<OpenedDatabase>, StoreError> {
        match self {
            DatabaseLocation::Sqlite(path) => sqlite::open(path).await.map(Some),
            DatabaseLocation::Postgres(server) => postgres::open(server).await,
        }
    }

    /// Opens the database as soon as no other process owns it, and also waits for a server that is down.
    pub async fn wait_and_open(&self) -> OpenedDatabase {
        let mut last_error = None;
        loop {
            tokio::time::sleep(postgres::STANDBY_POLL_INTERVAL).await;
            match self.open_if_free().await {
                Ok(Some(opened)) => return opened,
                Ok(None) => last_error = None,
                Err(error) => {
                    let message = error.to_string();
                    if last_error.as_ref() != Some(&message) {
                        tracing::warn!(error = %message, "standing by; the database cannot be opened");
                    }
                    last_error = Some(message);
                }
            }
        }
    }

    /// Looks at the database without changing anything: `check` must neither migrate nor create it.
    pub async fn inspect(&self) -> Result<DatabaseStatus, StoreError> {
        match self {
            DatabaseLocation::Sqlite(path) => sqlite::inspect::inspect(path).await,
            DatabaseLocation::Postgres(server) => postgres::inspect(server).await,
        }
    }
}

impl PostgresUrl {
    /// `None` if it is not a valid PostgreSQL URL.
    pub fn parse(url: &str) -> Option<Self> {
        let has_scheme = url.starts_with("postgres://") || url.starts_with("postgresql://");
        // The driver logs unknown parameters with their values, so it only sees URLs whose parameters are all known.
        let parameters = url.split_once('?').map_or("", |(_, parameters)| parameters);
        let name = |parameter: &str| parameter.split('=').next().unwrap_or_default().to_owned();
        let is_known = parameters.split('&').all(|parameter| {
            parameter.is_empty() || URL_PARAMETERS.contains(&name(parameter).as_str())
        });
        if !has_scheme || !is_known {
            return None;
        }
        let options: PgConnectOptions = url.parse().ok()?;
        let database = options.get_database().unwrap_or_default();
        // An unescaped character of the password was taken for the end of the host.
        if database.contains(['@', '/', ':']) {
            return None;
        }
        let redacted =
            format!("postgres://{}:{}/{database}", options.get_host(), options.get_port());
        Some(Self { url: url.to_owned().into(), redacted })
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
    fn urls_are_displayed_without_credentials() {
        for (url, redacted) in [
            ("postgres://aki:hunter2@db:5433/cats", Some("postgres://db:5433/cats")),
            ("postgresql://aki:hunter2@db/cats?sslmode=require", Some("postgres://db:5432/cats")),
            // The `/` in the password would have to be escaped.
            ("postgres://aki:12/hunter2@db/cats", None),
            ("postgres://aki:hunter2@db/cats?sslpassword=hunter3", None),
            ("mysql://aki:hunter2@db/cats", None),
        ] {
            let server = PostgresUrl::parse(url);
            assert_eq!(server.as_ref().map(PostgresUrl::to_string).as_deref(), redacted, "{url}");
            assert!(!format!("{server:?}").contains("hunter"), "{server:?}");
        }
    }
}
