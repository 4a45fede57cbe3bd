//! A database on a PostgreSQL server. Several processes may be started on one database: one is active and owns it,
//! the others stand by. The active process holds an advisory lock with the session that writes. The lock is released
//! when that session ends; a standby terminates a session that has been silent for longer than [`LEASE`]. A process
//! that has lost its session cannot write anything any more.

pub mod sql;

use std::cmp::Ordering;
use std::time::Duration;

use sqlx::Connection as _;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};

use crate::StoreError;
use crate::database::connection::{Connection, POSTGRES_BEGIN_SNAPSHOT, Readers, Row, query};
use crate::database::damage::DamageMark;
use crate::database::location::{DatabaseStatus, OpenedDatabase, PostgresUrl};
use crate::database::schema::{SchemaMigration, migrate, newer_schema_error, newest_migration};
use crate::database::writer::{Ownership, SessionHeartbeat};
use crate::database::{DatabaseStore, driver_error, rows};

/// All schema migrations, oldest first.
pub const MIGRATIONS: &[SchemaMigration] = &[
    (1, "start", include_str!("../migrations/postgres/0001_start.sql")),
    (2, "second_looks", include_str!("../migrations/postgres/0002_second_looks.sql")),
    (3, "links", include_str!("../migrations/postgres/0003_links.sql")),
    (4, "forgettings", include_str!("../migrations/postgres/0004_forgettings.sql")),
    (5, "reservations", include_str!("../migrations/postgres/0005_reservations.sql")),
    (7, "calls", include_str!("../migrations/postgres/0007_calls.sql")),
    (8, "limits", include_str!("../migrations/postgres/0008_limits.sql")),
    (11, "redactions", include_str!("../migrations/postgres/0011_redactions.sql")),
    (12, "probes", include_str!("../migrations/postgres/0012_probes.sql")),
    (13, "postings", include_str!("../migrations/postgres/0013_postings.sql")),
    (14, "moments", include_str!("../migrations/postgres/0014_moments.sql")),
    (15, "forgotten users", include_str!("../migrations/postgres/0015_forgotten_users.sql")),
    (16, "console", include_str!("../migrations/postgres/0016_console.sql")),
    (18, "marks", include_str!("../migrations/postgres/0018_marks.sql")),
    (19, "letters", include_str!("../migrations/postgres/0019_letters.sql")),
    (20, "salt", include_str!("../migrations/postgres/0020_salt.sql")),
    (21, "cockpit", include_str!("../migrations/postgres/0021_cockpit.sql")),
    (22, "earlier answers", include_str!("../migrations/postgres/0022_earlier_answers.sql")),
    (23, "expiry", include_str!("../migrations/postgres/0023_expiry.sql")),
    (24, "unpriced", include_str!("../migrations/postgres/0024_unpriced.sql")),
    (25, "restored", include_str!("../migrations/postgres/0025_restored.sql")),
    (26, "figures", include_str!("../migrations/postgres/0026_figures.sql")),
    (27, "orders", include_str!("../migrations/postgres/0027_orders.sql")),
    (28, "cache", include_str!("../migrations/postgres/0028_cache.sql")),
    (31, "files", include_str!("../migrations/postgres/0031_files.sql")),
    (32, "proposals", include_str!("../migrations/postgres/0032_proposals.sql")),
    (33, "standing orders", include_str!("../migrations/postgres/0033_standing_orders.sql")),
    (34, "uploads", include_str!("../migrations/postgres/0034_uploads.sql")),
    (35, "consents", include_str!("../migrations/postgres/0035_consents.sql")),
    (36, "order drafts", include_str!("../migrations/postgres/0036_order_drafts.sql")),
    (37, "weekly notes", include_str!("../migrations/postgres/0037_weekly_notes.sql")),
    (38, "health", include_str!("../migrations/postgres/0038_health.sql")),
    (39, "room settings", include_str!("../migrations/postgres/0039_room_settings.sql")),
    (41, "trust offers", include_str!("../migrations/postgres/0041_trust_offers.sql")),
    (44, "web calls", include_str!("../migrations/postgres/0044_web_calls.sql")),
    (45, "no delays", include_str!("../migrations/postgres/0045_no_delays.sql")),
    (46, "quotes", include_str!("../migrations/postgres/0046_quotes.sql")),
    (47, "topic", include_str!("../migrations/postgres/0047_topic.sql")),
    (48, "failures", include_str!("../migrations/postgres/0048_failures.sql")),
    (49, "no moments", include_str!("../migrations/postgres/0049_no_moments.sql")),
    (50, "no weekly notes", include_str!("../migrations/postgres/0050_no_weekly_notes.sql")),
    (51, "needed confidence", include_str!("../migrations/postgres/0051_needed_confidence.sql")),
    (52, "plans", include_str!("../migrations/postgres/0052_plans.sql")),
    (53, "catch up", include_str!("../migrations/postgres/0053_catch_up.sql")),
];

/// An active process that is silent for this long is considered dead.
const LEASE: Duration = Duration::from_secs(15);
/// How the active process shows that it is alive, well within [`LEASE`].
const HEARTBEAT: SessionHeartbeat =
    SessionHeartbeat { interval: Duration::from_secs(5), timeout: RESPONSE_TIMEOUT };
/// How often, and how many times, to poll for a session that may be ending.
pub(crate) const ENDING_SESSION_POLL: Duration = Duration::from_millis(50);
pub(crate) const ENDING_SESSION_POLLS: usize = 60;
/// The oldest supported server, as a `server_version_num`. `client_connection_check_interval` is new in 14.
const MIN_SERVER_VERSION: i64 = 140_000;
/// Larger than the number of statements.
const STATEMENT_CACHE_CAPACITY: usize = 256;
/// How long an idle session is trusted without a ping.
const TRUSTED_IDLE: Duration = Duration::from_secs(1);
/// The timeout for a connection attempt or a heartbeat.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Becomes the active process if there is no other, migrates the database, and releases the leases of the previous
/// active process. At most `readers` sessions read. Nothing is written unless the returned writer runs.
pub async fn open(
    server: &PostgresUrl,
    readers: u32,
) -> Result<Option<OpenedDatabase>, StoreError> {
    let redacted_url = server.to_string();
    let options = connect_options(server)?;
    let Some(mut connection) = take_over(server).await? else { return Ok(None) };
    // Only as the active process: another one could be writing with the old schema.
    migrate(&redacted_url, MIGRATIONS, &mut connection).await?;
    let readers = PgPoolOptions::new()
        .max_connections(readers)
        .acquire_timeout(RESPONSE_TIMEOUT)
        // The driver has pinged the session when it was returned. Pinging before each use, too, would triple the round
        // trips.
        .test_before_acquire(false)
        .before_acquire(|session, state| {
            Box::pin(
                async move { Ok(state.idle_for < TRUSTED_IDLE || session.ping().await.is_ok()) },
            )
        })
        .connect_with(reader_options(options))
        .await
        .map_err(|error| driver_error::from_postgres(error).into_broken(&redacted_url))?;
    let started = DatabaseStore::start(
        connection,
        Readers::Postgres(readers, DamageMark::default()),
        Ownership::SessionLock(HEARTBEAT),
    )
    .await;
    started.map(Some).map_err(|error| error.into_broken(&redacted_url))
}

/// Returns a connection that holds the lock, or `None` if another process does.
async fn take_over(server: &PostgresUrl) -> Result<Option<Connection>, StoreError> {
    let redacted_url = server.to_string();
    let options = writer_options(connect_options(server)?);
    let mut connection = Connection::Postgres(connect(&redacted_url, &options).await?);
    // A standby polls every second, and must notice if the server dies in between.
    match tokio::time::timeout(RESPONSE_TIMEOUT, try_take_over(&mut connection)).await {
        Ok(is_ours) => {
            let is_ours = is_ours.map_err(|error| error.into_broken(&redacted_url))?;
            Ok(is_ours.then_some(connection))
        }
        Err(_) => Err(StoreError::Broken(format!("{redacted_url} does not answer"))),
    }
}

/// Returns a connection that prevents every other process from becoming active, however long it is silent: a whole
/// database is copied through it, without heartbeats. If its machine is gone, the server ends it.
pub async fn connect_exclusive(server: &PostgresUrl) -> Result<Connection, StoreError> {
    // The server ends the session of an exited process only after a short delay.
    for _ in 0..ENDING_SESSION_POLLS {
        if let Some(mut connection) = take_over(server).await? {
            query(sql::NAME_TRANSFER).execute(&mut connection).await?;
            return Ok(connection);
        }
        tokio::time::sleep(ENDING_SESSION_POLL).await;
    }
    Err(StoreError::Broken(format!("another Aizuchi is active on {server}; stop it first")))
}

/// Returns a connection that writes beside the active process.
pub async fn connect_secondary(server: &PostgresUrl) -> Result<Connection, StoreError> {
    let options = writer_options(connect_options(server)?);
    Ok(Connection::Postgres(connect(&server.to_string(), &options).await?))
}

/// Opens one snapshot of a database that another process may be writing to. Without a timeout, since it may be read as
/// a whole.
pub async fn open_snapshot(server: &PostgresUrl) -> Result<Connection, StoreError> {
    let redacted_url = server.to_string();
    let options = connect_options(server)?.options([("statement_timeout", "0")]);
    let mut connection = Connection::Postgres(connect(&redacted_url, &options).await?);
    let begun = query(POSTGRES_BEGIN_SNAPSHOT).execute(&mut connection).await;
    begun.map_err(|error| error.into_broken(&redacted_url))?;
    Ok(connection)
}

/// Becomes the active process if there is none, or if the current one has been silent for too long.
async fn try_take_over(connection: &mut Connection) -> Result<bool, StoreError> {
    check_compatibility(&query(sql::SERVER_STATUS).fetch_one(&mut *connection).await?)?;
    if try_lock(connection).await? {
        return Ok(true);
    }
    let terminate = query(sql::TERMINATE_SILENT_SESSION).bind(LEASE.as_secs() as i64);
    for session in terminate.fetch_all(&mut *connection).await? {
        if rows::column(&session, "is_ended")? {
            tracing::warn!(wait = ?LEASE, "terminated the silent session of the active process");
        }
    }
    // Another standby may be faster.
    try_lock(connection).await
}

/// Fails with the reason if a database cannot be used.
fn check_compatibility(status: &Row) -> Result<(), StoreError> {
    let flag = |name: &str| rows::column::<bool>(status, name);
    let encoding: String = rows::column(status, "encoding")?;
    let reason = if rows::column::<i64>(status, "version")? < MIN_SERVER_VERSION {
        "the server must be PostgreSQL 14 or newer".to_owned()
    } else if flag("is_replica")? {
        "this is a replica, which nothing can be written to; name the primary".to_owned()
    } else if encoding != "UTF8" {
        format!("the database's encoding must be UTF8, and it is {encoding}")
    } else if !flag("has_schema")? {
        "the user's search_path names no schema that is there".to_owned()
    } else if !flag("may_create")? {
        "this user may not create tables in the database".to_owned()
    } else {
        return Ok(());
    };
    Err(StoreError::Broken(reason))
}

async fn try_lock(connection: &mut Connection) -> Result<bool, StoreError> {
    let row = query(sql::TAKE_LOCK).fetch_one(connection).await?;
    rows::column(&row, "is_taken")
}

/// Inspects the database without changing it.
pub async fn inspect(server: &PostgresUrl) -> Result<DatabaseStatus, StoreError> {
    let redacted_url = server.to_string();
    let readers = readers(server).await?;
    let inspection = async {
        let status = query(sql::SERVER_STATUS).fetch_one(&readers).await?;
        check_compatibility(&status)?;
        if rows::column(&status, "is_locked")? {
            return Ok(DatabaseStatus::InUse);
        }
        let newest_applied = newest_migration(&readers).await?;
        let newest_known = MIGRATIONS.last().map_or(0, |(version, ..)| *version);
        match newest_applied.cmp(&newest_known) {
            Ordering::Equal => Ok(DatabaseStatus::UpToDate),
            Ordering::Greater => Err(newer_schema_error(&redacted_url, newest_applied)),
            Ordering::Less if newest_applied == 0 => Ok(DatabaseStatus::Missing),
            Ordering::Less => Ok(DatabaseStatus::Outdated),
        }
    };
    let inspection = inspection.await;
    readers.close().await;
    inspection.map_err(|error| error.into_broken(&redacted_url))
}

/// Opens read-only connections. They work regardless of which process is active.
pub async fn readers(server: &PostgresUrl) -> Result<Readers, StoreError> {
    let redacted_url = server.to_string();
    let options = reader_options(connect_options(server)?);
    // A pool retries until its timeout, and then only reports that it has no connection.
    connect(&redacted_url, &options).await?.close().await.ok();
    let pool = PgPoolOptions::new().max_connections(2).acquire_timeout(RESPONSE_TIMEOUT);
    let pool = pool.connect_with(options).await;
    pool.map(|pool| Readers::Postgres(pool, DamageMark::default()))
        .map_err(|error| driver_error::from_postgres(error).into_broken(&redacted_url))
}

async fn connect(
    redacted_url: &str,
    options: &PgConnectOptions,
) -> Result<PgConnection, StoreError> {
    match tokio::time::timeout(RESPONSE_TIMEOUT, PgConnection::connect_with(options)).await {
        Ok(connected) => {
            connected.map_err(|error| driver_error::from_postgres(error).into_broken(redacted_url))
        }
        Err(_) => Err(StoreError::Broken(format!(
            "{redacted_url} does not answer; check that the server runs, and its host and port in storage.url"
        ))),
    }
}

fn connect_options(server: &PostgresUrl) -> Result<PgConnectOptions, StoreError> {
    let options: Result<PgConnectOptions, _> = server.url().parse();
    // The parser's error may contain the password.
    let options = options
        .map_err(|_| StoreError::Broken(format!("{server} cannot be read as a postgres:// URL")))?;
    let options =
        options.application_name("aizuchi").statement_cache_capacity(STATEMENT_CACHE_CAPACITY);
    // The planner overestimates JSON functions by orders of magnitude, and JIT compilation then takes longer than the
    // statement.
    let settings =
        // With keepalives, the server ends the session of a machine that is gone, and releases its lock.
        [("tcp_keepalives_idle", "10"), ("tcp_keepalives_interval", "5"), ("jit", "off")];
    Ok(options.options(settings))
}

/// Makes durability independent of the role's settings. Limits the wait for another program's table lock, and a
/// statement whose client is gone.
fn writer_options(options: PgConnectOptions) -> PgConnectOptions {
    options.options([
        ("synchronous_commit", "on"),
        ("statement_timeout", "0"),
        ("lock_timeout", "10s"),
        ("client_connection_check_interval", "5s"),
    ])
}

fn reader_options(options: PgConnectOptions) -> PgConnectOptions {
    options.options([
        ("default_transaction_read_only", "on"),
        ("statement_timeout", "30s"),
        // Shorter than `/ready` waits for an answer.
        ("lock_timeout", "1s"),
    ])
}
