//! The only task that writes. It commits waiting writes in one transaction (group commit), so that one `fsync` covers
//! many messages; the callers get their results after the commit.

use std::sync::Arc;
use std::time::{Duration, Instant};

use aizuchi_model::chat::Heard;
use anyhow::Context as _;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::database::connection::{Connection, query};
use crate::database::damage::DamageMark;
use crate::database::driver_error::DAMAGED;
use crate::database::files::{DatabaseFiles, ShorterFile};
use crate::database::hear::IncomingMessage;
use crate::database::recall::MAX_UNINDEXED;
use crate::database::recall::index::{self, BatchSize, TermErasure};
use crate::database::write_request::{WriteRequest, newest_cursors};
use crate::database::{
    Counters, consents, expiry, forget, hear, journal, memory, order_journal, orders, redaction,
    reservations, rows, sql, standing_orders, steps, uploads, web_calls,
};
use crate::{EARLY_REACTION_RETENTION, HearReceipt, InboxEntry, StoreError};

/// How much longer a prompt's lineage is kept than its text.
const LINEAGE_RETENTION: SignedDuration = SignedDuration::from_hours(30 * 24);
/// A server that does not answer a routine write within this time is considered gone, and another process may be active
/// by then.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(30);
/// The timeout of a rewrite of the database.
const REWRITE_TIMEOUT: Duration = Duration::from_secs(600);
/// The maximum number of writes in one transaction.
const MAX_BATCH: usize = 256;

pub struct DatabaseWriter {
    pub(super) connection: Connection,
    pub(super) requests: mpsc::Receiver<WriteRequest>,
    pub(super) counters: Counters,
    pub(super) revisions: watch::Sender<u64>,
    pub(super) erasures: watch::Sender<u64>,
    /// The revision at which the next batch is indexed.
    pub(super) index_at: u64,
    /// The size of that batch.
    pub(super) index_batch: BatchSize,
    pub(super) write_health: Arc<Mutex<WriteHealth>>,
    pub(super) damage: DamageMark,
    pub(super) ownership: Ownership,
}

/// Proof that this process owns a database.
pub enum Ownership {
    /// The file lock, held while the file is open, and the files that it protects.
    FileLock { lock: std::fs::File, files: DatabaseFiles },
    /// An advisory lock held by the writing session.
    SessionLock(SessionHeartbeat),
}

/// The state of the newest writes.
#[derive(Default)]
pub struct WriteHealth {
    /// Whether the newest write failed for a reason other than its own content.
    pub has_failed: bool,
    /// When a write last succeeded.
    pub last_success: Option<Instant>,
}

/// How this process shows a server that it is alive.
#[derive(Clone, Copy)]
pub struct SessionHeartbeat {
    pub interval: Duration,
    /// A server that takes longer to answer is considered gone.
    pub timeout: Duration,
}

impl Ownership {
    /// Completes when a heartbeat is due on a server. A file needs none.
    async fn wait_until_heartbeat_due(&self) {
        match self {
            Ownership::FileLock { .. } => std::future::pending().await,
            Ownership::SessionLock(heartbeat) => tokio::time::sleep(heartbeat.interval).await,
        }
    }
}

impl DatabaseWriter {
    /// Writes until `shutdown`, then drains the queue and closes the database.
    pub fn run(mut self, shutdown: CancellationToken) -> BoxFuture<'static, anyhow::Result<()>> {
        Box::pin(async move {
            loop {
                let first = tokio::select! {
                    // Waiting writes come first: a shutdown drains them, and the index may lag behind.
                    biased;
                    write = self.requests.recv() => write,
                    // A write may have been queued since `recv` was polled; only an empty queue ends the loop.
                    () = shutdown.cancelled() => self.requests.try_recv().ok(),
                    () = std::future::ready(()), if self.is_index_behind(0) => {
                        self.index().await?;
                        continue;
                    }
                    // Every statement of the session shows the server that this process is alive, so a busy writer
                    // needs no heartbeat.
                    () = self.ownership.wait_until_heartbeat_due() => {
                        self.send_heartbeat().await?;
                        continue;
                    }
                };
                let Some(first) = first else { break };
                // Takes what is waiting and waits for no more, so a lone write is not delayed to fill a batch.
                let mut batch = vec![first];
                while batch.len() < MAX_BATCH
                    && let Ok(next) = self.requests.try_recv()
                {
                    batch.push(next);
                }
                // In one batch with an edit, whose terms are erased at once, the terms of an erased page would be
                // erased at once, too, which takes long.
                let is_page = |request: &mut WriteRequest| request.is_erasure_page();
                let pages: Vec<WriteRequest> = batch.extract_if(.., is_page).collect();
                // Each gets its own transaction, to keep transactions short.
                let large = batch.extract_if(.., |request| request.is_large());
                let large: Vec<Vec<WriteRequest>> = large.map(|request| vec![request]).collect();
                for batch in [batch, pages].into_iter().chain(large) {
                    if !batch.is_empty() {
                        self.write(batch).await?;
                    }
                }
                // Otherwise, waiting writes come first.
                if self.is_index_behind(index::INDEX_BATCH) {
                    self.index().await?;
                }
            }
            self.connection.close().await?;
            Ok(())
        })
    }

    /// Shows a server that this process is alive, and checks that it still owns the database.
    async fn send_heartbeat(&mut self) -> anyhow::Result<()> {
        let timeout = match self.ownership {
            Ownership::FileLock { .. } => return Ok(()),
            Ownership::SessionLock(heartbeat) => heartbeat.timeout,
        };
        let beat = query(sql::HEARTBEAT).fetch_one(&mut self.connection);
        match tokio::time::timeout(timeout, beat).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => anyhow::bail!("the session with the database has ended: {error}"),
            Err(_) => anyhow::bail!("the database's server does not answer any more"),
        }
    }

    async fn write(&mut self, mut batch: Vec<WriteRequest>) -> anyhow::Result<()> {
        let is_server = self.connection.is_postgres();
        // A timeout ends the writer: whether the server has committed cannot be known, so nobody is told anything.
        let mut commits =
            with_timeout(is_server, COMMIT_TIMEOUT, self.commit_each(&mut batch)).await?;
        with_timeout(is_server, REWRITE_TIMEOUT, self.follow_up(&mut batch, &mut commits)).await?;
        let has_failed = self.record_health(&commits);
        // Before responding: a caller who is told that a text is gone may look for it in the files.
        if batch.iter().any(|request| request.effects().leaves_text_in_log) {
            self.truncate_wal().await;
        }
        for (request, committed) in batch.into_iter().zip(commits) {
            request.respond(committed);
        }
        // The session may have ended, and the ownership with it.
        if has_failed { self.send_heartbeat().await } else { Ok(()) }
    }

    /// Records the result of writes. Returns whether any failed for a reason other than its own content.
    fn record_health(&self, commits: &[Result<(), StoreError>]) -> bool {
        let mut has_failed = false;
        for error in commits.iter().filter_map(|committed| committed.as_ref().err()) {
            self.damage.record(error);
            // A refusal is about the content of a write; the database is well.
            if matches!(error, StoreError::Refused(_)) {
                continue;
            }
            if !has_failed {
                tracing::error!(%error, "what happens cannot be stored; trying again");
            }
            has_failed = true;
        }
        let mut health = self.write_health.lock();
        if !has_failed {
            health.last_success = Some(Instant::now());
            if health.has_failed {
                tracing::info!("what happens is stored again");
            }
        }
        health.has_failed = has_failed;
        has_failed
    }

    /// Whether a full batch and `more` further changes are unindexed.
    fn is_index_behind(&self, more: u64) -> bool {
        self.counters.revision >= self.index_at + more
    }

    /// Indexes a batch. If that fails, its messages are scanned instead, and the next attempt is made a batch later.
    async fn index(&mut self) -> anyhow::Result<()> {
        let is_server = self.connection.is_postgres();
        let began = Instant::now();
        let indexed_before = self.index_at.saturating_sub(index::INDEX_BATCH);
        self.index_at = match with_timeout(is_server, COMMIT_TIMEOUT, self.index_next()).await? {
            Ok(until) => {
                if is_server {
                    self.index_batch = self.index_batch.next_of_server(began.elapsed());
                }
                until + index::INDEX_BATCH
            }
            Err(error) => {
                self.damage.record(&error);
                tracing::warn!(error = %error, "messages could not be indexed for search");
                self.counters.revision + index::INDEX_BATCH
            }
        };
        if is_server && outgrows_statistics(indexed_before, self.index_at - index::INDEX_BATCH) {
            with_timeout(is_server, COMMIT_TIMEOUT, self.analyze()).await?;
        }
        Ok(())
    }

    /// Updates the statistics of a server, which plans for an empty database until it has analyzed the tables. Its own
    /// analysis may be late or disabled.
    async fn analyze(&mut self) {
        if let Err(error) = query(sql::ANALYZE).execute(&mut self.connection).await {
            tracing::warn!(error = %error, "the server could not analyze the tables");
        }
    }

    async fn index_next(&mut self) -> Result<u64, StoreError> {
        query(sql::BEGIN).execute(&mut self.connection).await?;
        let newest = self.counters.revision;
        // Searches scan at most this many messages after the index, so beyond it they miss some.
        let is_far_behind = self.is_index_behind(MAX_UNINDEXED as u64);
        let size = if is_far_behind { BatchSize::LARGEST } else { self.index_batch };
        let indexed = match index::index_next_batch(&mut self.connection, newest, size).await {
            Ok(until) => query(sql::COMMIT).execute(&mut self.connection).await.map(|_| until),
            Err(error) => Err(error),
        };
        if indexed.is_err() {
            let _ = query(sql::ROLLBACK).execute(&mut self.connection).await;
        }
        indexed
    }

    /// Does the work that cannot be part of a transaction.
    async fn follow_up(
        &mut self,
        batch: &mut [WriteRequest],
        commits: &mut [Result<(), StoreError>],
    ) {
        for (request, committed) in batch.iter_mut().zip(commits) {
            if committed.is_err() {
                continue;
            }
            if let WriteRequest::Rewrite { .. } = request {
                *committed = forget::rewrite(&mut self.connection).boxed().await;
            }
            if let WriteRequest::TruncateLog { reply } = request {
                match self.truncate_after_scrub().boxed().await {
                    Ok(is_truncated) => reply.set(is_truncated),
                    Err(error) => *committed = Err(error),
                }
            }
        }
    }

    async fn truncate_after_scrub(&mut self) -> Result<bool, StoreError> {
        let is_truncated = forget::truncate_log(&mut self.connection).await?;
        // Only after the truncation: if the process dies in between, the next start truncates again.
        if is_truncated {
            forget::clear_scrub_due(&mut self.connection).await?;
        }
        Ok(is_truncated)
    }

    /// Truncates the write-ahead log, which contains deleted text until it is overwritten. If a reader blocks this, the
    /// next call succeeds.
    async fn truncate_wal(&mut self) {
        if let Err(error) = forget::truncate_log(&mut self.connection).await {
            tracing::debug!(error = %error, "the write-ahead log could not be truncated");
        }
    }

    /// Commits the writes together. If one of them makes that fail, commits each alone.
    async fn commit_each(&mut self, batch: &mut [WriteRequest]) -> Vec<Result<(), StoreError>> {
        match self.commit(batch).await {
            Ok(()) => batch.iter().map(|_| Ok(())).collect(),
            Err(error) if batch.len() == 1 => vec![Err(error)],
            // Retrying them alone would not help.
            Err(StoreError::Busy(reason)) => {
                batch.iter().map(|_| Err(StoreError::Busy(reason.clone()))).collect()
            }
            // One bad write must not fail the others.
            Err(error @ (StoreError::Refused(_) | StoreError::Broken(_))) => {
                let count = batch.len();
                tracing::debug!(error = %error, count, "a group of writes failed; trying each alone");
                let mut commits = Vec::with_capacity(count);
                for request in batch {
                    commits.push(self.commit(std::slice::from_mut(request)).await);
                }
                commits
            }
        }
    }

    async fn commit(&mut self, batch: &mut [WriteRequest]) -> Result<(), StoreError> {
        self.damage.check()?;
        if let Err(error) = self.check_files().await {
            // Before each request is tried alone.
            self.damage.record(&error);
            return Err(error);
        }
        // A clone, so that a rollback consumes no numbers.
        let mut counters = self.counters.clone();
        query(sql::BEGIN).execute(&mut self.connection).await?;
        if let Err(error) = self.write_all(&mut counters, batch).await {
            // SQLite may have rolled back already; this then fails harmlessly. The driver's own transaction type would
            // treat such a failure as a transaction that is still open.
            let _ = query(sql::ROLLBACK).execute(&mut self.connection).await;
            return Err(error);
        }
        if let Ownership::FileLock { files, .. } = &mut self.ownership {
            files.remember();
        }
        // After the commit: the tasks woken by this read what was committed.
        if counters.revision != self.counters.revision {
            // Before the revision, so that a task woken by it never serves a page cached before the erasure.
            if counters.erasures != self.counters.erasures {
                self.erasures.send_replace(counters.erasures);
            }
            self.revisions.send_replace(counters.revision);
        }
        self.counters = counters;
        Ok(())
    }

    /// Fails if the files are not what they were. SQLite would go on writing to an unlinked file, or behind a hole, and
    /// these commits would be lost with the process.
    async fn check_files(&mut self) -> Result<(), StoreError> {
        let Ownership::FileLock { files, .. } = &mut self.ownership else { return Ok(()) };
        let shorter = match files.check() {
            Ok(None) => return Ok(()),
            Ok(Some(shorter)) => shorter,
            // What the log holds goes into the file. Then nothing is lost with the process, even if it is killed.
            Err(error) => match forget::truncate_log(&mut self.connection).await? {
                true => return Err(error),
                false => return Err(StoreError::Busy("somebody reads the database".to_owned())),
            },
        };
        let is_whole = match shorter {
            // Another program may have compacted it. That is rare, so every page is looked at.
            ShorterFile::Database => {
                query(sql::DROP_CACHE).execute(&mut self.connection).await?;
                let checked = query(sql::CHECK_PAGES).fetch_one(&mut self.connection).await?;
                rows::column::<String>(&checked, "quick_check")? == "ok"
            }
            // It is truncated whenever all of it is in the file; what has been written since must be there.
            ShorterFile::Log { bytes } => {
                let log = query(sql::LOG_FRAMES).fetch_one(&mut self.connection).await?;
                let frames = rows::column::<i64>(&log, "log")?;
                let size = query(sql::PAGE_SIZE).fetch_one(&mut self.connection).await?;
                // https://www.sqlite.org/fileformat.html#the_write_ahead_log
                let frame_bytes = rows::column::<i64>(&size, "n")? + 24;
                frames == rows::column::<i64>(&log, "checkpointed")?
                    || bytes as i64 >= 32 + frames * frame_bytes
            }
        };
        if let Ownership::FileLock { files, .. } = &mut self.ownership
            && is_whole
        {
            files.accept();
        }
        if is_whole { Ok(()) } else { Err(StoreError::Broken(DAMAGED.to_owned())) }
    }

    async fn write_all(
        &mut self,
        counters: &mut Counters,
        batch: &mut [WriteRequest],
    ) -> Result<(), StoreError> {
        apply(&mut self.connection, counters, batch).await?;
        // With the messages of the batch: a cursor ahead of what is stored would lose messages in a crash.
        for cursor in newest_cursors(batch) {
            hear::put_cursor(&mut self.connection, cursor).boxed().await?;
        }
        if let Some(erasure) = term_erasure(batch) {
            index::drop_stale(&mut self.connection, erasure).boxed().await?;
        }
        // In the same transaction as what they number: after a crash, no number is used twice.
        if *counters != self.counters {
            let put =
                query(sql::PUT_COUNTERS).bind(counters.revision as i64).bind(counters.last_number);
            put.execute(&mut self.connection).await?;
        }
        query(sql::COMMIT).execute(&mut self.connection).await?;
        Ok(())
    }
}

/// When the terms that these writes change or remove have to be erased. `None` if there are none.
fn term_erasure(batch: &[WriteRequest]) -> Option<TermErasure> {
    let mut changes =
        batch.iter().filter(|request| request.effects().changes_indexed_messages).peekable();
    changes.peek()?;
    match changes.all(WriteRequest::is_erasure_page) {
        // Forgetting and expiry end with a merge of the index.
        true => Some(TermErasure::WithMerge),
        false => Some(TermErasure::AtOnce),
    }
}

/// Whether the database has outgrown a server's statistics between two revisions: at a thousand, at ten thousand, and
/// so on.
fn outgrows_statistics(before: u64, after: u64) -> bool {
    after >= 1000 && after.ilog10() > before.max(1).ilog10()
}

/// Applies a timeout on a server; a file has none.
async fn with_timeout<T>(
    is_server: bool,
    limit: Duration,
    work: impl Future<Output = T>,
) -> anyhow::Result<T> {
    match is_server {
        false => Ok(work.await),
        true => tokio::time::timeout(limit, work)
            .await
            .context("the database's server does not answer any more"),
    }
}

/// Applies writes in order. Adjacent messages are heard together.
async fn apply(
    connection: &mut Connection,
    counters: &mut Counters,
    mut batch: &mut [WriteRequest],
) -> Result<(), StoreError> {
    while !batch.is_empty() {
        // Only adjacent ones: an edit or deletion must find the messages before it, and none after it.
        let (messages, replies): (Vec<IncomingMessage<'_>>, Vec<_>) =
            batch.iter_mut().map_while(WriteRequest::as_incoming_message).unzip();
        if messages.is_empty() {
            // Boxed, since these futures are large and most batches consist of messages.
            let revision = counters.revision;
            apply_one(connection, counters, &mut batch[0]).boxed().await?;
            if counters.revision != revision && batch[0].effects().may_erase {
                counters.erasures += 1;
            }
            batch = &mut batch[1..];
            continue;
        }
        let count = messages.len();
        let receipts = hear::hear_messages(connection, counters, &messages).await?;
        for (reply, receipt) in replies.into_iter().zip(receipts) {
            reply.set(receipt);
        }
        batch = &mut batch[count..];
    }
    Ok(())
}

async fn apply_one(
    connection: &mut Connection,
    counters: &mut Counters,
    request: &mut WriteRequest,
) -> Result<(), StoreError> {
    match request {
        WriteRequest::Hear { entry, reply } => {
            reply.set(hear_entry(connection, counters, entry).await?);
        }
        WriteRequest::Claim { now, lease, limit, reply } => {
            reply.set(steps::claim(connection, counters, *now, *lease, *limit).await?);
        }
        WriteRequest::Book { call, reply } => {
            reservations::book(connection, call).await?;
            reply.set(());
        }
        WriteRequest::Reserve { call, now, reply } => {
            reply.set(reservations::reserve(connection, call, *now).await?);
        }
        WriteRequest::CountWebCall { call, now, reply } => {
            reply.set(web_calls::count(connection, call, *now).await?);
        }
        WriteRequest::Complete { claim, outcome, now, reply } => {
            // Cloned, since the write is applied again if its group fails.
            let outcome = (**outcome).clone();
            reply.set(steps::complete(connection, counters, claim, outcome, *now).await?);
        }
        WriteRequest::ClaimMemoryJobs { now, lease, limit, reply } => {
            reply.set(memory::claim_jobs(connection, counters, *now, *lease, *limit).await?);
        }
        WriteRequest::CompleteMemoryJob { job, outcome, now, reply } => {
            let outcome = (**outcome).clone();
            memory::complete_job(connection, counters, job, outcome, *now).await?;
            reply.set(());
        }
        WriteRequest::DropExchanges { before, max_bytes, reply } => {
            drop_exchanges(connection, *before, *max_bytes).await?;
            reply.set(());
        }
        WriteRequest::DropJournals { now, reply } => {
            journal::drop_old(connection, *now).await?;
            order_journal::drop_old(connection, *now).await?;
            consents::drop_old(connection, *now).await?;
            orders::drop_old_private_reads(connection, *now).await?;
            standing_orders::drop_old(connection, *now).await?;
            web_calls::drop_old(connection, *now).await?;
            reply.set(());
        }
        WriteRequest::Forget { write, now, reply } => {
            forget::write::apply(connection, counters, write, *now).await?;
            reply.set(());
        }
        WriteRequest::MergeIndex { step, reply } => {
            reply.set(index::merge(connection, *step).await?);
        }
        // These are not transactional: they follow the commit.
        WriteRequest::TruncateLog { .. } => {}
        WriteRequest::Rewrite { reply } => reply.set(()),
        WriteRequest::Redact { now, reply } => {
            reply.set(redaction::continue_next(connection, counters, *now).await?);
        }
        WriteRequest::Expire { expiry, reply } => {
            reply.set(expiry::expire_next(connection, counters, *expiry).await?);
        }
        WriteRequest::Order { order, now, reply } => {
            orders::apply(connection, counters, order, *now).await?;
            reply.set(());
        }
        // The newest cursor of each stream is written together with those of the batch's messages.
        WriteRequest::PutCursor { reply, .. } => reply.set(()),
        WriteRequest::ChangeUploads { change, reply } => {
            reply.set(uploads::change(connection, change).await?);
        }
        WriteRequest::Probe { filler, reply } => {
            // Only a real write shows whether the database is writable.
            query(sql::PROBE).execute(&mut *connection).await?;
            if *filler > 0 {
                let put = query(sql::PUT_PROBE).bind(" ".repeat(*filler));
                put.execute(&mut *connection).await?;
                query(sql::DROP_PROBE).execute(connection).await?;
            }
            reply.set(());
        }
    }
    Ok(())
}

async fn hear_entry(
    connection: &mut Connection,
    counters: &mut Counters,
    entry: &InboxEntry,
) -> Result<HearReceipt, StoreError> {
    let disposition = entry.disposition;
    match &entry.heard {
        Heard::Message(message, _) => {
            let incoming = IncomingMessage::from_entry(message, entry);
            Ok(hear::hear_messages(connection, counters, &[incoming]).await?.remove(0))
        }
        Heard::Edit(edit) => hear::edits::hear_edit(connection, counters, edit, disposition).await,
        Heard::Deletion(deletion) => {
            hear::edits::hear_deletion(connection, counters, deletion, disposition).await
        }
        Heard::Channel(channel) => {
            hear::hear_channel(connection, counters, channel, entry.now).await
        }
        Heard::User(user) => hear::hear_user(connection, counters, user, entry.now).await,
        Heard::Reaction(reaction) => hear::hear_reaction(connection, counters, reaction).await,
    }
}

/// Drops texts past their retention: those from before `before` and the oldest beyond `max_bytes`. Their lineage and
/// early reactions are dropped later.
async fn drop_exchanges(
    connection: &mut Connection,
    before: Timestamp,
    max_bytes: u64,
) -> Result<(), StoreError> {
    let texts = [
        sql::decisions::DROP_EXCHANGES,
        sql::decisions::DROP_DEAD_LETTER_TEXT,
        sql::decisions::DROP_DEAD_OUTBOX_TEXT,
        sql::proposals::ERASE_LAPSED_ITEMS,
        sql::proposals::LAPSE_PROPOSALS,
        sql::consents::DROP_CONSENT_TEXTS,
        sql::proposals::ERASE_ORIGINAL_ITEMS,
    ];
    let lineage = [
        sql::spending::DROP_SPENDING,
        sql::decisions::DROP_EXCHANGE_MESSAGES,
        sql::memory::DROP_EXCHANGE_MEMORIES,
        sql::decisions::DROP_EXCHANGE_ORDERS,
        sql::memory::DROP_SOURCES,
        sql::decisions::DROP_EMPTY_EXCHANGES,
    ];
    let early = [sql::messages::DROP_EARLY_REACTIONS, sql::messages::UNMARK_EARLY_REACTIONS];
    let earlier = |age| before.checked_sub(age).unwrap_or(Timestamp::MIN);
    let texts = texts.map(|statement| (statement, before));
    let lineage = lineage.map(|statement| (statement, earlier(LINEAGE_RETENTION)));
    let early = early.map(|statement| (statement, earlier(EARLY_REACTION_RETENTION)));
    for (statement, before) in texts.into_iter().chain(lineage).chain(early) {
        query(statement).bind(before.as_millisecond()).execute(&mut *connection).await?;
    }
    let max_bytes = i64::try_from(max_bytes).unwrap_or(i64::MAX);
    query(sql::decisions::DROP_EXCHANGES_BEYOND).bind(max_bytes).execute(connection).await?;
    Ok(())
}
