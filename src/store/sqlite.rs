//! The store on SQLite: write-ahead log, safe against power loss (`synchronous=FULL`), one writer
//! that commits in groups, and a few readers. One process owns the file.

mod archive;
pub mod examine;
mod flow;
mod hear;
pub mod onlooker;
pub mod recall;
mod rows;
pub mod sql;
mod standings;
pub mod writer;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions, SqlStr, SqliteConnection, query};
use tokio::sync::{mpsc, oneshot, watch};

use crate::chat::{ConversationId, Message, MessageId, UserId};
use crate::context::{Context, StateHash};
use crate::event::{Claim, Outcome};
use crate::recall::{RecallQuery, Recalled};
use crate::store::sqlite::writer::{Change, SqliteWriter, Write, Written};
use crate::store::{Hearing, Receipt, Settled, Store, StoreError};

/// Every change of the schema, oldest first.
const MIGRATIONS: &[(i64, &str, &str)] = &[
    (1, "start", include_str!("../../migrations/sqlite/0001_start.sql")),
    (2, "exchanges", include_str!("../../migrations/sqlite/0002_exchanges.sql")),
    (3, "recall", include_str!("../../migrations/sqlite/0003_recall.sql")),
];

/// How long a statement waits for another program's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);
/// How many writes may wait before hearing has to wait too.
const INBOX: usize = 1024;
const READERS: u32 = 4;
/// How much of the database each reader keeps at hand, in KiB, once it has read so much: looking up
/// words touches pages all over it.
const AT_HAND: &str = "-8192";
/// Rows that the driver's thread may be ahead of us: as many as one statement reads, so that it
/// need not stop for each.
const ROW_BUFFER: usize = 512;

pub struct SqliteStore {
    readers: SqlitePool,
    writes: mpsc::Sender<Write>,
    revisions: watch::Receiver<u64>,
    installation: Arc<str>,
    /// Why the newest write failed, if it did.
    last_failure: Arc<Mutex<Option<String>>>,
}

/// What is numbered: committed changes; decisions, pieces and claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    pub revision: u64,
    pub last_number: i64,
    /// Makes the keys of posts this installation's own.
    pub installation: Arc<str>,
}

impl SqliteStore {
    /// Opens or creates the database, brings its schema up to date and frees the leases of the
    /// process that owned it before. The writer must be run for anything to be written.
    pub async fn open(path: &Path) -> Result<(Self, SqliteWriter), StoreError> {
        let lock = lock(path)?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            // What is deleted must not be found in the file; the log beside it is emptied when what
            // is too old is dropped.
            .pragma("secure_delete", "1")
            .busy_timeout(BUSY_TIMEOUT)
            .row_buffer_size(ROW_BUFFER);
        let opened = |error| opening(path, error);
        let mut connection = options.connect().await.map_err(opened)?;
        migrate(path, &mut connection).await?;
        query(sql::FREE_LEASES).execute(&mut connection).await.map_err(opened)?;
        let counters = query(sql::COUNTERS).fetch_one(&mut connection).await.map_err(opened)?;
        let counters = Counters {
            revision: rows::unsigned(rows::column(&counters, "revision")?)?,
            last_number: rows::column(&counters, "last_number")?,
            installation: rows::column::<String>(&counters, "installation")?.into(),
        };
        let index_at = recall::index::indexed_until(&mut connection).await? + recall::index::STEP;
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .connect_with(options.pragma("query_only", "1").pragma("cache_size", AT_HAND))
            .await
            .map_err(opened)?;
        let (writes, inbox) = mpsc::channel(INBOX);
        let (sender, revisions) = watch::channel(counters.revision);
        let installation = counters.installation.clone();
        let last_failure = Arc::new(Mutex::new(None));
        let writer = SqliteWriter {
            connection,
            inbox,
            counters,
            revisions: sender,
            last_failure: last_failure.clone(),
            index_at,
            _lock: lock,
        };
        Ok((Self { readers, writes, revisions, installation, last_failure }, writer))
    }

    /// Whether anything can be written now.
    async fn try_writing(&self) -> Result<(), StoreError> {
        self.write(Change::Nothing).await.map(|_| ())
    }

    async fn write(&self, change: Change) -> Result<Written, StoreError> {
        let (done, written) = oneshot::channel();
        let stopped = || StoreError::Busy("it is shutting down".to_owned());
        self.writes.send(Write { change, done }).await.map_err(|_| stopped())?;
        written.await.map_err(|_| stopped())?
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn hear(&self, hearing: Hearing) -> Result<Receipt, StoreError> {
        let Written::Heard(receipt) = self.write(Change::Hear(hearing)).await? else {
            return Err(mixed_up());
        };
        Ok(receipt)
    }

    async fn claim(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    ) -> Result<Vec<Claim>, StoreError> {
        // Most looks find nothing, and need not wait for the writer.
        if self.next_ready().await?.is_none_or(|ready| ready > now) {
            return Ok(Vec::new());
        }
        let Written::Claimed(claims) = self.write(Change::Claim { now, lease, most }).await? else {
            return Err(mixed_up());
        };
        Ok(claims)
    }

    async fn complete(
        &self,
        claim: &Claim,
        outcome: Outcome,
        now: Timestamp,
    ) -> Result<Settled, StoreError> {
        let (claim, outcome) = (Box::new(claim.clone()), Box::new(outcome));
        let Written::Completed(settled) =
            self.write(Change::Complete { claim, outcome, now }).await?
        else {
            return Err(mixed_up());
        };
        Ok(settled)
    }

    async fn drop_exchanges(&self, before: Timestamp) -> Result<(), StoreError> {
        let Written::Dropped = self.write(Change::DropExchanges { before }).await? else {
            return Err(mixed_up());
        };
        Ok(())
    }

    async fn has_changed_since(
        &self,
        conversation: &ConversationId,
        revision: u64,
        lines: &[MessageId],
    ) -> Result<bool, StoreError> {
        flow::has_changed_since(&self.readers, conversation, revision, lines).await
    }

    async fn next_ready(&self) -> Result<Option<Timestamp>, StoreError> {
        let row = query(sql::NEXT_READY).fetch_one(&self.readers).await.map_err(stored)?;
        rows::column::<Option<i64>>(&row, "ready_ms")?.map(rows::time).transpose()
    }

    fn revisions(&self) -> watch::Receiver<u64> {
        self.revisions.clone()
    }

    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Recalled>, StoreError> {
        let mut moment = self.readers.begin().await.map_err(stored)?;
        recall::recall(&mut moment, query).await
    }

    async fn context(
        &self,
        conversation: &ConversationId,
        limit: usize,
    ) -> Result<Context, StoreError> {
        // One transaction, so that all statements see the same moment.
        let mut moment = self.readers.begin().await.map_err(stored)?;
        let thread = rows::thread(conversation);
        let head = query(sql::CONTEXT_HEAD)
            .bind(conversation.workspace.as_str())
            .bind(conversation.channel.as_str())
            .bind(thread)
            .fetch_one(&mut *moment)
            .await
            .map_err(stored)?;
        let lines = query(sql::CONTEXT_LINES)
            .bind(conversation.workspace.as_str())
            .bind(conversation.channel.as_str())
            .bind(thread)
            .bind(limit as i64)
            .fetch_all(&mut *moment)
            .await
            .map_err(stored)?;
        let mut messages = BTreeMap::new();
        let mut newest_heard = 0;
        for row in &lines {
            let message = rows::message(row)?;
            if message.is_human() && message.conversation == *conversation {
                newest_heard = newest_heard.max(rows::unsigned(rows::column(row, "heard")?)?);
            }
            // A thread's parent stands first, whatever its time.
            let place = (message.conversation.thread.clone(), message.at, message.id.clone());
            messages.insert(place, Arc::new(message));
        }
        let messages: Vec<Arc<Message>> = messages.into_values().collect();
        let named: Value =
            messages.iter().flat_map(|message| message.named()).map(|user| json!(user)).collect();
        let names = query(sql::NAMES).bind(conversation.workspace.as_str()).bind(named.to_string());
        let names = names.fetch_all(&mut *moment).await.map_err(stored)?;
        let names = names.iter().map(|row| {
            let name: String = rows::column(row, "name")?;
            Ok((UserId::new(rows::column::<String>(row, "id")?), name.into()))
        });
        let judgment: Option<String> = rows::column(&head, "judgment")?;
        let channel_name: Option<String> = rows::column(&head, "channel_name")?;
        Ok(Context {
            conversation: conversation.clone(),
            channel_name: channel_name.map_or(conversation.channel.0.clone(), Into::into),
            names: names.collect::<Result<_, StoreError>>()?,
            owed: rows::parsed(&rows::column::<String>(&head, "owed")?)?,
            silent_state: rows::column::<Option<i64>>(&head, "silent_state")?.map(StateHash),
            motive: judgment.map(|judgment| rows::parsed(&judgment)).transpose()?,
            revision: rows::unsigned(rows::column(&head, "revision")?)?,
            newest_heard,
            messages,
        })
    }
}

/// The writer answers each change with its own kind; anything else is a defect.
fn mixed_up() -> StoreError {
    StoreError::Broken("the writer answered another question".to_owned())
}

/// Takes the file for this process alone, as long as the returned handle lives.
fn lock(path: &Path) -> Result<File, StoreError> {
    let shown = path.display();
    let broken =
        |what: &str, error: std::io::Error| StoreError::Broken(format!("{what} {shown}: {error}"));
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)
            .map_err(|error| broken("cannot create the folder of", error))?;
    }
    let file = File::options().create(true).append(true).open(beside(path));
    let file = file.map_err(|error| broken("cannot write beside the database", error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Broken(format!(
            "another Aizuchi is running on {shown}; stop it, or give this one a database of its own"
        ))),
        Err(TryLockError::Error(error)) => Err(broken("cannot lock", error)),
    }
}

/// The file whose lock says who owns the database.
fn beside(path: &Path) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".lock");
    beside.into()
}

async fn migrate(path: &Path, connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let migrations = MIGRATIONS.iter().map(|(version, name, text)| {
        let kind = MigrationType::Simple;
        Migration::new(*version, Cow::Borrowed(*name), kind, SqlStr::from_static(text), false)
    });
    let migrator = Migrator::with_migrations(migrations.collect());
    migrator.run(connection).await.map_err(|error| match error {
        sqlx::migrate::MigrateError::VersionMissing(version) => StoreError::Broken(format!(
            "{} was written by a newer version of Aizuchi (it has schema {version}); use that version",
            path.display()
        )),
        sqlx::migrate::MigrateError::Execute(error) => opening(path, error),
        other => StoreError::Broken(format!("cannot bring {} up to date: {other}", path.display())),
    })
}

/// What a failed statement means for the caller.
pub(crate) fn stored(error: sqlx::Error) -> StoreError {
    if matches!(error, sqlx::Error::PoolTimedOut) {
        return StoreError::Busy("no reader is free".to_owned());
    }
    let code = error.as_database_error().and_then(|error| error.code()).map(Cow::into_owned);
    let primary = code.as_deref().and_then(|code| code.parse::<u32>().ok()).map(|code| code & 0xff);
    // https://www.sqlite.org/rescode.html: the low byte is the primary code.
    match primary {
        Some(5 | 6) => StoreError::Busy("another program holds a lock on the database".to_owned()),
        Some(13) => StoreError::Busy("the disk is full".to_owned()),
        Some(8) => StoreError::Broken("the database is read-only".to_owned()),
        Some(10) => StoreError::Broken("the disk reports an error".to_owned()),
        Some(11) => StoreError::Broken("the database is damaged".to_owned()),
        Some(14) => StoreError::Broken("the database file cannot be opened".to_owned()),
        Some(26) => StoreError::Broken("the file is not a database".to_owned()),
        Some(18..=20) => StoreError::Refused(error.to_string()),
        Some(_) | None => StoreError::Broken(error.to_string()),
    }
}

fn opening(path: &Path, error: sqlx::Error) -> StoreError {
    let reason = match stored(error) {
        StoreError::Busy(reason) | StoreError::Refused(reason) | StoreError::Broken(reason) => {
            reason
        }
    };
    StoreError::Broken(format!("{}: {reason}", path.display()))
}
