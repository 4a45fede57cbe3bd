//! What is remembered: chores taken and finished, versions kept, and what is forgotten again.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::chat::{ChannelId, Message, MessageId, Visibility, WorkspaceId};
use crate::event::memory_job::{
    MemoryJob, MemoryJobOutcome, MemoryJobResult, REWRITE_DELAY, RetryTiming, follow_up_jobs,
    job_due,
};
use crate::memory::{
    Lineage, Memory, MemoryEntry, MemoryId, MemoryKey, MemoryScope, MemoryTerm, MessageRef,
    NewMemory,
};
use crate::store::StoreError;
use crate::store::database::connection::{Connection, Query, Row, query};
use crate::store::database::sql::memory as sql;
use crate::store::database::steps::{AttemptOwner, has_changed_since, put_attempt};
use crate::store::database::{Counters, memos, rows};

/// Lets what was heard be remembered then.
pub async fn schedule_for_messages(
    connection: &mut Connection,
    lines: impl Iterator<Item = &Message>,
    due: Timestamp,
) -> Result<(), StoreError> {
    let mut seen = HashSet::new();
    let mut keys = HashSet::new();
    for line in lines {
        let place = &line.conversation;
        if !seen.insert(place) {
            continue;
        }
        let channel = place.channel.clone();
        let thread =
            place.thread.clone().map(|thread| MemoryScope::Thread(channel.clone(), thread));
        for scope in [Some(MemoryScope::Channel(channel)), thread].into_iter().flatten() {
            keys.insert(MemoryKey {
                workspace: place.workspace.clone(),
                scope,
                term: MemoryTerm::ShortTerm,
            });
        }
    }
    // Each once, since a server changes no row twice in one statement.
    let keys: Vec<_> = keys.into_iter().map(|key| (key, due)).collect();
    schedule(connection, &keys).await
}

pub async fn schedule(
    connection: &mut Connection,
    chores: &[(MemoryKey, Timestamp)],
) -> Result<(), StoreError> {
    if chores.is_empty() {
        return Ok(());
    }
    let chores = chores.iter().map(|(key, due)| {
        let place = key_columns(key);
        json!([place[0], place[1], place[2], place[3], place[4], due.as_millisecond()])
    });
    let chores = chores.collect::<Value>().to_string();
    query(sql::SCHEDULE_MEMORY_JOBS).bind(chores).execute(connection).await?;
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
    let mut chores = Vec::with_capacity(ready.len());
    for row in &ready {
        counters.last_number += 1;
        let mut chore = job_from_row(row)?;
        chore.attempt += 1;
        chore.token = counters.last_number;
        let claim = bind_key(query(sql::CLAIM_MEMORY_JOB), &chore.key)
            .bind(chore.token)
            .bind((now + lease).as_millisecond());
        claim.execute(&mut *connection).await?;
        chores.push(chore);
    }
    counters.revision += u64::from(!chores.is_empty());
    Ok(chores)
}

/// A row of `chores`, as it was before it was claimed.
fn job_from_row(row: &Row) -> Result<MemoryJob, StoreError> {
    Ok(MemoryJob {
        key: key_from_row(row)?,
        due: rows::to_timestamp(rows::column(row, "due_ms")?)?,
        token: 0,
        attempt: rows::column(row, "attempts")?,
    })
}

/// Applies what a chore came to. If it has lost its lease, only its model calls are kept.
pub async fn complete_job(
    connection: &mut Connection,
    counters: &mut Counters,
    chore: &MemoryJob,
    outcome: MemoryJobOutcome,
    now: Timestamp,
) -> Result<(), StoreError> {
    counters.revision += 1;
    let key = &chore.key;
    let ours = bind_key(query(sql::IS_MEMORY_JOB_OURS), key).bind(chore.token);
    let ours = ours.fetch_one(&mut *connection).await?;
    let is_ours = rows::column::<i64>(&ours, "is_ours")? != 0;
    let mut is_stale = false;
    for attempt in outcome.attempts {
        if let Some(exchange) = &attempt.exchange {
            let (revision, lineage) = (exchange.seen_revision, &exchange.lineage);
            is_stale |= has_changed_since(
                &mut *connection,
                &key.workspace,
                key.channel(),
                revision,
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
        MemoryJobResult::Retry(turn) => {
            postpone_job(connection, key, outcome.next_due, turn == RetryTiming::Soon).await
        }
        MemoryJobResult::NothingNew => finish_job(connection, key).await,
        MemoryJobResult::Remembered(new) => {
            let lineage = lineage(&new);
            let (workspace, channel, revision) = (&key.workspace, key.channel(), new.seen_revision);
            if is_stale
                || has_changed_since(&mut *connection, workspace, channel, revision, &lineage)
                    .await?
            {
                // It was made from a line that is not there any more as it was.
                return postpone_job(connection, key, now + REWRITE_DELAY, true).await;
            }
            let is_public =
                save_version(connection, counters, key, new, now, outcome.versions_kept).await?;
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
    let lines = new.entries.iter().flat_map(|entry| entry.messages.iter().cloned());
    Lineage { messages: lines.collect(), memories: new.source_memories.clone() }
}

/// A chore is done, unless it was armed once more meanwhile.
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
    is_same_try: bool,
) -> Result<(), StoreError> {
    let put = bind_key(query(sql::POSTPONE_MEMORY_JOB), key)
        .bind(due.as_millisecond())
        .bind(i64::from(is_same_try));
    put.execute(connection).await?;
    Ok(())
}

/// Keeps a new version, and says whether anybody may know any of it.
pub async fn save_version(
    connection: &mut Connection,
    counters: &mut Counters,
    key: &MemoryKey,
    new: NewMemory,
    now: Timestamp,
    versions: usize,
) -> Result<bool, StoreError> {
    let mut entries = new.entries;
    for entry in &mut entries {
        entry.visibility = source_visibility(connection, &key.workspace, &entry.messages).await?;
    }
    bind_key(query(sql::RETIRE_MEMORY), key).execute(&mut *connection).await?;
    counters.last_number += 1;
    let put = bind_key(query(sql::PUT_MEMORY), key)
        .bind(counters.last_number)
        .bind(now.as_millisecond())
        .bind(new.newest_message_at.as_millisecond())
        .bind(json!(entries).to_string())
        .bind(Memory::render_entries(&entries, |_| true))
        .bind(Memory::render_entries(&entries, MemoryEntry::is_public));
    put.execute(&mut *connection).await?;
    let lines: HashSet<&MessageRef> = entries.iter().flat_map(|entry| &entry.messages).collect();
    let [workspace, scope, channel, thread, term] = key_columns(key);
    let sources = query(sql::PUT_SOURCES).bind(workspace).bind(scope).bind(channel).bind(thread);
    let sources = sources.bind(term).bind(json!(lines).to_string());
    sources.execute(&mut *connection).await?;
    let retire = bind_key(query(sql::RETIRE_SOURCES), key).bind(versions as i64);
    let retire = retire.bind(now.as_millisecond());
    retire.execute(&mut *connection).await?;
    for statement in [sql::REASSIGN_PROMPTS, sql::DROP_OLD_VERSIONS] {
        let old = bind_key(query(statement), key).bind(versions as i64);
        old.execute(&mut *connection).await?;
    }
    Ok(entries.iter().any(MemoryEntry::is_public))
}

/// Everybody may know only what everybody could read.
pub async fn source_visibility(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    lines: &[MessageRef],
) -> Result<Visibility, StoreError> {
    let unshared =
        query(sql::NON_PUBLIC_MESSAGES).bind(workspace.as_str()).bind(json!(lines).to_string());
    let unshared = unshared.fetch_all(connection).await?;
    let is_public = !lines.is_empty() && unshared.is_empty();
    Ok(if is_public { Visibility::Public } else { Visibility::Private })
}

/// A line was edited or deleted: what is remembered of it is forgotten, in all versions, and what else
/// was in the same entries is remembered anew.
pub async fn forget_message(
    connection: &mut Connection,
    counters: &Counters,
    workspace: &WorkspaceId,
    line: &MessageRef,
    said: Timestamp,
    now: Timestamp,
) -> Result<(), StoreError> {
    memos::forget_message(connection, counters, workspace, line).await?;
    let MessageRef(channel, id) = line;
    let knowing = query(sql::MEMORIES_OF_MESSAGE)
        .bind(workspace.as_str())
        .bind(channel.as_str())
        .bind(id.as_str());
    let knowing = knowing.fetch_all(&mut *connection).await?;
    if knowing.is_empty() {
        return Ok(());
    }
    for row in &knowing {
        let key = key_from_row(row)?;
        if change_versions(connection, counters, &key, said, |memory| memory.forget_message(line))
            .await?
        {
            schedule(connection, &[(key, now + REWRITE_DELAY)]).await?;
        }
    }
    let source = query(sql::FORGET_SOURCE).bind(workspace.as_str()).bind(channel.as_str());
    source.bind(id.as_str()).execute(connection).await?;
    Ok(())
}

/// A public channel is public no more: nobody else may know what was said there, nor keep what was made
/// from it.
pub async fn make_channel_private(
    connection: &mut Connection,
    counters: &Counters,
    workspace: &WorkspaceId,
    channel: &ChannelId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let lines = query(sql::SET_VISIBILITY_OF_PUBLIC_MESSAGES)
        .bind(workspace.as_str())
        .bind(channel.as_str())
        .bind("private");
    lines.execute(&mut *connection).await?;
    let indexed =
        query(sql::MAKE_INDEX_PARTITION_PRIVATE).bind(workspace.as_str()).bind(channel.as_str());
    indexed.execute(&mut *connection).await?;
    let withdrawn =
        query(sql::MARK_CHANNEL_PRIVATE).bind(workspace.as_str()).bind(channel.as_str());
    let withdrawn = withdrawn.bind(counters.revision as i64);
    withdrawn.execute(&mut *connection).await?;
    forget_prompts_of_channel(connection, counters, workspace, channel).await?;
    memos::make_channel_private(connection, counters, workspace, channel, now).await?;
    let knowing = query(sql::MEMORIES_OF_CHANNEL).bind(workspace.as_str()).bind(channel.as_str());
    let knowing = knowing.fetch_all(&mut *connection).await?;
    for row in &knowing {
        let key = key_from_row(row)?;
        if key.scope == MemoryScope::Workspace {
            let ever = Timestamp::UNIX_EPOCH;
            let forget = |memory: &mut Memory| memory.forget_channel(channel);
            if change_versions(connection, counters, &key, ever, forget).await? {
                schedule(connection, &[(key, now + REWRITE_DELAY)]).await?;
            }
        } else {
            let ever = Timestamp::UNIX_EPOCH;
            change_versions(connection, counters, &key, ever, Memory::make_private).await?;
        }
    }
    let sources =
        query(sql::FORGET_SOURCES_OF_CHANNEL).bind(workspace.as_str()).bind(channel.as_str());
    sources.execute(connection).await?;
    Ok(())
}

/// What was asked elsewhere with lines of a channel that is public no more goes, and what models wrote about
/// it.
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
    for statement in [sql::FORGET_VERDICTS_OF_CHANNEL, sql::FORGET_EXCHANGES_OF_CHANNEL] {
        let withdraw = query(statement).bind(workspace).bind(channel);
        withdraw.execute(&mut *connection).await?;
    }
    Ok(())
}

/// Changes every version of a memory, and drops the prompts since then that held any: also versions that
/// are kept no more may have been what is changed now. True if the current version has changed.
async fn change_versions(
    connection: &mut Connection,
    counters: &Counters,
    key: &MemoryKey,
    since: Timestamp,
    change: impl Fn(&mut Memory) -> bool,
) -> Result<bool, StoreError> {
    let versions = bind_key(query(sql::MEMORY_VERSIONS), key).fetch_all(&mut *connection).await?;
    let mut has_changed = false;
    for row in &versions {
        let mut memory = memory_from_row(row)?;
        forget_prompts(connection, counters, memory.id, since).await?;
        if !change(&mut memory) {
            continue;
        }
        has_changed |= rows::column::<i64>(row, "is_current")? != 0;
        let put = query(sql::CHANGE_MEMORY)
            .bind(memory.id.0)
            .bind(json!(memory.entries).to_string())
            .bind(json!(memory.orphaned_messages).to_string())
            .bind(counters.revision as i64)
            .bind(Memory::render_entries(&memory.entries, |_| true))
            .bind(Memory::render_entries(&memory.entries, MemoryEntry::is_public));
        put.execute(&mut *connection).await?;
    }
    Ok(has_changed)
}

/// What was asked with the help of a memory or memo that has changed goes, and what models wrote about it.
pub async fn forget_prompts(
    connection: &mut Connection,
    counters: &Counters,
    id: MemoryId,
    since: Timestamp,
) -> Result<(), StoreError> {
    let since = since.as_millisecond();
    let reasons = query(sql::FORGET_REASONS_OF_MEMORY).bind(id.0).bind(since);
    let reasons = reasons.bind(counters.revision as i64);
    reasons.execute(&mut *connection).await?;
    for statement in [sql::FORGET_VERDICTS_OF_MEMORY, sql::FORGET_EXCHANGES_OF_MEMORY] {
        let forget = query(statement).bind(id.0).bind(since);
        forget.execute(&mut *connection).await?;
    }
    Ok(())
}

/// Whether one of these memories and memos has changed since a revision, or is gone.
pub async fn has_memory_changed_since(
    connection: &mut Connection,
    memories: &[MemoryId],
    revision: u64,
) -> Result<bool, StoreError> {
    let changed = query(sql::HAS_MEMORY_CHANGED_SINCE)
        .bind(json!(memories).to_string())
        .bind(revision as i64);
    let row = changed.fetch_one(connection).await?;
    Ok(rows::column::<i64>(&row, "has_changed")? != 0)
}

/// A row with a memory's key, entries and times.
pub fn memory_from_row(row: &Row) -> Result<Memory, StoreError> {
    Ok(Memory {
        id: MemoryId(rows::column(row, "id")?),
        key: key_from_row(row)?,
        entries: rows::parse_json(&rows::column::<String>(row, "entries")?)?,
        orphaned_messages: rows::parse_json(&rows::column::<String>(row, "lost")?)?,
        newest_message_at: rows::to_timestamp(rows::column(row, "newest_ms")?)?,
        created: rows::to_timestamp(rows::column(row, "made_ms")?)?,
    })
}

fn key_from_row(row: &Row) -> Result<MemoryKey, StoreError> {
    let channel = ChannelId::new(rows::column::<String>(row, "channel")?);
    let scope: String = rows::column(row, "scope")?;
    let scope = match scope.as_str() {
        "workspace" => MemoryScope::Workspace,
        "channel" => MemoryScope::Channel(channel),
        "thread" => {
            MemoryScope::Thread(channel, MessageId::new(rows::column::<String>(row, "thread")?))
        }
        other => {
            return Err(StoreError::Broken(format!("a memory has the unknown scope {other:?}")));
        }
    };
    Ok(MemoryKey {
        workspace: WorkspaceId::new(rows::column::<String>(row, "workspace")?),
        scope,
        term: rows::parse_name(&rows::column::<String>(row, "term")?)?,
    })
}

/// Binds the five columns of a key.
fn bind_key(query: Query, key: &MemoryKey) -> Query {
    let [workspace, scope, channel, thread, term] = key_columns(key);
    query.bind(workspace).bind(scope).bind(channel).bind(thread).bind(term)
}

/// The columns of a key.
fn key_columns(key: &MemoryKey) -> [&str; 5] {
    let (channel, thread) = match &key.scope {
        MemoryScope::Workspace => ("", ""),
        MemoryScope::Channel(channel) => (channel.as_str(), ""),
        MemoryScope::Thread(channel, thread) => (channel.as_str(), thread.as_str()),
    };
    [key.workspace.as_str(), key.scope.name(), channel, thread, key.term.name()]
}
