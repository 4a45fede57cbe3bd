//! The only task that writes. It collects waiting writes into one transaction (group commit), so that one `fsync`
//! pays for many messages; the callers get their results after the commit.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use futures_util::FutureExt;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::chat::{Cursor, Heard, User};
use crate::event::memory_job::{MemoryJob, MemoryJobOutcome};
use crate::event::{Claim, Outcome};
use crate::store::database::connection::{Connection, query};
use crate::store::database::forget::ForgetReport;
use crate::store::database::hear::IncomingMessage;
use crate::store::database::recall::index;
use crate::store::database::{Counters, forget, hear, memory, orders, sql, steps};
use crate::store::{
    CompletionReceipt, EARLY_REACTION_RETENTION, HearReceipt, InboxEntry, Order, StoreError,
};

/// How much longer a prompt's lineage is kept than its text.
const LINEAGE_RETENTION: SignedDuration = SignedDuration::from_hours(30 * 24);
/// A server that does not answer a routine write within this time is gone, and another process may be active by then.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(30);
/// Forgetting a user reads the whole database.
const LONG_COMMIT_TIMEOUT: Duration = Duration::from_secs(600);
/// The most writes in one transaction.
const MAX_BATCH: usize = 256;

/// A write, and who waits for its result.
pub struct WriteRequest {
    pub operation: WriteOperation,
    pub response: oneshot::Sender<Result<WriteResult, StoreError>>,
}

pub enum WriteOperation {
    Hear(InboxEntry),
    Claim {
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    },
    Complete {
        claim: Box<Claim>,
        outcome: Box<Outcome>,
        now: Timestamp,
    },
    ClaimMemoryJobs {
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    },
    CompleteMemoryJob {
        chore: Box<MemoryJob>,
        outcome: Box<MemoryJobOutcome>,
        now: Timestamp,
    },
    DropExchanges {
        before: Timestamp,
    },
    /// An operator's order; a user's own is [`Order::Forget`].
    ForgetUser {
        user: Box<User>,
        now: Timestamp,
    },
    Order {
        order: Order,
        now: Timestamp,
    },
    /// Checks that the database is writable.
    Probe,
}

pub enum WriteResult {
    Heard(HearReceipt),
    Claimed(Vec<Claim>),
    Completed(CompletionReceipt),
    ClaimedMemoryJobs(Vec<MemoryJob>),
    CompletedMemoryJob,
    ForgotUser(ForgetReport),
    Ordered,
    DroppedExchanges,
    Probed,
}

pub struct DatabaseWriter {
    pub(super) connection: Connection,
    pub(super) requests: mpsc::Receiver<WriteRequest>,
    pub(super) counters: Counters,
    pub(super) revisions: watch::Sender<u64>,
    /// The revision at which the next batch is indexed.
    pub(super) index_at: u64,
    pub(super) last_failure: Arc<Mutex<Option<String>>>,
    pub(super) ownership: Ownership,
}

/// What makes this process the owner of a database.
pub enum Ownership {
    /// The lock of a file, held while the file is open.
    FileLock(std::fs::File),
    /// An advisory lock held by the writing session.
    SessionLock(Heartbeat),
}

/// How a server learns that this process is alive.
#[derive(Clone, Copy)]
pub struct Heartbeat {
    pub interval: Duration,
    /// A server that takes longer to answer is gone.
    pub timeout: Duration,
}

impl Ownership {
    /// Completes when a server must hear from this process. A file needs no heartbeat.
    async fn wait_until_heartbeat_due(&self) {
        match self {
            Ownership::FileLock(_) => std::future::pending().await,
            Ownership::SessionLock(heartbeat) => tokio::time::sleep(heartbeat.interval).await,
        }
    }
}

impl DatabaseWriter {
    /// Writes until `shutdown`, then what is still waiting, and closes the database.
    pub async fn run(mut self, shutdown: CancellationToken) -> anyhow::Result<()> {
        loop {
            let first = tokio::select! {
                biased;
                write = self.requests.recv() => write,
                () = shutdown.cancelled() => self.requests.try_recv().ok(),
                () = std::future::ready(()), if self.is_index_behind(0) => {
                    self.index().await?;
                    continue;
                }
                () = self.ownership.wait_until_heartbeat_due() => {
                    self.send_heartbeat().await?;
                    continue;
                }
            };
            let Some(first) = first else { break };
            let mut batch = vec![first];
            while batch.len() < MAX_BATCH
                && let Ok(next) = self.requests.try_recv()
            {
                batch.push(next);
            }
            self.write(batch).await?;
            // Otherwise waiting writes come first.
            if self.is_index_behind(index::INDEX_BATCH) {
                self.index().await?;
            }
        }
        self.connection.close().await?;
        Ok(())
    }

    /// Shows a server that this process is alive, and checks that it still owns the database.
    async fn send_heartbeat(&mut self) -> anyhow::Result<()> {
        let timeout = match self.ownership {
            Ownership::FileLock(_) => return Ok(()),
            Ownership::SessionLock(heartbeat) => heartbeat.timeout,
        };
        let beat = query(sql::HEARTBEAT).fetch_one(&mut self.connection);
        match tokio::time::timeout(timeout, beat).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => anyhow::bail!("the session with the database has ended: {error}"),
            Err(_) => anyhow::bail!("the database's server does not answer any more"),
        }
    }

    async fn write(&mut self, batch: Vec<WriteRequest>) -> anyhow::Result<()> {
        let (changes, waiting): (Vec<WriteOperation>, Vec<_>) =
            batch.into_iter().map(|write| (write.operation, write.response)).unzip();
        let limit =
            if changes.iter().any(is_forget) { LONG_COMMIT_TIMEOUT } else { COMMIT_TIMEOUT };
        let is_server = self.connection.is_postgres();
        let mut results = with_timeout(is_server, limit, self.commit_each(&changes)).await?;
        with_timeout(is_server, LONG_COMMIT_TIMEOUT, self.scrub(&changes, &mut results)).await?;
        let failure = results.iter().find_map(|result| match result {
            Ok(_) | Err(StoreError::Refused(_)) => None,
            Err(StoreError::Busy(why) | StoreError::Broken(why)) => Some(why.clone()),
        });
        let may_have_ended = failure.is_some() && is_server;
        *self.last_failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
        if changes.iter().any(|change| matches!(change, WriteOperation::DropExchanges { .. })) {
            with_timeout(is_server, LONG_COMMIT_TIMEOUT, self.scrub_if_due()).await?;
            self.truncate_wal().await;
        }
        for (done, result) in waiting.into_iter().zip(results) {
            // The caller may have been cancelled.
            let _ = done.send(result);
        }
        if may_have_ended { self.send_heartbeat().await } else { Ok(()) }
    }

    /// Whether more than `more` changes beyond a full batch are unindexed.
    fn is_index_behind(&self, more: u64) -> bool {
        self.counters.revision >= self.index_at + more
    }

    /// Indexes a batch. If that fails, its messages are searched one by one, and the next attempt is made a batch
    /// later.
    async fn index(&mut self) -> anyhow::Result<()> {
        let is_server = self.connection.is_postgres();
        self.index_at = match with_timeout(is_server, COMMIT_TIMEOUT, self.index_next()).await? {
            Ok(until) => until + index::INDEX_BATCH,
            Err(error) => {
                tracing::warn!(error = %error, "messages could not be indexed for search");
                self.counters.revision + index::INDEX_BATCH
            }
        };
        Ok(())
    }

    async fn index_next(&mut self) -> Result<u64, StoreError> {
        query(sql::BEGIN).execute(&mut self.connection).await?;
        let indexed =
            match index::index_next_batch(&mut self.connection, self.counters.revision).await {
                Ok(until) => query(sql::COMMIT).execute(&mut self.connection).await.map(|_| until),
                Err(error) => Err(error),
            };
        if indexed.is_err() {
            let _ = query(sql::ROLLBACK).execute(&mut self.connection).await;
        }
        indexed
    }

    /// Rewrites the database after a user was forgotten. A failure becomes the result of the write that ordered it.
    async fn scrub(
        &mut self,
        changes: &[WriteOperation],
        results: &mut [Result<WriteResult, StoreError>],
    ) {
        let ordered = changes.iter().zip(results);
        let ordered = ordered
            .filter(|(change, done)| {
                matches!(change, WriteOperation::ForgetUser { .. }) && done.is_ok()
            })
            .map(|(_, done)| done);
        for done in ordered {
            if let Err(error) = forget::scrub(&mut self.connection).boxed().await {
                *done = Err(StoreError::Broken(format!(
                    "the person is forgotten, but the database could not be rewritten: {error}"
                )));
            }
        }
    }

    /// A user who asks in chat to be forgotten does not wait for the rewrite. Retention runs it, or the next start if
    /// the database is a file; until then only logs and free pages hold the deleted text.
    async fn scrub_if_due(&mut self) {
        if let Err(error) = forget::scrub_if_due(&mut self.connection).boxed().await {
            tracing::warn!(error = %error, "a forgotten user's text is still in the database; retention retries");
        }
    }

    /// Deleted text stays in the write-ahead log until it is overwritten. If a reader blocks this, the next call
    /// succeeds.
    async fn truncate_wal(&mut self) {
        if self.connection.is_postgres() {
            return;
        }
        if let Err(error) = query(sql::TRUNCATE_WAL).execute(&mut self.connection).await {
            tracing::debug!(error = %error, "the write-ahead log could not be truncated");
        }
    }

    /// Commits the operations together. If that fails because of one of them, commits each alone.
    async fn commit_each(
        &mut self,
        changes: &[WriteOperation],
    ) -> Vec<Result<WriteResult, StoreError>> {
        match self.commit(changes).await {
            Ok(written) => written.into_iter().map(Ok).collect(),
            Err(error) if changes.len() == 1 => vec![Err(error)],
            // Retrying them alone would not help.
            Err(StoreError::Busy(why)) => {
                changes.iter().map(|_| Err(StoreError::Busy(why.clone()))).collect()
            }
            // One bad write must not fail the others.
            Err(error @ (StoreError::Refused(_) | StoreError::Broken(_))) => {
                tracing::debug!(error = %error, count = changes.len(), "a group of writes failed; trying each alone");
                let mut results = Vec::with_capacity(changes.len());
                for change in changes {
                    let written = self.commit(std::slice::from_ref(change)).await;
                    results.push(written.map(|mut written| written.remove(0)));
                }
                results
            }
        }
    }

    async fn commit(&mut self, changes: &[WriteOperation]) -> Result<Vec<WriteResult>, StoreError> {
        let mut counters = self.counters.clone();
        query(sql::BEGIN).execute(&mut self.connection).await?;
        let written = match self.write_all(&mut counters, changes).await {
            Ok(written) => written,
            Err(error) => {
                // SQLite may have rolled back already, and then this fails harmlessly. The driver's own transaction
                // type would count such a failure as a transaction that is still open.
                let _ = query(sql::ROLLBACK).execute(&mut self.connection).await;
                return Err(error);
            }
        };
        if counters.revision != self.counters.revision {
            self.revisions.send_replace(counters.revision);
        }
        self.counters = counters;
        Ok(written)
    }

    async fn write_all(
        &mut self,
        counters: &mut Counters,
        changes: &[WriteOperation],
    ) -> Result<Vec<WriteResult>, StoreError> {
        let written = apply(&mut self.connection, counters, changes).await?;
        for cursor in newest_cursors(changes) {
            hear::hear_cursor(&mut self.connection, counters, cursor).boxed().await?;
        }
        if changes.iter().any(is_message_change) {
            index::drop_stale(&mut self.connection).boxed().await?;
        }
        if *counters != self.counters {
            let put =
                query(sql::PUT_COUNTERS).bind(counters.revision as i64).bind(counters.last_number);
            put.execute(&mut self.connection).await?;
        }
        query(sql::COMMIT).execute(&mut self.connection).await?;
        Ok(written)
    }
}

/// Limits work on a server; a file has no timeout.
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

/// Whether it reads the whole database.
fn is_forget(change: &WriteOperation) -> bool {
    match change {
        WriteOperation::ForgetUser { .. } => true,
        WriteOperation::Order { order, .. } => matches!(order, Order::Forget { .. }),
        WriteOperation::Hear(_)
        | WriteOperation::Claim { .. }
        | WriteOperation::Complete { .. }
        | WriteOperation::ClaimMemoryJobs { .. }
        | WriteOperation::CompleteMemoryJob { .. }
        | WriteOperation::DropExchanges { .. }
        | WriteOperation::Probe => false,
    }
}

/// Applies operations in order. Adjacent messages are heard together.
async fn apply(
    connection: &mut Connection,
    counters: &mut Counters,
    changes: &[WriteOperation],
) -> Result<Vec<WriteResult>, StoreError> {
    let mut written = Vec::with_capacity(changes.len());
    while let Some(change) = changes.get(written.len()) {
        let messages: Vec<IncomingMessage<'_>> =
            changes[written.len()..].iter().map_while(as_incoming_message).collect();
        if !messages.is_empty() {
            let receipts = hear::hear_messages(connection, counters, &messages).await?;
            written.extend(receipts.into_iter().map(WriteResult::Heard));
            continue;
        }
        // Boxed, since these futures are large and most batches consist of messages.
        written.push(apply_one(connection, counters, change).boxed().await?);
    }
    Ok(written)
}

async fn apply_one(
    connection: &mut Connection,
    counters: &mut Counters,
    change: &WriteOperation,
) -> Result<WriteResult, StoreError> {
    match change {
        WriteOperation::Hear(hearing) => {
            let disposition = hearing.disposition;
            let receipt = match &hearing.heard {
                Heard::Message(message, _) => {
                    let client_message_id = hearing.client_message_id.as_deref();
                    let incoming = IncomingMessage {
                        message,
                        client_message_id,
                        disposition,
                        remember_at: hearing.remember_at,
                    };
                    hear::hear_messages(connection, counters, &[incoming]).await?.remove(0)
                }
                Heard::Edit(edit) => {
                    hear::hear_edit(connection, counters, edit, disposition).await?
                }
                Heard::Deletion(deletion) => {
                    hear::hear_deletion(connection, counters, deletion, disposition).await?
                }
                Heard::Channel(channel) => {
                    hear::hear_channel(connection, counters, channel, hearing.now).await?
                }
                Heard::User(user) => hear::hear_user(connection, counters, user).await?,
                Heard::Reaction(reaction) => {
                    hear::hear_reaction(connection, counters, reaction).await?
                }
                Heard::Cursor(cursor) => hear::hear_cursor(connection, counters, cursor).await?,
            };
            Ok(WriteResult::Heard(receipt))
        }
        WriteOperation::Claim { now, lease, most } => {
            steps::claim(connection, counters, *now, *lease, *most).await.map(WriteResult::Claimed)
        }
        WriteOperation::Complete { claim, outcome, now } => {
            let outcome = (**outcome).clone();
            steps::complete(connection, counters, claim, outcome, *now)
                .await
                .map(WriteResult::Completed)
        }
        WriteOperation::ClaimMemoryJobs { now, lease, most } => {
            memory::claim_jobs(connection, counters, *now, *lease, *most)
                .await
                .map(WriteResult::ClaimedMemoryJobs)
        }
        WriteOperation::CompleteMemoryJob { chore, outcome, now } => {
            let outcome = (**outcome).clone();
            memory::complete_job(connection, counters, chore, outcome, *now).await?;
            Ok(WriteResult::CompletedMemoryJob)
        }
        WriteOperation::DropExchanges { before } => {
            let text =
                [sql::DROP_EXCHANGES, sql::DROP_DEAD_LETTER_TEXT, sql::DROP_DEAD_OUTBOX_TEXT];
            let lineage = [
                sql::DROP_SPENDING,
                sql::DROP_EXCHANGE_MESSAGES,
                sql::memory::DROP_EXCHANGE_MEMORIES,
                sql::memory::DROP_SOURCES,
                sql::DROP_EMPTY_EXCHANGES,
            ];
            let early = [sql::DROP_EARLY_REACTIONS, sql::UNMARK_EARLY_REACTIONS];
            let at = |age| before.checked_sub(age).unwrap_or(Timestamp::MIN);
            let text = text.map(|statement| (statement, *before));
            let lineage = lineage.map(|statement| (statement, at(LINEAGE_RETENTION)));
            let early = early.map(|statement| (statement, at(EARLY_REACTION_RETENTION)));
            for (statement, before) in text.into_iter().chain(lineage).chain(early) {
                let drop = query(statement).bind(before.as_millisecond());
                drop.execute(&mut *connection).await?;
            }
            Ok(WriteResult::DroppedExchanges)
        }
        WriteOperation::ForgetUser { user, now } => {
            forget::forget_user(connection, counters, user, *now).await.map(WriteResult::ForgotUser)
        }
        WriteOperation::Order { order, now } => {
            orders::apply(connection, counters, order, *now).await.map(|()| WriteResult::Ordered)
        }
        WriteOperation::Probe => {
            // Only a real write shows whether the database is writable.
            let same =
                query(sql::PUT_COUNTERS).bind(counters.revision as i64).bind(counters.last_number);
            same.execute(connection).await?;
            Ok(WriteResult::Probed)
        }
    }
}

/// The newest cursor of each stream.
fn newest_cursors(changes: &[WriteOperation]) -> impl Iterator<Item = &Cursor> {
    let cursors = changes.iter().filter_map(|change| match change {
        WriteOperation::Hear(hearing) => hearing.cursor.as_ref(),
        WriteOperation::Claim { .. }
        | WriteOperation::Complete { .. }
        | WriteOperation::ClaimMemoryJobs { .. }
        | WriteOperation::CompleteMemoryJob { .. }
        | WriteOperation::DropExchanges { .. }
        | WriteOperation::ForgetUser { .. }
        | WriteOperation::Order { .. }
        | WriteOperation::Probe => None,
    });
    let newest: BTreeMap<_, _> =
        cursors.map(|cursor| ((cursor.workspace.as_str(), &cursor.stream), cursor)).collect();
    newest.into_values()
}

/// Whether it can change or remove an indexed message.
fn is_message_change(change: &WriteOperation) -> bool {
    match change {
        WriteOperation::Hear(hearing) => match hearing.heard {
            Heard::Edit(_) | Heard::Deletion(_) => true,
            Heard::Message(..)
            | Heard::Channel(_)
            | Heard::User(_)
            | Heard::Reaction(_)
            | Heard::Cursor(_) => false,
        },
        WriteOperation::Claim { .. }
        | WriteOperation::Complete { .. }
        | WriteOperation::ClaimMemoryJobs { .. }
        | WriteOperation::CompleteMemoryJob { .. }
        | WriteOperation::DropExchanges { .. }
        | WriteOperation::Probe => false,
        WriteOperation::Order { order, .. } => matches!(order, Order::Forget { .. }),
        WriteOperation::ForgetUser { .. } => true,
    }
}

fn as_incoming_message(change: &WriteOperation) -> Option<IncomingMessage<'_>> {
    match change {
        WriteOperation::Hear(hearing) => match &hearing.heard {
            Heard::Message(message, _) => Some(IncomingMessage {
                message,
                client_message_id: hearing.client_message_id.as_deref(),
                disposition: hearing.disposition,
                remember_at: hearing.remember_at,
            }),
            Heard::Edit(_)
            | Heard::Deletion(_)
            | Heard::Channel(_)
            | Heard::User(_)
            | Heard::Reaction(_)
            | Heard::Cursor(_) => None,
        },
        WriteOperation::Claim { .. }
        | WriteOperation::Complete { .. }
        | WriteOperation::ClaimMemoryJobs { .. }
        | WriteOperation::CompleteMemoryJob { .. }
        | WriteOperation::DropExchanges { .. }
        | WriteOperation::ForgetUser { .. }
        | WriteOperation::Order { .. }
        | WriteOperation::Probe => None,
    }
}
