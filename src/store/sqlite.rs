//! The store on SQLite: write-ahead log, safe against power loss (`synchronous=FULL`), one writer
//! that commits in groups, and a few readers. One process owns the file.

mod archive;
mod context;
mod delays;
pub mod examine;
mod flow;
pub mod forget;
mod hear;
mod memory;
mod memos;
pub mod myao2;
mod orders;
pub mod onlooker;
pub mod recall;
mod rows;
pub mod sql;
mod standings;
pub mod writer;

use std::borrow::Cow;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteRow,
    SqliteSynchronous,
};
use sqlx::{ConnectOptions, SqlStr, SqliteConnection, query};
use tokio::sync::{mpsc, oneshot, watch};

use crate::chat::{ChannelId, ConversationId, Message, MessageId, User, Visibility, WorkspaceId};
use crate::context::{Context, Window};
use crate::event::chore::{Chore, ChoreOutcome};
use crate::event::{Claim, Outcome};
use crate::memo::Memo;
use crate::memory::{LineId, Lineage, Memory, MemoryId};
use crate::recall::{RecallQuery, Recalled};
use crate::store::sqlite::forget::Forgotten;
use crate::store::sqlite::writer::{Change, SqliteWriter, Write, Written};
use crate::store::{Hearing, Order, Orders, Receipt, Settled, Store, StoreError};

/// Every change of the schema, oldest first.
const MIGRATIONS: &[(i64, &str, &str)] = &[
    (1, "start", include_str!("../../migrations/sqlite/0001_start.sql")),
    (2, "exchanges", include_str!("../../migrations/sqlite/0002_exchanges.sql")),
    (3, "recall", include_str!("../../migrations/sqlite/0003_recall.sql")),
    (4, "memory", include_str!("../../migrations/sqlite/0004_memory.sql")),
    (5, "withdrawn", include_str!("../../migrations/sqlite/0005_withdrawn.sql")),
    (6, "sources", include_str!("../../migrations/sqlite/0006_sources.sql")),
    (7, "deciding", include_str!("../../migrations/sqlite/0007_deciding.sql")),
    (8, "platforms", include_str!("../../migrations/sqlite/0008_platforms.sql")),
    (9, "delays", include_str!("../../migrations/sqlite/0009_delays.sql")),
    (10, "roles", include_str!("../../migrations/sqlite/0010_roles.sql")),
    (11, "early reactions", include_str!("../../migrations/sqlite/0011_early_reactions.sql")),
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
        myao2::refuse(path).await?;
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
        for statement in [sql::FREE_LEASES, sql::memory::FREE_CHORES] {
            query(statement).execute(&mut connection).await.map_err(opened)?;
        }
        // Somebody who searches must not keep it from starting; it is tried again the next time.
        if let Err(error) = forget::scrub_if_due(&mut connection).await {
            tracing::warn!("what a forgotten person said is still in the file: {error}");
        }
        let counters = query(sql::COUNTERS).fetch_one(&mut connection).await.map_err(opened)?;
        let counters = Counters {
            revision: rows::unsigned(rows::column(&counters, "revision")?)?,
            last_number: rows::column(&counters, "last_number")?,
            installation: rows::column::<String>(&counters, "installation")?.into(),
        };
        let index_at = recall::index::indexed_until(&mut connection).await? + recall::index::STEP;
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            // A file does not go away; asking each time costs a trip to the connection's thread.
            .test_before_acquire(false)
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

    /// A store that nobody writes for.
    fn of_readers(readers: SqlitePool) -> Self {
        let (writes, _) = mpsc::channel(1);
        let (_, revisions) = watch::channel(0);
        let last_failure = Arc::new(Mutex::new(None));
        Self { readers, writes, revisions, installation: "onlooker".into(), last_failure }
    }

    /// Everyone who is known by an id or a name.
    pub async fn find_person(&self, person: &str) -> Result<Vec<User>, StoreError> {
        let mut reader = self.readers.acquire().await.map_err(stored)?;
        forget::find(&mut reader, person).await
    }

    /// Forgets a person: what they said, what is remembered of it, what models were told and said about
    /// it. Afterwards their words are nowhere in the file. What was said of them elsewhere, the platform's
    /// own history included, is not ours to change.
    pub async fn forget_person(
        &self,
        user: &User,
        now: Timestamp,
    ) -> Result<Forgotten, StoreError> {
        let Written::Forgotten(forgotten) =
            self.write(Change::Forget { user: Box::new(user.clone()), now }).await?
        else {
            return Err(mixed_up());
        };
        Ok(forgotten)
    }

    async fn next(&self, statement: &'static str) -> Result<Option<Timestamp>, StoreError> {
        let row = query(statement).fetch_one(&self.readers).await.map_err(stored)?;
        rows::column::<Option<i64>>(&row, "ready_ms")?.map(rows::time).transpose()
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
        if self.next(sql::NEXT_READY).await?.is_none_or(|ready| ready > now) {
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
        home: &ConversationId,
        revision: u64,
        made_from: &Lineage,
    ) -> Result<bool, StoreError> {
        let mut reader = self.readers.acquire().await.map_err(stored)?;
        let (workspace, channel) = (&home.workspace, Some(&home.channel));
        flow::has_changed_since(&mut reader, workspace, channel, revision, made_from).await
    }

    async fn next_ready(&self) -> Result<Option<Timestamp>, StoreError> {
        self.next(sql::NEXT_READY).await
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
        window: &Window,
    ) -> Result<Context, StoreError> {
        context::read(&self.readers, conversation, window).await
    }

    async fn memories(&self, workspace: &WorkspaceId) -> Result<Vec<Memory>, StoreError> {
        let rows = query(sql::memory::MEMORIES).bind(workspace.as_str());
        let rows = rows.fetch_all(&self.readers).await.map_err(stored)?;
        rows.iter().map(memory::memory).collect()
    }

    async fn memos(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
    ) -> Result<Vec<(MemoryId, Memo)>, StoreError> {
        memos::read(&self.readers, workspace, channel).await
    }

    async fn lines_behind(
        &self,
        workspace: &WorkspaceId,
        lines: &[LineId],
    ) -> Result<Vec<(Arc<Message>, Visibility)>, StoreError> {
        let rows = query(sql::LINES_BEHIND).bind(workspace.as_str()).bind(json!(lines).to_string());
        let rows = rows.fetch_all(&self.readers).await.map_err(stored)?;
        let line = |row: &SqliteRow| {
            let visibility = rows::named(&rows::column::<String>(row, "visibility")?)?;
            Ok((Arc::new(rows::message(row)?), visibility))
        };
        rows.iter().map(line).collect()
    }

    async fn order(&self, order: Order, now: Timestamp) -> Result<(), StoreError> {
        let Written::Ordered = self.write(Change::Order { order, now }).await? else {
            return Err(mixed_up());
        };
        Ok(())
    }

    async fn knows(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        line: &MessageId,
    ) -> Result<bool, StoreError> {
        let known = query(sql::KNOWS).bind(workspace.as_str()).bind(channel.as_str());
        let known = known.bind(line.as_str()).fetch_optional(&self.readers).await;
        Ok(known.map_err(stored)?.is_some())
    }

    async fn orders(&self, workspace: &WorkspaceId) -> Result<Orders, StoreError> {
        orders::read(&self.readers, workspace).await
    }

    async fn next_chore(&self) -> Result<Option<Timestamp>, StoreError> {
        self.next(sql::NEXT_CHORE).await
    }

    async fn claim_chores(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    ) -> Result<Vec<Chore>, StoreError> {
        if self.next(sql::NEXT_CHORE).await?.is_none_or(|ready| ready > now) {
            return Ok(Vec::new());
        }
        let claim = Change::ClaimChores { now, lease, most };
        let Written::ClaimedChores(chores) = self.write(claim).await? else {
            return Err(mixed_up());
        };
        Ok(chores)
    }

    async fn complete_chore(
        &self,
        chore: &Chore,
        outcome: ChoreOutcome,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let (chore, outcome) = (Box::new(chore.clone()), Box::new(outcome));
        let Written::CompletedChore =
            self.write(Change::CompleteChore { chore, outcome, now }).await?
        else {
            return Err(mixed_up());
        };
        Ok(())
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
