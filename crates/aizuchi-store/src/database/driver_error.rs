//! Classifies the errors of both drivers by what the caller does next. The sentences are shown to operators.

use std::borrow::Cow;
use std::io::ErrorKind;

use crate::StoreError;
use crate::refusal_reason::RefusalReason;

/// The reason for refusing a damaged database.
pub const DAMAGED: &str = "the database is damaged";
/// The same, if not even its beginning can be read.
pub const NOT_A_DATABASE: &str = "the file is not a database";

/// Classifies an error of SQLite.
pub fn from_sqlite(error: sqlx::Error) -> StoreError {
    if matches!(error, sqlx::Error::PoolTimedOut) {
        return StoreError::Busy("no reader is free".to_owned());
    }
    let code = error.as_database_error().and_then(|error| error.code()).map(Cow::into_owned);
    let primary = code.as_deref().and_then(|code| code.parse::<u32>().ok()).map(|code| code & 0xff);
    // The low byte is the primary code: https://www.sqlite.org/rescode.html
    match primary {
        Some(5 | 6) => StoreError::Busy("another program holds a lock on the database".to_owned()),
        // Not the database's fault: it works again once space is freed.
        Some(13) => StoreError::Busy("the disk is full".to_owned()),
        Some(8) => StoreError::Broken("the database is read-only".to_owned()),
        // A short read: the end of the write-ahead log is gone.
        Some(10) if code.as_deref() == Some("522") => StoreError::Broken(DAMAGED.to_owned()),
        Some(10) => StoreError::Broken("the disk reports an error".to_owned()),
        Some(11) => StoreError::Broken(DAMAGED.to_owned()),
        Some(14) => StoreError::Broken("the database file cannot be opened".to_owned()),
        Some(26) => StoreError::Broken(NOT_A_DATABASE.to_owned()),
        // Too big, a constraint, a mismatch: the value is at fault, and a retry would fail again.
        Some(18..=20) => unstorable(error.to_string()),
        Some(_) | None => StoreError::Broken(error.to_string()),
    }
}

/// Classifies an error of PostgreSQL. The first two characters of its code are the error class:
/// <https://www.postgresql.org/docs/current/errcodes-appendix.html>
pub fn from_postgres(error: sqlx::Error) -> StoreError {
    if matches!(error, sqlx::Error::PoolTimedOut) {
        return StoreError::Busy("no reader is free".to_owned());
    }
    let Some(database_error) = error.as_database_error() else {
        return match error {
            sqlx::Error::Io(error) if error.kind() == ErrorKind::ConnectionRefused => {
                StoreError::Busy(
                    "the server refuses the connection; check that it runs, and its host and port in storage.url"
                        .to_owned(),
                )
            }
            sqlx::Error::Io(error) => StoreError::Busy(format!(
                "the server cannot be reached ({error}); check its host and port in storage.url"
            )),
            other => StoreError::Broken(other.to_string()),
        };
    };
    let code = database_error.code().unwrap_or_default().into_owned();
    match code.get(..2).unwrap_or_default() {
        "57" => StoreError::Busy(match code.as_str() {
            "57014" => "the server has stopped the statement".to_owned(),
            "57P03" => "the server is starting up".to_owned(),
            _ => "the server has ended the session".to_owned(),
        }),
        // Among these are serialization failures, deadlocks and lock timeouts.
        "40" | "55" => StoreError::Busy("another program holds a lock on the database".to_owned()),
        "53" => StoreError::Busy(match code.as_str() {
            "53100" => "the server's disk is full".to_owned(),
            "53300" => "the server has no room for more connections".to_owned(),
            _ => "the server has not enough memory".to_owned(),
        }),
        "08" => StoreError::Busy("the connection to the server is broken".to_owned()),
        "XX" if matches!(code.as_str(), "XX001" | "XX002") => {
            StoreError::Broken(DAMAGED.to_owned())
        }
        "28" if code == "28P01" => StoreError::Broken(
            "the server does not accept this user or password; check both in storage.url"
                .to_owned(),
        ),
        "3D" => StoreError::Broken(
            "there is no such database on the server; create it, or name another in storage.url"
                .to_owned(),
        ),
        // The error's detail may contain chat text, so it is left out.
        "22" | "23" | "54" => unstorable(format!("{} ({code})", database_error.message())),
        _ => StoreError::Broken(format!("{} ({code})", database_error.message())),
    }
}

fn unstorable(why: String) -> StoreError {
    StoreError::Refused(RefusalReason::Unstorable(why))
}
