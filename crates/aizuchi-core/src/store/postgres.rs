//! A database on a PostgreSQL server. Any number of processes may be started on one: one of them is active
//! and owns the database, the others stand by. Who is active holds an advisory lock with the session that
//! writes. When that session ends, the lock is free; a session that has been silent for longer than
//! [`LEASE`] is ended by whoever stands by. Whoever has lost its session can write nothing any more.

pub mod sql;

use std::cmp::Ordering;
use std::time::Duration;

use sqlx::Connection as _;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};

use crate::store::StoreError;
use crate::store::database::connection::{Connection, Readers, Row, query};
use crate::store::database::location::{DatabaseStatus, OpenedDatabase, PostgresUrl};
use crate::store::database::writer::Ownership;
use crate::store::database::{
    DatabaseStore, MAX_READERS, SchemaMigration, migrate, newer_schema_error, read_only, rows,
};

/// Every change of the schema, oldest first.
pub const MIGRATIONS: &[SchemaMigration] =
    &[(1, "start", include_str!("../../migrations/postgres/0001_start.sql"))];

/// How readers see one moment.
pub const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Whoever is active and has not been heard of for so long is not active any more.
pub const LEASE: Duration = Duration::from_secs(15);
/// How often who is active is heard of.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(5);
/// How often whoever stands by looks.
pub const STANDBY_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The oldest server that has all that is asked of it, as it numbers itself.
const MIN_SERVER_VERSION: i64 = 140_000;
/// More statements than there are.
const STATEMENT_CACHE_CAPACITY: usize = 256;
/// How long the server may take to answer when it is connected to.
pub const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Becomes the active one, if no other is, and opens the database: creates what is not there, and frees the
/// leases of the process that was active before. The writer must be run for anything to be written.
pub async fn open(server: &PostgresUrl) -> Result<Option<OpenedDatabase>, StoreError> {
    let shown = server.to_string();
    let options = connect_options(server)?;
    let mut connection =
        Connection::Postgres(connect(&shown, &writer_options(options.clone())).await?);
    // Whoever stands by asks every second, also while the server dies.
    let taken = match tokio::time::timeout(RESPONSE_TIMEOUT, try_take_over(&mut connection)).await {
        Ok(taken) => taken.map_err(|error| error.into_broken(&shown))?,
        Err(_) => return Err(StoreError::Broken(format!("{shown} does not answer"))),
    };
    if !taken {
        return Ok(None);
    }
    migrate(&shown, MIGRATIONS, &mut connection).await?;
    let readers = PgPoolOptions::new()
        .max_connections(MAX_READERS)
        .acquire_timeout(RESPONSE_TIMEOUT)
        .connect_with(reader_options(options))
        .await
        .map_err(|error| to_store_error(error).into_broken(&shown))?;
    let started =
        DatabaseStore::start(connection, Readers::Postgres(readers), Ownership::SessionLock).await;
    started.map(Some).map_err(|error| error.into_broken(&shown))
}

/// Becomes the active one, if no other is, or the other is not heard of any more.
async fn try_take_over(connection: &mut Connection) -> Result<bool, StoreError> {
    check_compatibility(&query(sql::SERVER_STATUS).fetch_one(&mut *connection).await?)?;
    if try_lock(connection).await? {
        return Ok(true);
    }
    let silent = query(sql::TERMINATE_SILENT_SESSION).bind(LEASE.as_secs() as i64);
    for ended in silent.fetch_all(&mut *connection).await? {
        if rows::column(&ended, "is_ended")? {
            tracing::warn!(
                "the Aizuchi that was active has been silent for {LEASE:?}; its session is ended"
            );
        }
    }
    try_lock(connection).await
}

/// Why a database cannot be used, if it cannot.
fn check_compatibility(look: &Row) -> Result<(), StoreError> {
    let is = |name: &str| rows::column::<bool>(look, name);
    let encoding: String = rows::column(look, "encoding")?;
    let why = if rows::column::<i64>(look, "version")? < MIN_SERVER_VERSION {
        "the server must be PostgreSQL 14 or newer".to_owned()
    } else if is("is_replica")? {
        "this is a replica, which nothing can be written to; name the primary".to_owned()
    } else if encoding != "UTF8" {
        format!("the database's encoding must be UTF8, and it is {encoding}")
    } else if !is("has_schema")? {
        "the user's search_path names no schema that is there".to_owned()
    } else if !is("may_create")? {
        "this user may not create tables in the database".to_owned()
    } else {
        return Ok(());
    };
    Err(StoreError::Broken(why))
}

async fn try_lock(connection: &mut Connection) -> Result<bool, StoreError> {
    let row = query(sql::TAKE_LOCK).fetch_one(connection).await?;
    rows::column(&row, "is_taken")
}

/// What is on the server, without changing it.
pub async fn inspect(server: &PostgresUrl) -> Result<DatabaseStatus, StoreError> {
    let shown = server.to_string();
    let readers = readers(server).await?;
    let examined = async {
        let look = query(sql::SERVER_STATUS).fetch_one(&readers).await?;
        check_compatibility(&look)?;
        if rows::column(&look, "is_locked")? {
            return Ok(DatabaseStatus::InUse);
        }
        let newest = read_only::newest_migration(&readers).await?;
        let ours = MIGRATIONS.last().map_or(0, |(version, ..)| *version);
        match newest.cmp(&ours) {
            Ordering::Equal => Ok(DatabaseStatus::UpToDate),
            Ordering::Greater => Err(newer_schema_error(&shown, newest)),
            Ordering::Less if newest == 0 => Ok(DatabaseStatus::Missing),
            Ordering::Less => Ok(DatabaseStatus::Outdated),
        }
    };
    let examined = examined.await;
    readers.close().await;
    examined.map_err(|error| error.into_broken(&shown))
}

/// Connections that read what is there, whoever is active, and change nothing.
pub async fn readers(server: &PostgresUrl) -> Result<Readers, StoreError> {
    let pool = PgPoolOptions::new().max_connections(2).acquire_timeout(RESPONSE_TIMEOUT);
    let pool = pool.connect_with(reader_options(connect_options(server)?)).await;
    pool.map(Readers::Postgres)
        .map_err(|error| to_store_error(error).into_broken(&server.to_string()))
}

async fn connect(shown: &str, options: &PgConnectOptions) -> Result<PgConnection, StoreError> {
    match tokio::time::timeout(RESPONSE_TIMEOUT, PgConnection::connect_with(options)).await {
        Ok(connected) => connected.map_err(|error| to_store_error(error).into_broken(shown)),
        Err(_) => Err(StoreError::Broken(format!("{shown} does not answer"))),
    }
}

fn connect_options(server: &PostgresUrl) -> Result<PgConnectOptions, StoreError> {
    let options: Result<PgConnectOptions, _> = server.url().parse();
    // What is wrong with it may hold the password.
    let options = options
        .map_err(|_| StoreError::Broken(format!("{server} cannot be read as a postgres:// URL")))?;
    let options =
        options.application_name("aizuchi").statement_cache_capacity(STATEMENT_CACHE_CAPACITY);
    // What statements read is estimated at many times what it is, and compiling them takes longer than they do.
    let fitting = [("tcp_keepalives_idle", "10"), ("tcp_keepalives_interval", "5"), ("jit", "off")];
    Ok(options.options(fitting))
}

/// What is acknowledged is safe, whatever the role's own settings are; and whoever holds a lock on a table is not
/// waited for without end, nor is the end of a statement that nobody waits for any more.
fn writer_options(options: PgConnectOptions) -> PgConnectOptions {
    options.options([
        ("synchronous_commit", "on"),
        ("statement_timeout", "0"),
        ("lock_timeout", "10s"),
        ("client_connection_check_interval", "5s"),
    ])
}

fn reader_options(options: PgConnectOptions) -> PgConnectOptions {
    options.options([("default_transaction_read_only", "on"), ("statement_timeout", "30s")])
}

/// What a failed statement means for the caller.
/// <https://www.postgresql.org/docs/current/errcodes-appendix.html>: the first two letters are the class.
pub fn to_store_error(error: sqlx::Error) -> StoreError {
    if matches!(error, sqlx::Error::PoolTimedOut) {
        return StoreError::Busy("no reader is free".to_owned());
    }
    let Some(told) = error.as_database_error() else {
        return match error {
            sqlx::Error::Io(error) => {
                StoreError::Busy(format!("the server cannot be reached: {error}"))
            }
            other => StoreError::Broken(other.to_string()),
        };
    };
    let code = told.code().unwrap_or_default().into_owned();
    match code.get(..2).unwrap_or_default() {
        "57" => StoreError::Busy(match code.as_str() {
            "57014" => "the server has stopped the statement".to_owned(),
            "57P03" => "the server is starting up".to_owned(),
            _ => "the server has ended the session".to_owned(),
        }),
        "40" | "55" => StoreError::Busy("another program holds a lock on the database".to_owned()),
        "53" => StoreError::Busy(match code.as_str() {
            "53100" => "the server's disk is full".to_owned(),
            "53300" => "the server has no room for more connections".to_owned(),
            _ => "the server has not enough memory".to_owned(),
        }),
        "08" => StoreError::Busy("the connection to the server is broken".to_owned()),
        "28" if code == "28P01" => {
            StoreError::Broken("the server does not accept this user or password".to_owned())
        }
        "3D" => StoreError::Broken("there is no such database on the server".to_owned()),
        // A detail may tell what was written.
        "22" | "23" => StoreError::Refused(format!("{} ({code})", told.message())),
        _ => StoreError::Broken(format!("{} ({code})", told.message())),
    }
}
