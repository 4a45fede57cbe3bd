//! Memories: claims and completes their jobs, stores versions, and forgets what was made from deleted messages.

use std::collections::HashSet;

use aizuchi_model::chat::{ChannelId, Message, WorkspaceId};
use aizuchi_model::flow::memory_job::{
    MemoryJob, MemoryJobOutcome, MemoryJobResult, REWRITE_DELAY, RetryTiming, follow_up_jobs,
    job_due,
};
use aizuchi_model::memory::change::JournalKind;
use aizuchi_model::memory::{
    Lineage, Memory, MemoryEntry, MemoryId, MemoryKey, MemoryScope, MemoryTerm, MessageRef,
    NewMemory,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::StoreError;
use crate::database::attempts::{AttemptOwner, put_attempt};
use crate::database::connection::{Connection, Readers, Row, query};
use crate::database::journal::{self, JournalKey, RecordedChange};
use crate::database::lineage::{forget_prompts, has_changed_since, visibility_of_messages};
use crate::database::memory_rows::{
    bind_key, current_version, entries_column, key_columns, key_from_row, memory_from_row,
};
use crate::database::sql::memory as sql;
use crate::database::{Counters, memos, reservations, rows};

/// Schedules short-term memory jobs for the channels and threads of new messages.
pub async fn schedule_for_messages(
    connection: &mut Connection,
    messages: impl Iterator<Item = &Message>,
    due: Timestamp,
) -> Result<(), StoreError> {
    let mut seen = HashSet::new();
    let mut keys = HashSet::new();
    for message in messages {
        let conversation = &message.conversation;
        if !seen.insert(conversation) {
            continue;
        }
        let channel = conversation.channel.clone();
        let thread =
            conversation.thread.clone().map(|thread| MemoryScope::Thread(channel.clone(), thread));
        for scope in [Some(MemoryScope::Channel(channel)), thread].into_iter().flatten() {
            keys.insert(MemoryKey {
                workspace: conversation.workspace.clone(),
                scope,
                term: MemoryTerm::ShortTerm,
            });
        }
    }
    // Deduplicated, because PostgreSQL refuses to update a row twice in one statement.
    let keys: Vec<_> = keys.into_iter().map(|key| (key, due)).collect();
    schedule(connection, &keys).await
}

pub async fn schedule(
    connection: &mut Connection,
    jobs: &[(MemoryKey, Timestamp)],
) -> Result<(), StoreError> {
    if jobs.is_empty() {
        return Ok(());
    }
    let jobs = jobs.iter().map(|(key, due)| {
        let columns = key_columns(key);
        json!([columns[0], columns[1], columns[2], columns[3], columns[4], due.as_millisecond()])
    });
    let jobs = jobs.collect::<Value>().to_string();
    query(sql::SCHEDULE_MEMORY_JOBS).bind(jobs).execute(connection).await?;
    Ok(())
}

pub async fn claim_jobs(
    connection: &mut Connection,
    counters: &mut Counters,
    now: Timestamp,
    lease: SignedDuration,
    most: usize,
) -> Result<Vec<MemoryJob>, StoreError> {
    let ready = query(sql::READY_MEMORY_JOBS).bind(now.as_millisecond()).bind(most as i64);
    let ready = ready.fetch_all(&mut *connection).await?;
    let mut jobs = Vec::with_capacity(ready.len());
    for row in &ready {
        counters.last_number += 1;
        let mut job = job_from_row(row)?;
        job.attempt += 1;
        job.token = counters.last_number;
        let claim = bind_key(query(sql::CLAIM_MEMORY_JOB), &job.key)
            .bind(job.token)
            .bind((now + lease).as_millisecond());
        claim.execute(&mut *connection).await?;
        jobs.push(job);
    }
    counters.revision += u64::from(!jobs.is_empty());
    Ok(jobs)
}

/// Converts a row of `chores`, with its values before the claim.
fn job_from_row(row: &Row) -> Result<MemoryJob, StoreError> {
    Ok(MemoryJob {
        key: key_from_row(row)?,
        due: rows::to_timestamp(rows::column(row, "due_ms")?)?,
        token: 0,
        attempt: rows::column(row, "attempts")?,
    })
}

/// Applies the outcome of a memory job. If its lease is lost, only its model calls are recorded.
pub async fn complete_job(
    connection: &mut Connection,
    counters: &mut Counters,
    job: &MemoryJob,
    outcome: MemoryJobOutcome,
    now: Timestamp,
) -> Result<(), StoreError> {
    counters.revision += 1;
    let key = &job.key;
    let ours = bind_key(query(sql::IS_MEMORY_JOB_OURS), key).bind(job.token);
    let ours = ours.fetch_one(&mut *connection).await?;
    let is_ours = rows::column::<i64>(&ours, "is_ours")? != 0;
    let mut is_stale = false;
    if !outcome.attempts.is_empty() {
        reservations::release(connection, job.token).await?;
    }
    // Recorded even if another claim has taken over: the calls were made, and are paid for.
    for attempt in outcome.attempts {
        if let Some(exchange) = &attempt.exchange {
            let (seen_revision, lineage) = exchange.sources();
            is_stale |= has_changed_since(
                &mut *connection,
                &key.workspace,
                key.channel(),
                seen_revision.number(),
                lineage,
            )
            .await?;
        }
        let attempt = if is_stale { attempt.without_text() } else { attempt };
        put_attempt(connection, &AttemptOwner::MemoryJob(key), attempt.superseded_unless(is_ours))
            .await?;
    }
    if !is_ours {
        return Ok(());
    }
    match outcome.result {
        MemoryJobResult::Retry(timing) => {
            postpone_job(connection, key, outcome.next_due, timing == RetryTiming::Soon).await
        }
        MemoryJobResult::NothingNew => finish_job(connection, key).await,
        MemoryJobResult::Remembered(new) => {
            let lineage = lineage(&new);
            let (workspace, channel, revision) = (&key.workspace, key.channel(), new.seen_revision);
            if is_stale
                || has_changed_since(&mut *connection, workspace, channel, revision, &lineage)
                    .await?
            {
                // A source has changed while the model was working.
                return postpone_job(connection, key, now + REWRITE_DELAY, true).await;
            }
            // Changes that users made in the meantime apply, too.
            let current = current_version(connection, key).await?;
            let (new, removed) = match &current {
                Some(current) => {
                    let entries = current.carry_into(new.entries);
                    (NewMemory { entries, ..new }, &current.removed[..])
                }
                None => (new, &[][..]),
            };
            let kept = outcome.versions_kept;
            let version = NewVersion { key, new, removed, versions_kept: kept };
            let (id, is_public) = save_version(connection, counters, version, now).await?;
            let versions = (current.map(|current| current.id), id);
            let change = RecordedChange::new(JournalKind::Folded, "", versions);
            journal::put(connection, counters, JournalKey::Memory(key), change, now).await?;
            finish_job(connection, key).await?;
            let interval = outcome.next_due.duration_since(now);
            let mut follow_ups = follow_up_jobs(key, is_public, now);
            for (next, due) in &mut follow_ups {
                *due = job_due(made_at(connection, next).await?, *due, interval, next);
            }
            schedule(connection, &follow_ups).await
        }
    }
}

fn lineage(new: &NewMemory) -> Lineage {
    let messages = new.entries.iter().flat_map(|entry| entry.messages.iter().cloned());
    let memories = new.source_memories.clone();
    Lineage { messages: messages.collect(), memories, ..Lineage::default() }
}

/// Removes a job, unless it was scheduled again in the meantime.
async fn finish_job(connection: &mut Connection, key: &MemoryKey) -> Result<(), StoreError> {
    for statement in [sql::FINISH_MEMORY_JOB, sql::REPEAT_MEMORY_JOB] {
        bind_key(query(statement), key).execute(&mut *connection).await?;
    }
    Ok(())
}

/// When the current version of a memory was made.
pub async fn made_at(
    connection: &mut Connection,
    key: &MemoryKey,
) -> Result<Option<Timestamp>, StoreError> {
    let row = bind_key(query(sql::MEMORY_MADE_AT), key).fetch_optional(connection).await?;
    row.map(|row| rows::to_timestamp(rows::column(&row, "made_ms")?)).transpose()
}

async fn postpone_job(
    connection: &mut Connection,
    key: &MemoryKey,
    due: Timestamp,
    keeps_attempts: bool,
) -> Result<(), StoreError> {
    let put = bind_key(query(sql::POSTPONE_MEMORY_JOB), key)
        .bind(due.as_millisecond())
        .bind(i64::from(keeps_attempts));
    put.execute(connection).await?;
    Ok(())
}

/// A version of a memory to be stored.
pub struct NewVersion<'a> {
    pub key: &'a MemoryKey,
    pub new: NewMemory,
    /// The entries that users removed.
    pub removed: &'a [MemoryEntry],
    pub versions_kept: usize,
}

/// Stores a new version. Returns its id, and whether any of its entries is public.
pub async fn save_version(
    connection: &mut Connection,
    counters: &mut Counters,
    version: NewVersion<'_>,
    now: Timestamp,
) -> Result<(MemoryId, bool), StoreError> {
    let NewVersion { key, new, removed, versions_kept: versions } = version;
    let (mut entries, mut removed) = (new.entries, removed.to_vec());
    // Stamped in this transaction: a channel may have turned private while the model was working.
    for entry in entries.iter_mut().chain(&mut removed) {
        entry.visibility =
            visibility_of_messages(connection, &key.workspace, &entry.messages).await?;
    }
    bind_key(query(sql::RETIRE_MEMORY), key).execute(&mut *connection).await?;
    counters.last_number += 1;
    let put = bind_key(query(sql::PUT_MEMORY), key)
        .bind(counters.last_number)
        .bind(now.as_millisecond())
        .bind(new.newest_message_at.as_millisecond())
        .bind(entries_column(&entries, &removed))
        .bind(Memory::render_entries(&entries, |_| true))
        .bind(Memory::render_entries(&entries, MemoryEntry::is_public));
    put.execute(&mut *connection).await?;
    let id = MemoryId(counters.last_number);
    let messages: HashSet<&MessageRef> =
        entries.iter().chain(&removed).flat_map(|entry| &entry.messages).collect();
    let [workspace, scope, channel, thread, term] = key_columns(key);
    let sources = query(sql::PUT_SOURCES).bind(workspace).bind(scope).bind(channel).bind(thread);
    let sources = sources.bind(term).bind(json!(messages).to_string());
    sources.execute(&mut *connection).await?;
    // Before the old versions are dropped, since their sources and prompts are found through them.
    let retire = bind_key(query(sql::RETIRE_SOURCES), key).bind(versions as i64);
    let retire = retire.bind(now.as_millisecond());
    retire.execute(&mut *connection).await?;
    for statement in [sql::REASSIGN_PROMPTS, sql::DROP_OLD_VERSIONS] {
        let old = bind_key(query(statement), key).bind(versions as i64);
        old.execute(&mut *connection).await?;
    }
    Ok((id, entries.iter().any(MemoryEntry::is_public)))
}

/// All stored versions of a memory, oldest first.
pub async fn versions(readers: &Readers, key: &MemoryKey) -> Result<Vec<Memory>, StoreError> {
    let versions = bind_key(query(sql::MEMORY_VERSIONS), key).fetch_all(readers).await?;
    versions.iter().map(memory_from_row).collect()
}

/// Forgets edited, deleted or withheld messages, each with its time: drops the entries made from them from all
/// versions, and schedules a rewrite of the memories from the entries' other messages. Returns whether anything was
/// made from them.
pub async fn forget_messages(
    connection: &mut Connection,
    counters: &mut Counters,
    workspace: &WorkspaceId,
    messages: &[(MessageRef, Timestamp)],
    now: Timestamp,
) -> Result<bool, StoreError> {
    let list = messages.iter().map(|(message, _)| json!(message)).collect::<Value>().to_string();
    let has_memos = memos::forget_messages(connection, counters, workspace, &list, now).await?;
    let memories = query(sql::MEMORIES_OF_MESSAGES).bind(workspace.as_str()).bind(&list);
    let memories = memories.fetch_all(&mut *connection).await?;
    // No prompt can have held a message before it was written.
    let since = messages.iter().map(|(_, at)| *at).min().unwrap_or(Timestamp::UNIX_EPOCH);
    for row in &memories {
        let key = key_from_row(row)?;
        let forget = |memory: &mut Memory| {
            let dropped = messages.iter().filter(|(message, _)| memory.forget_message(message));
            dropped.count() > 0
        };
        if change_versions(connection, counters, &key, since, forget).await? {
            put_forgotten(connection, counters, &key, now).await?;
            schedule(connection, &[(key, now + REWRITE_DELAY)]).await?;
        }
    }
    if !memories.is_empty() {
        forget_sources(connection, workspace, messages.iter().map(|(message, _)| message)).await?;
    }
    Ok(has_memos || !memories.is_empty())
}

/// Records that something in the lineage of a memory is gone.
async fn put_forgotten(
    connection: &mut Connection,
    counters: &mut Counters,
    key: &MemoryKey,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(current) = current_version(connection, key).await? else { return Ok(()) };
    let versions = (None, current.id);
    let change = RecordedChange::new(JournalKind::Forgotten, "", versions);
    journal::put(connection, counters, JournalKey::Memory(key), change, now).await
}

/// Removes messages as sources of memories.
pub async fn forget_sources(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    messages: impl Iterator<Item = &MessageRef>,
) -> Result<(), StoreError> {
    for MessageRef(channel, id) in messages {
        let source = query(sql::FORGET_SOURCE).bind(workspace.as_str()).bind(channel.as_str());
        source.bind(id.as_str()).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Makes a channel private: its messages, orders, memories and memos become private, and what other channels made from
/// them is dropped.
pub async fn make_channel_private(
    connection: &mut Connection,
    counters: &Counters,
    workspace: &WorkspaceId,
    channel: &ChannelId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let messages = query(sql::SET_VISIBILITY_OF_PUBLIC_MESSAGES)
        .bind(workspace.as_str())
        .bind(channel.as_str())
        .bind("private");
    messages.execute(&mut *connection).await?;
    let orders =
        query(sql::MAKE_STANDING_ORDERS_PRIVATE).bind(workspace.as_str()).bind(channel.as_str());
    orders.execute(&mut *connection).await?;
    let partition =
        query(sql::MAKE_INDEX_PARTITION_PRIVATE).bind(workspace.as_str()).bind(channel.as_str());
    partition.execute(&mut *connection).await?;
    // From this revision on, what other channels made from its messages counts as changed.
    let mark = query(sql::MARK_CHANNEL_PRIVATE).bind(workspace.as_str()).bind(channel.as_str());
    let mark = mark.bind(counters.revision as i64);
    mark.execute(&mut *connection).await?;
    forget_prompts_of_channel(connection, counters, workspace, channel).await?;
    memos::make_channel_private(connection, counters, workspace, channel, now).await?;
    let memories = query(sql::MEMORIES_OF_CHANNEL).bind(workspace.as_str()).bind(channel.as_str());
    let memories = memories.fetch_all(&mut *connection).await?;
    for row in &memories {
        let key = key_from_row(row)?;
        if key.scope == MemoryScope::Workspace {
            let since = Timestamp::UNIX_EPOCH;
            let forget = |memory: &mut Memory| memory.forget_channel(channel);
            if change_versions(connection, counters, &key, since, forget).await? {
                schedule(connection, &[(key, now + REWRITE_DELAY)]).await?;
            }
        } else {
            let since = Timestamp::UNIX_EPOCH;
            change_versions(connection, counters, &key, since, Memory::make_private).await?;
        }
    }
    let sources =
        query(sql::FORGET_SOURCES_OF_CHANNEL).bind(workspace.as_str()).bind(channel.as_str());
    sources.execute(connection).await?;
    Ok(())
}

/// Drops the prompts of other channels that held messages of a channel that turned private, and what models wrote
/// about them.
async fn forget_prompts_of_channel(
    connection: &mut Connection,
    counters: &Counters,
    workspace: &WorkspaceId,
    channel: &ChannelId,
) -> Result<(), StoreError> {
    let (workspace, channel) = (workspace.as_str(), channel.as_str());
    let reasons = query(sql::FORGET_REASONS_OF_CHANNEL).bind(workspace).bind(channel);
    let reasons = reasons.bind(counters.revision as i64);
    reasons.execute(&mut *connection).await?;
    for statement in [
        sql::FORGET_VERDICTS_OF_CHANNEL,
        sql::FORGET_DEAD_LETTERS_OF_CHANNEL,
        sql::FORGET_DEAD_OUTBOX_TEXT_OF_CHANNEL,
        sql::FORGET_CONSENTS_OF_CHANNEL,
        sql::FORGET_EXCHANGES_OF_CHANNEL,
    ] {
        let forget = query(statement).bind(workspace).bind(channel);
        forget.execute(&mut *connection).await?;
    }
    Ok(())
}

/// Changes every version of a memory, and drops the prompts since then that held any of them, since versions that are
/// no longer stored may have held the same entries. Returns whether the current version has changed.
async fn change_versions(
    connection: &mut Connection,
    counters: &Counters,
    key: &MemoryKey,
    since: Timestamp,
    change: impl Fn(&mut Memory) -> bool,
) -> Result<bool, StoreError> {
    let (versions, has_changed) = change_all_versions(connection, counters, key, change).await?;
    for id in versions {
        forget_prompts(connection, counters, id, since).await?;
    }
    Ok(has_changed)
}

/// Changes every version of a memory. Returns their ids, and whether the current version has changed.
pub async fn change_all_versions(
    connection: &mut Connection,
    counters: &Counters,
    key: &MemoryKey,
    change: impl Fn(&mut Memory) -> bool,
) -> Result<(Vec<MemoryId>, bool), StoreError> {
    let versions = bind_key(query(sql::MEMORY_VERSIONS), key).fetch_all(&mut *connection).await?;
    let mut has_changed = false;
    let mut ids = Vec::with_capacity(versions.len());
    for row in &versions {
        let mut memory = memory_from_row(row)?;
        ids.push(memory.id);
        if !change(&mut memory) {
            continue;
        }
        has_changed |= rows::column::<i64>(row, "is_current")? != 0;
        let put = query(sql::CHANGE_MEMORY)
            .bind(memory.id.0)
            .bind(entries_column(&memory.entries, &memory.removed))
            .bind(json!(memory.orphaned_messages).to_string())
            .bind(counters.revision as i64)
            .bind(Memory::render_entries(&memory.entries, |_| true))
            .bind(Memory::render_entries(&memory.entries, MemoryEntry::is_public));
        put.execute(&mut *connection).await?;
    }
    Ok((ids, has_changed))
}
