//! The store on a database, SQLite or PostgreSQL: one writer with group commit, and a small pool of readers. One
//! process owns the database.

pub mod location;
pub mod driver_error;
pub(crate) mod damage;
pub mod connection;
pub(crate) mod dialect;
pub mod sql;
pub mod exchange_text;
pub mod rows;
pub mod schema;
pub mod files;
mod write_request;
pub mod writer;
mod hear;
mod pending_states;
mod attachments;
mod outbox;
mod trust;
mod proposals;
mod consents;
mod place_settings;
mod steps;
mod spending;
mod attempts;
mod reservations;
mod lineage;
mod memory_rows;
mod journal;
mod order_journal;
mod memory;
mod pending_memories;
mod memos;
mod memory_changes;
pub mod redaction;
mod expiry;
mod dead_letters;
mod marks;
pub(crate) mod standing_orders;
mod standing_order_drafts;
mod plans;
mod uploads;
mod web_calls;
pub mod orders;
pub mod forget;
mod context;
pub mod recall;
mod figures;
mod aftermaths;
mod stored_messages;
mod decisions;
mod archive_rows;
pub(crate) mod archive;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use aizuchi_model::chat::{
    ChannelId, ConversationId, Cursor, Message, MessageId, User, UserId, Visibility, WorkspaceId,
};
use aizuchi_model::context::{Context, ContextWindow};
use aizuchi_model::flow::memory_job::{MemoryJob, MemoryJobOutcome};
use aizuchi_model::flow::planned_call::{PlannedCall, ReservationResult, UnclaimedCall};
use aizuchi_model::flow::web_call::{WebCall, WebLimit};
use aizuchi_model::flow::{Claim, Outcome};
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::{Lineage, Memory, MemoryId, MessageRef};
use aizuchi_model::recall::{RecallQuery, RecalledMessage};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::{Notify, Semaphore, mpsc, watch};

use crate::database::connection::{Connection, Readers, Row, query};
use crate::database::forget::job::{ForgetProgress, ForgettingJob};
use crate::database::forget::scrub::{ScrubJob, ScrubProgress};
use crate::database::forget::user_hash::UserHashes;
use crate::database::forget::write::ForgetWrite;
use crate::database::recall::index::MergeStep;
use crate::database::redaction::RedactionProgress;
use crate::database::write_request::{WriteReply, WriteRequest};
use crate::database::writer::{DatabaseWriter, Ownership, WriteHealth};
use crate::expiry::{Expiry, ExpiryProgress};
use crate::lost_span::LostSpan;
use crate::order::{Order, OrdersInForce};
use crate::people::ForgetReport;
use crate::{CompletionReceipt, Cursors, HearReceipt, InboxEntry, Store, StoreError};

/// The capacity of the write queue. When it is full, hearing waits, too.
const WRITE_QUEUE_CAPACITY: usize = 1024;
/// The maximum number of concurrent searches, so that other queries always find a free reader.
const MAX_SEARCHES: usize = 2;
/// The timeout of a search: better a reply without old messages than a late one. A server also ends each statement of a
/// search after this time.
const MAX_RECALL_TIME: Duration = Duration::from_secs(3);
/// How long a successful write shows that the database is writable.
const WRITE_PROBE_INTERVAL: Duration = Duration::from_secs(2);
/// The size of a probe after a failure, in bytes: more than one message with everything that follows from it.
const LARGE_PROBE: usize = 256 * 1024;
/// The maximum number of connections that read.
pub const MAX_READERS: u32 = 4;

pub struct DatabaseStore {
    readers: Readers,
    recall_slots: Semaphore,
    requests: mpsc::Sender<WriteRequest>,
    revisions: watch::Receiver<u64>,
    erasures: watch::Receiver<u64>,
    installation: Arc<str>,
    lost_span: Option<LostSpan>,
    user_hashes: UserHashes,
    write_health: Arc<Mutex<WriteHealth>>,
    erasure_ordered: Notify,
}

/// The counters of the database: committed changes (`revision`); and decisions, outbox items and claims (one sequence).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    pub revision: u64,
    pub last_number: i64,
    /// As in [`Store::erasures`]. It is not stored.
    pub erasures: u64,
    /// Makes this installation's post keys unique.
    pub installation: Arc<str>,
    /// The lost time span, if the database was restored from a backup.
    pub lost_span: Option<LostSpan>,
}

impl Counters {
    pub async fn read(connection: &mut Connection) -> Result<Self, StoreError> {
        let counters = query(sql::COUNTERS).fetch_one(connection).await?;
        let copied = rows::optional_time(&counters, "copied_ms")?;
        let restored = rows::optional_time(&counters, "restored_ms")?;
        Ok(Self {
            lost_span: copied.zip(restored).map(|(from, until)| LostSpan { from, until }),
            revision: rows::to_unsigned(rows::column(&counters, "revision")?)?,
            last_number: rows::column(&counters, "last_number")?,
            erasures: 0,
            installation: rows::column::<String>(&counters, "installation")?.into(),
        })
    }

    /// The installation id of a database of any version.
    pub async fn installation(connection: &mut Connection) -> Result<Arc<str>, StoreError> {
        let counters = query(sql::INSTALLATION).fetch_one(connection).await?;
        Ok(rows::column::<String>(&counters, "installation")?.into())
    }

    pub async fn write(&self, connection: &mut Connection) -> Result<(), StoreError> {
        let put = query(sql::PUT_COUNTERS).bind(self.revision as i64).bind(self.last_number);
        put.execute(connection).await.map(|_| ())
    }
}

impl DatabaseStore {
    /// Starts the store and its writer on an open database whose schema is up to date. Releases the leases of the
    /// previous owner.
    pub async fn start(
        mut connection: Connection,
        readers: Readers,
        ownership: Ownership,
    ) -> Result<(Self, DatabaseWriter), StoreError> {
        for statement in [
            sql::steps::RELEASE_LEASES,
            sql::plans::RELEASE_PLANS,
            sql::memory::RELEASE_MEMORY_JOBS,
        ] {
            query(statement).execute(&mut connection).await?;
        }
        forget::user_hash::salt_plain_hashes(&mut connection).await?;
        let counters = Counters::read(&mut connection).await?;
        let index_at =
            recall::index::indexed_until(&mut connection).await? + recall::index::INDEX_BATCH;
        let index_batch = match connection.is_postgres() {
            true => recall::index::BatchSize::FIRST_OF_SERVER,
            false => recall::index::BatchSize::FULL,
        };
        let (requests, request_receiver) = mpsc::channel(WRITE_QUEUE_CAPACITY);
        let (revision_sender, revisions) = watch::channel(counters.revision);
        let (erasure_sender, erasures) = watch::channel(0);
        let (installation, lost_span) = (counters.installation.clone(), counters.lost_span);
        let write_health = Arc::<Mutex<WriteHealth>>::default();
        let writer = DatabaseWriter {
            connection,
            requests: request_receiver,
            counters,
            revisions: revision_sender,
            erasures: erasure_sender,
            write_health: write_health.clone(),
            damage: readers.damage().clone(),
            index_at,
            index_batch,
            ownership,
        };
        let erasure_ordered = Notify::new();
        let recall_slots = Semaphore::new(MAX_SEARCHES);
        let store = Self {
            readers,
            recall_slots,
            requests,
            revisions,
            erasures,
            installation,
            lost_span,
            user_hashes: UserHashes::default(),
            write_health,
            erasure_ordered,
        };
        Ok((store, writer))
    }

    /// Checks that the database is writable now.
    async fn check_writable(&self) -> Result<(), StoreError> {
        self.readers.damage().check()?;
        // A disk may fill up although nothing is written, and the cause of a failure may be gone; only another write can
        // tell.
        let filler = {
            let health = self.write_health.lock();
            let is_recent = |at: &Instant| at.elapsed() < WRITE_PROBE_INTERVAL;
            match health.has_failed {
                true => LARGE_PROBE,
                false if health.last_success.as_ref().is_some_and(is_recent) => return Ok(()),
                false => 0,
            }
        };
        self.write(|reply| WriteRequest::Probe { filler, reply }).await
    }

    /// A store without a writer.
    pub(crate) fn from_readers(readers: Readers) -> Self {
        // The receiving end is dropped, so every write fails.
        let (requests, _) = mpsc::channel(1);
        let ((_, revisions), (_, erasures)) = (watch::channel(0), watch::channel(0));
        let write_health = Arc::<Mutex<WriteHealth>>::default();
        let installation = "onlooker".into();
        let erasure_ordered = Notify::new();
        let recall_slots = Semaphore::new(MAX_SEARCHES);
        Self {
            readers,
            recall_slots,
            requests,
            revisions,
            erasures,
            installation,
            lost_span: None,
            user_hashes: UserHashes::default(),
            write_health,
            erasure_ordered,
        }
    }

    /// The current counters from the database, even if another process writes them.
    pub async fn counters(&self) -> Result<Counters, StoreError> {
        Counters::read(&mut self.readers.acquire().await?).await
    }

    /// The messages that a memo was made from.
    pub async fn memo_sources(&self, memo: MemoryId) -> Result<Vec<MessageRef>, StoreError> {
        let mut reader = self.readers.acquire().await?;
        memos::sources(&mut reader, memo).await
    }

    /// When the listed users were last forgotten, for those who were.
    pub async fn forgotten_at(
        &self,
        workspace: &WorkspaceId,
        users: &BTreeSet<UserId>,
    ) -> Result<HashMap<UserId, Timestamp>, StoreError> {
        let mut reader = self.readers.acquire().await?;
        forget::forgotten_at(&mut reader, workspace, users).await
    }

    /// Forgets a user at once, including the name: their messages, the memories of them, and the prompts and answers
    /// about them. Nothing of it is left in the database file. Copies in other systems, such as the platform's own
    /// history, are out of our reach.
    pub async fn forget_user(
        &self,
        user: &User,
        by: &str,
        now: Timestamp,
    ) -> Result<ForgetReport, StoreError> {
        let (workspace, id) = (user.workspace.clone(), user.id.clone());
        self.order(Order::ForgetUser { workspace, user: id, by: by.into() }, now).await?;
        while self.redact_next(now).await? != RedactionProgress::Idle {}
        let mut job = ForgettingJob::default();
        let mut report = ForgetReport::default();
        loop {
            match job.step(self, now).await? {
                ForgetProgress::Working | ForgetProgress::Hidden(_) => {}
                // Earlier orders of others are processed first, so the last report is the one for this user.
                ForgetProgress::Done(done) => report = done.report,
                ForgetProgress::Idle => break,
            }
        }
        self.rewrite().await.map_err(|error| {
            StoreError::Broken(format!(
                "the person is forgotten, but the database could not be rewritten: {error}"
            ))
        })?;
        Ok(report)
    }

    /// Removes the remains of forgotten users outside the tables, and rewrites the database. Blocks all other writes.
    async fn rewrite(&self) -> Result<(), StoreError> {
        let mut job = ScrubJob::default();
        self.write(|reply| WriteRequest::Rewrite { reply }).await?;
        loop {
            match job.step(self).await? {
                ScrubProgress::Working => {}
                ScrubProgress::Idle | ScrubProgress::Done => return Ok(()),
                ScrubProgress::Blocked => {
                    return Err(StoreError::Busy("somebody reads the database".to_owned()));
                }
            }
        }
    }

    /// Writes one step of a forgetting.
    async fn write_forgetting(&self, write: ForgetWrite, now: Timestamp) -> Result<(), StoreError> {
        let write = Box::new(write);
        self.write(|reply| WriteRequest::Forget { write, now, reply }).await
    }

    /// Withholds the next messages of users who opted out, and of conversations that were reset.
    pub async fn redact_next(&self, now: Timestamp) -> Result<RedactionProgress, StoreError> {
        // Usually there is nothing to do, and no need to wait for the writer.
        if !redaction::is_pending(&mut self.readers.acquire().await?).await? {
            return Ok(RedactionProgress::Idle);
        }
        self.write(|reply| WriteRequest::Redact { now, reply }).await
    }

    /// Completes when a user has asked to be forgotten or opted out since the last call returned.
    pub async fn wait_for_erasure(&self) {
        self.erasure_ordered.notified().await;
    }

    /// Since when text of forgotten users remains only in the index and the logs, if any does.
    pub async fn scrub_due_since(&self) -> Result<Option<Timestamp>, StoreError> {
        forget::scrub_due_since(&mut self.readers.acquire().await?).await
    }

    /// Merges one step of the index. Returns whether there is more to merge.
    async fn merge_index(&self, step: MergeStep) -> Result<bool, StoreError> {
        self.write(|reply| WriteRequest::MergeIndex { step, reply }).await
    }

    /// Truncates the write-ahead log, which ends a scrub. Returns whether it succeeded.
    async fn truncate_log(&self) -> Result<bool, StoreError> {
        self.write(|reply| WriteRequest::TruncateLog { reply }).await
    }

    async fn next_ready_at(
        &self,
        statement: &'static str,
    ) -> Result<Option<Timestamp>, StoreError> {
        let row = query(statement).fetch_one(&self.readers).await?;
        rows::column::<Option<i64>>(&row, "ready_ms")?.map(rows::to_timestamp).transpose()
    }

    async fn write<T>(
        &self,
        request: impl FnOnce(WriteReply<T>) -> WriteRequest,
    ) -> Result<T, StoreError> {
        let (reply, result) = WriteReply::channel();
        let stopped = || StoreError::Busy("it is shutting down".to_owned());
        self.requests.send(request(reply)).await.map_err(|_| stopped())?;
        // The writer has ended without a reply, so whether this was committed is unknown.
        result.await.map_err(|_| stopped())?
    }
}

#[async_trait]
impl Cursors for DatabaseStore {
    async fn cursors(&self, workspace: &WorkspaceId) -> Result<Vec<Cursor>, StoreError> {
        let rows = query(sql::CURSORS).bind(workspace.as_str()).fetch_all(&self.readers).await;
        rows?.iter().map(rows::cursor_from_row).collect()
    }

    async fn put_cursor(&self, cursor: Cursor) -> Result<(), StoreError> {
        self.write(|reply| WriteRequest::PutCursor { cursor, reply }).await
    }
}

#[async_trait]
impl Store for DatabaseStore {
    async fn hear(&self, entry: InboxEntry) -> Result<HearReceipt, StoreError> {
        self.write(|reply| WriteRequest::Hear { entry: entry.into(), reply }).await
    }

    async fn claim(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        limit: usize,
    ) -> Result<Vec<Claim>, StoreError> {
        // Most polls find nothing, and need not wait for the writer.
        if self.next_ready_at(sql::steps::NEXT_READY).await?.is_none_or(|ready| ready > now) {
            return Ok(Vec::new());
        }
        self.write(|reply| WriteRequest::Claim { now, lease, limit, reply }).await
    }

    async fn reserve(
        &self,
        call: &PlannedCall,
        now: Timestamp,
    ) -> Result<ReservationResult, StoreError> {
        let call = Box::new(call.clone());
        self.write(|reply| WriteRequest::Reserve { call, now, reply }).await
    }

    async fn book(&self, call: &UnclaimedCall) -> Result<(), StoreError> {
        let call = Box::new(call.clone());
        self.write(|reply| WriteRequest::Book { call, reply }).await
    }

    async fn count_web_call(
        &self,
        call: &WebCall,
        now: Timestamp,
    ) -> Result<Option<WebLimit>, StoreError> {
        let call = Box::new(call.clone());
        self.write(|reply| WriteRequest::CountWebCall { call, now, reply }).await
    }

    async fn complete(
        &self,
        claim: &Claim,
        outcome: Outcome,
        now: Timestamp,
    ) -> Result<CompletionReceipt, StoreError> {
        let (claim, outcome) = (Box::new(claim.clone()), Box::new(outcome));
        self.write(|reply| WriteRequest::Complete { claim, outcome, now, reply }).await
    }

    async fn drop_exchanges(&self, before: Timestamp, max_bytes: u64) -> Result<(), StoreError> {
        self.write(|reply| WriteRequest::DropExchanges { before, max_bytes, reply }).await
    }

    async fn drop_journals(&self, now: Timestamp) -> Result<(), StoreError> {
        self.write(|reply| WriteRequest::DropJournals { now, reply }).await?;
        self.drop_unsent_uploads(now).await
    }

    async fn has_changed_since(
        &self,
        conversation: &ConversationId,
        revision: u64,
        lineage: &Lineage,
    ) -> Result<bool, StoreError> {
        let mut reader = self.readers.acquire().await?;
        let (workspace, channel) = (&conversation.workspace, Some(&conversation.channel));
        lineage::has_changed_since(&mut reader, workspace, channel, revision, lineage).await
    }

    async fn next_ready(&self) -> Result<Option<Timestamp>, StoreError> {
        self.next_ready_at(sql::steps::NEXT_READY).await
    }

    async fn expire_next(&self, expiry: Expiry) -> Result<ExpiryProgress, StoreError> {
        let mut reader = self.readers.acquire().await?;
        if !expiry::has_expired(&mut reader, expiry.before).await? {
            return Ok(ExpiryProgress::Idle);
        }
        drop(reader);
        self.write(|reply| WriteRequest::Expire { expiry, reply }).await
    }

    fn revisions(&self) -> watch::Receiver<u64> {
        self.revisions.clone()
    }

    fn erasures(&self) -> watch::Receiver<u64> {
        self.erasures.clone()
    }

    async fn recall(&self, query: &RecallQuery) -> Result<Vec<RecalledMessage>, StoreError> {
        let searching = async {
            let _slot = self.recall_slots.acquire().await;
            recall::recall(&mut self.readers.snapshot().await?, query).await
        };
        let too_slow = |_| StoreError::Busy("the search takes too long".to_owned());
        tokio::time::timeout(MAX_RECALL_TIME, searching).await.map_err(too_slow)?
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
        rows.iter().map(memory_rows::memory_from_row).collect()
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
        messages: &[MessageRef],
    ) -> Result<Vec<(Arc<Message>, Visibility)>, StoreError> {
        let rows = query(sql::messages::SOURCE_MESSAGES)
            .bind(workspace.as_str())
            .bind(json!(messages).to_string());
        let rows = rows.fetch_all(&self.readers).await?;
        let message_from_row = |row: &Row| {
            let visibility = rows::parse_name(&rows::column::<String>(row, "visibility")?)?;
            Ok((Arc::new(rows::message_from_row(row)?), visibility))
        };
        rows.iter().map(message_from_row).collect()
    }

    async fn order(&self, order: Order, now: Timestamp) -> Result<(), StoreError> {
        let changes_messages = order.effects().changes_messages;
        self.write(|reply| WriteRequest::Order { order, now, reply }).await?;
        if changes_messages {
            // This keeps a permit, so an order that comes while the forgetter is at work is not missed.
            self.erasure_ordered.notify_one();
        }
        Ok(())
    }

    async fn has_heard(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        message: &MessageId,
        client_message_id: Option<&str>,
    ) -> Result<bool, StoreError> {
        let row = query(sql::messages::HAS_HEARD).bind(workspace.as_str()).bind(channel.as_str());
        let row = row.bind(message.as_str()).bind(client_message_id);
        let row = row.fetch_optional(&self.readers).await;
        Ok(row?.is_some())
    }

    async fn orders(&self, workspace: &WorkspaceId) -> Result<OrdersInForce, StoreError> {
        orders::read(&self.readers, workspace).await
    }

    async fn next_memory_job(&self) -> Result<Option<Timestamp>, StoreError> {
        self.next_ready_at(sql::steps::NEXT_MEMORY_JOB).await
    }

    async fn claim_memory_jobs(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        limit: usize,
    ) -> Result<Vec<MemoryJob>, StoreError> {
        if self.next_ready_at(sql::steps::NEXT_MEMORY_JOB).await?.is_none_or(|ready| ready > now) {
            return Ok(Vec::new());
        }
        self.write(|reply| WriteRequest::ClaimMemoryJobs { now, lease, limit, reply }).await
    }

    async fn complete_memory_job(
        &self,
        job: &MemoryJob,
        outcome: MemoryJobOutcome,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let (job, outcome) = (Box::new(job.clone()), Box::new(outcome));
        self.write(|reply| WriteRequest::CompleteMemoryJob { job, outcome, now, reply }).await
    }
}
