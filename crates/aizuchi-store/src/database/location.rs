//! The location of a database: a file, or a server. `open.rs` opens it.

use std::fmt;
use std::path::PathBuf;

use secrecy::{ExposeSecret, SecretString};
use sqlx::postgres::PgConnectOptions;

use crate::database::DatabaseStore;
use crate::database::writer::DatabaseWriter;

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

/// The query parameters allowed in a URL.
const URL_PARAMETERS: &[&str] = &[
    "sslmode", "sslrootcert", "sslcert", "sslkey", "host", "hostaddr", "port", "dbname", "user",
    "password",
];

impl PostgresUrl {
    /// Parses a PostgreSQL URL. `None` if it is invalid.
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
        // An unescaped character in the password was taken for the end of the host.
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
