//! The store on a database, SQLite or PostgreSQL: one writer that commits in groups, and a few readers.
//! One process owns the database.

mod archive;
pub mod connection;
mod context;
mod reply_delays;
mod dialect;
mod steps;
pub mod forget;
mod hear;
mod memory;
mod memos;
pub mod read_only;
mod orders;
pub mod location;
pub mod recall;
pub mod rows;
pub mod sql;
mod pending_states;
pub mod writer;

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use sqlx::SqlStr;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use tokio::sync::{mpsc, oneshot, watch};

use crate::chat::{ChannelId, ConversationId, Message, MessageId, User, Visibility, WorkspaceId};
use crate::context::{Context, ContextWindow};
use crate::event::memory_job::{MemoryJob, MemoryJobOutcome};
use crate::event::{Claim, Outcome};
use crate::memo::Memo;
use crate::memory::{Lineage, Memory, MemoryId, MessageRef};
use crate::recall::{RecallQuery, RecalledMessage};
use crate::store::database::connection::{Connection, Readers, Row, query};
use crate::store::database::forget::ForgetReport;
use crate::store::database::writer::{
    DatabaseWriter, Ownership, WriteOperation, WriteRequest, WriteResult,
};
use crate::store::{
    CompletionReceipt, HearReceipt, InboxEntry, Order, StandingOrders, Store, StoreError,
};

/// How many writes may wait before hearing has to wait too.
const WRITE_QUEUE_CAPACITY: usize = 1024;
/// How many may read at once.
pub const MAX_READERS: u32 = 4;

/// A change of the schema: its number, its name, and its statements.
pub type SchemaMigration = (i64, &'static str, &'static str);

pub struct DatabaseStore {
    readers: Readers,
    writes: mpsc::Sender<WriteRequest>,
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

impl DatabaseStore {
    /// The store and its writer on an open database whose schema is up to date. Frees the leases of the
    /// process that owned it before.
    pub async fn start(
        mut connection: Connection,
        readers: Readers,
        ownership: Ownership,
    ) -> Result<(Self, DatabaseWriter), StoreError> {
        for statement in [sql::RELEASE_LEASES, sql::memory::RELEASE_MEMORY_JOBS] {
            query(statement).execute(&mut connection).await?;
        }
        // Somebody who searches must not keep it from starting; it is tried again the next time. On a server, which
        // may have others wait for long, that is when what is too old is dropped.
        if !connection.is_postgres()
            && let Err(error) = forget::scrub_if_due(&mut connection).await
        {
            tracing::warn!("what a forgotten person said is still in the database: {error}");
        }
        let counters = query(sql::COUNTERS).fetch_one(&mut connection).await?;
        let counters = Counters {
            revision: rows::to_unsigned(rows::column(&counters, "revision")?)?,
            last_number: rows::column(&counters, "last_number")?,
            installation: rows::column::<String>(&counters, "installation")?.into(),
        };
        let index_at =
            recall::index::indexed_until(&mut connection).await? + recall::index::INDEX_BATCH;
        let (writes, inbox) = mpsc::channel(WRITE_QUEUE_CAPACITY);
        let (sender, revisions) = watch::channel(counters.revision);
        let installation = counters.installation.clone();
        let last_failure = Arc::new(Mutex::new(None));
        let writer = DatabaseWriter {
            connection,
            requests: inbox,
            counters,
            revisions: sender,
            last_failure: last_failure.clone(),
            index_at,
            ownership,
        };
        Ok((Self { readers, writes, revisions, installation, last_failure }, writer))
    }

    /// Whether anything can be written now.
    async fn probe_write(&self) -> Result<(), StoreError> {
        self.write(WriteOperation::Probe).await.map(|_| ())
    }

    /// A store that nobody writes for.
    fn from_readers(readers: Readers) -> Self {
        let (writes, _) = mpsc::channel(1);
        let (_, revisions) = watch::channel(0);
        let last_failure = Arc::new(Mutex::new(None));
        Self { readers, writes, revisions, installation: "onlooker".into(), last_failure }
    }

    /// Everyone who is known by an id or a name.
    pub async fn find_users(&self, person: &str) -> Result<Vec<User>, StoreError> {
        let mut reader = self.readers.acquire().await?;
        forget::find_users(&mut reader, person).await
    }

    /// Forgets a person: what they said, what is remembered of it, what models were told and said about
    /// it. Afterwards their words are nowhere in the file. What was said of them elsewhere, the platform's
    /// own history included, is not ours to change.
    pub async fn forget_user(
        &self,
        user: &User,
        now: Timestamp,
    ) -> Result<ForgetReport, StoreError> {
        let WriteResult::ForgotUser(forgotten) =
            self.write(WriteOperation::ForgetUser { user: Box::new(user.clone()), now }).await?
        else {
            return Err(mixed_up());
        };
        Ok(forgotten)
    }

    async fn next_ready_at(
        &self,
        statement: &'static str,
    ) -> Result<Option<Timestamp>, StoreError> {
        let row = query(statement).fetch_one(&self.readers).await?;
        rows::column::<Option<i64>>(&row, "ready_ms")?.map(rows::to_timestamp).transpose()
    }

    async fn write(&self, change: WriteOperation) -> Result<WriteResult, StoreError> {
        let (done, written) = oneshot::channel();
        let stopped = || StoreError::Busy("it is shutting down".to_owned());
        self.writes
            .send(WriteRequest { operation: change, response: done })
            .await
            .map_err(|_| stopped())?;
        written.await.map_err(|_| stopped())?
    }
}

#[async_trait]
impl Store for DatabaseStore {
    async fn hear(&self, hearing: InboxEntry) -> Result<HearReceipt, StoreError> {
        let WriteResult::Heard(receipt) = self.write(WriteOperation::Hear(hearing)).await? else {
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
        if self.next_ready_at(sql::NEXT_READY).await?.is_none_or(|ready| ready > now) {
            return Ok(Vec::new());
        }
        let WriteResult::Claimed(claims) =
            self.write(WriteOperation::Claim { now, lease, most }).await?
        else {
            return Err(mixed_up());
        };
        Ok(claims)
    }

    async fn complete(
        &self,
        claim: &Claim,
        outcome: Outcome,
        now: Timestamp,
    ) -> Result<CompletionReceipt, StoreError> {
        let (claim, outcome) = (Box::new(claim.clone()), Box::new(outcome));
        let WriteResult::Completed(settled) =
            self.write(WriteOperation::Complete { claim, outcome, now }).await?
        else {
            return Err(mixed_up());
        };
        Ok(settled)
    }

    async fn drop_exchanges(&self, before: Timestamp) -> Result<(), StoreError> {
        let WriteResult::DroppedExchanges =
            self.write(WriteOperation::DropExchanges { before }).await?
        else {
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
        let mut reader = self.readers.acquire().await?;
        let (workspace, channel) = (&home.workspace, Some(&home.channel));
        steps::has_changed_since(&mut reader, workspace, channel, revision, made_from).await
    }

    async fn next_ready(&self) -> Result<Option<Timestamp>, StoreError> {
        self.next_ready_at(sql::NEXT_READY).await
    }

    fn revisions(&self) -> watch::Receiver<u64> {
        self.revisions.clone()
    }

    async fn recall(&self, query: &RecallQuery) -> Result<Vec<RecalledMessage>, StoreError> {
        let mut moment = self.readers.snapshot().await?;
        recall::recall(&mut moment, query).await
    }

    async fn context(
        &self,
        conversation: &ConversationId,
        window: &ContextWindow,
    ) -> Result<Context, StoreError> {
        context::read(&self.readers, conversation, window).await
    }

    async fn memories(&self, workspace: &WorkspaceId) -> Result<Vec<Memory>, StoreError> {
        let rows = query(sql::memory::MEMORIES).bind(workspace.as_str());
        let rows = rows.fetch_all(&self.readers).await?;
        rows.iter().map(memory::memory_from_row).collect()
    }

    async fn memos(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
    ) -> Result<Vec<(MemoryId, Memo)>, StoreError> {
        memos::read_visible(&self.readers, workspace, channel).await
    }

    async fn source_messages(
        &self,
        workspace: &WorkspaceId,
        lines: &[MessageRef],
    ) -> Result<Vec<(Arc<Message>, Visibility)>, StoreError> {
        let rows =
            query(sql::SOURCE_MESSAGES).bind(workspace.as_str()).bind(json!(lines).to_string());
        let rows = rows.fetch_all(&self.readers).await?;
        let line = |row: &Row| {
            let visibility = rows::parse_name(&rows::column::<String>(row, "visibility")?)?;
            Ok((Arc::new(rows::message_from_row(row)?), visibility))
        };
        rows.iter().map(line).collect()
    }

    async fn order(&self, order: Order, now: Timestamp) -> Result<(), StoreError> {
        let WriteResult::Ordered = self.write(WriteOperation::Order { order, now }).await? else {
            return Err(mixed_up());
        };
        Ok(())
    }

    async fn has_heard(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        line: &MessageId,
    ) -> Result<bool, StoreError> {
        let known = query(sql::HAS_HEARD).bind(workspace.as_str()).bind(channel.as_str());
        let known = known.bind(line.as_str()).fetch_optional(&self.readers).await;
        Ok(known?.is_some())
    }

    async fn orders(&self, workspace: &WorkspaceId) -> Result<StandingOrders, StoreError> {
        orders::read(&self.readers, workspace).await
    }

    async fn next_memory_job(&self) -> Result<Option<Timestamp>, StoreError> {
        self.next_ready_at(sql::NEXT_MEMORY_JOB).await
    }

    async fn claim_memory_jobs(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    ) -> Result<Vec<MemoryJob>, StoreError> {
        if self.next_ready_at(sql::NEXT_MEMORY_JOB).await?.is_none_or(|ready| ready > now) {
            return Ok(Vec::new());
        }
        let claim = WriteOperation::ClaimMemoryJobs { now, lease, most };
        let WriteResult::ClaimedMemoryJobs(chores) = self.write(claim).await? else {
            return Err(mixed_up());
        };
        Ok(chores)
    }

    async fn complete_memory_job(
        &self,
        chore: &MemoryJob,
        outcome: MemoryJobOutcome,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let (chore, outcome) = (Box::new(chore.clone()), Box::new(outcome));
        let WriteResult::CompletedMemoryJob =
            self.write(WriteOperation::CompleteMemoryJob { chore, outcome, now }).await?
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

/// Brings the schema of a database up to date, which is called `shown`.
pub async fn migrate(
    shown: &str,
    changes: &[SchemaMigration],
    connection: &mut Connection,
) -> Result<(), StoreError> {
    let changes = changes.iter().map(|(version, name, text)| {
        let kind = MigrationType::Simple;
        Migration::new(*version, Cow::Borrowed(*name), kind, SqlStr::from_static(text), false)
    });
    let migrated = connection.migrate(&Migrator::with_migrations(changes.collect())).await;
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
