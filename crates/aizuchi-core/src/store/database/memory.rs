//! What is remembered: chores taken and finished, versions kept, and what is forgotten again.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::chat::{ChannelId, Message, MessageId, Visibility, WorkspaceId};
use crate::event::chore::{Chore, ChoreEnd, ChoreOutcome, REWRITING, Turn, follow_ups, turn};
use crate::memory::{Entry, LineId, Lineage, Memory, MemoryId, MemoryKey, NewMemory, Scope, Term};
use crate::store::StoreError;
use crate::store::database::connection::{Connection, Query, Row, query};
use crate::store::database::flow::{Booked, has_changed_since, put_attempt};
use crate::store::database::sql::memory as sql;
use crate::store::database::{Counters, memos, rows};

/// Lets what was heard be remembered then.
pub async fn arm_for_lines(
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
        let thread = place.thread.clone().map(|thread| Scope::Thread(channel.clone(), thread));
        for scope in [Some(Scope::Channel(channel)), thread].into_iter().flatten() {
            keys.insert(MemoryKey {
                workspace: place.workspace.clone(),
                scope,
                term: Term::ShortTerm,
            });
        }
    }
    // Each once, since a server changes no row twice in one statement.
    let keys: Vec<_> = keys.into_iter().map(|key| (key, due)).collect();
    arm(connection, &keys).await
}

pub async fn arm(
    connection: &mut Connection,
    chores: &[(MemoryKey, Timestamp)],
) -> Result<(), StoreError> {
    if chores.is_empty() {
        return Ok(());
    }
    let chores = chores.iter().map(|(key, due)| {
        let place = place(key);
        json!([place[0], place[1], place[2], place[3], place[4], due.as_millisecond()])
    });
    let chores = chores.collect::<Value>().to_string();
    query(sql::ARM_CHORES).bind(chores).execute(connection).await?;
    Ok(())
}

pub async fn claim(
    connection: &mut Connection,
    counters: &mut Counters,
    now: Timestamp,
    lease: SignedDuration,
    most: usize,
) -> Result<Vec<Chore>, StoreError> {
    let ready = query(sql::READY_CHORES).bind(now.as_millisecond()).bind(most as i64);
    let ready = ready.fetch_all(&mut *connection).await?;
    let mut chores = Vec::with_capacity(ready.len());
    for row in &ready {
        counters.last_number += 1;
        let mut chore = chore(row)?;
        chore.attempt += 1;
        chore.token = counters.last_number;
        let claim = of(query(sql::CLAIM_CHORE), &chore.key)
            .bind(chore.token)
            .bind((now + lease).as_millisecond());
        claim.execute(&mut *connection).await?;
        chores.push(chore);
    }
    counters.revision += u64::from(!chores.is_empty());
    Ok(chores)
}

/// A row of `chores`, as it was before it was claimed.
fn chore(row: &Row) -> Result<Chore, StoreError> {
    Ok(Chore {
        key: key(row)?,
        due: rows::time(rows::column(row, "due_ms")?)?,
        token: 0,
        attempt: rows::column(row, "attempts")?,
    })
}

/// Applies what a chore came to. If it has lost its lease, only its model calls are kept.
pub async fn complete(
    connection: &mut Connection,
    counters: &mut Counters,
    chore: &Chore,
    outcome: ChoreOutcome,
    now: Timestamp,
) -> Result<(), StoreError> {
    counters.revision += 1;
    let key = &chore.key;
    let ours = of(query(sql::CHORE_IS_OURS), key).bind(chore.token);
    let ours = ours.fetch_one(&mut *connection).await?;
    let is_ours = rows::column::<i64>(&ours, "is_ours")? != 0;
    let mut is_stale = false;
    for attempt in outcome.attempts {
        if let Some(exchange) = &attempt.exchange {
            let (revision, lineage) = (exchange.considered, &exchange.made_from);
            is_stale |= has_changed_since(
                &mut *connection,
                &key.workspace,
                key.channel(),
                revision,
                lineage,
            )
            .await?;
        }
        let attempt = if is_stale { attempt.without_words() } else { attempt };
        put_attempt(connection, &Booked::Chore(key), attempt.kept_if(is_ours)).await?;
    }
    if !is_ours {
        return Ok(());
    }
    match outcome.end {
        ChoreEnd::Again(turn) => put_off(connection, key, outcome.next, turn == Turn::Same).await,
        ChoreEnd::Nothing => end(connection, key).await,
        ChoreEnd::Made(new) => {
            let lineage = lineage(&new);
            let (workspace, channel, revision) = (&key.workspace, key.channel(), new.considered);
            if is_stale
                || has_changed_since(&mut *connection, workspace, channel, revision, &lineage)
                    .await?
            {
                // It was made from a line that is not there any more as it was.
                return put_off(connection, key, now + REWRITING, true).await;
            }
            let is_public = keep(connection, counters, key, new, now, outcome.keeps).await?;
            end(connection, key).await?;
            let interval = outcome.next.duration_since(now);
            let mut follow_ups = follow_ups(key, is_public, now);
            for (next, due) in &mut follow_ups {
                *due = turn(made(connection, next).await?, *due, interval, next);
            }
            arm(connection, &follow_ups).await
        }
    }
}

fn lineage(new: &NewMemory) -> Lineage {
    let lines = new.entries.iter().flat_map(|entry| entry.lines.iter().cloned());
    Lineage { lines: lines.collect(), memories: new.merged.clone() }
}

/// A chore is done, unless it was armed once more meanwhile.
async fn end(connection: &mut Connection, key: &MemoryKey) -> Result<(), StoreError> {
    for statement in [sql::END_CHORE, sql::REPEAT_CHORE] {
        of(query(statement), key).execute(&mut *connection).await?;
    }
    Ok(())
}

/// When the current version of a memory was made.
pub async fn made(
    connection: &mut Connection,
    key: &MemoryKey,
) -> Result<Option<Timestamp>, StoreError> {
    let row = of(query(sql::MADE), key).fetch_optional(connection).await?;
    row.map(|row| rows::time(rows::column(&row, "made_ms")?)).transpose()
}

async fn put_off(
    connection: &mut Connection,
    key: &MemoryKey,
    due: Timestamp,
    is_same_try: bool,
) -> Result<(), StoreError> {
    let put =
        of(query(sql::PUT_OFF_CHORE), key).bind(due.as_millisecond()).bind(i64::from(is_same_try));
    put.execute(connection).await?;
    Ok(())
}

/// Keeps a new version, and says whether anybody may know any of it.
pub async fn keep(
    connection: &mut Connection,
    counters: &mut Counters,
    key: &MemoryKey,
    new: NewMemory,
    now: Timestamp,
    versions: usize,
) -> Result<bool, StoreError> {
    let mut entries = new.entries;
    for entry in &mut entries {
        entry.visibility = visibility(connection, &key.workspace, &entry.lines).await?;
    }
    of(query(sql::RETIRE_MEMORY), key).execute(&mut *connection).await?;
    counters.last_number += 1;
    let put = of(query(sql::PUT_MEMORY), key)
        .bind(counters.last_number)
        .bind(now.as_millisecond())
        .bind(new.newest.as_millisecond())
        .bind(json!(entries).to_string())
        .bind(Memory::text(&entries, |_| true))
        .bind(Memory::text(&entries, Entry::is_public));
    put.execute(&mut *connection).await?;
    let lines: HashSet<&LineId> = entries.iter().flat_map(|entry| &entry.lines).collect();
    let [workspace, scope, channel, thread, term] = place(key);
    let sources = query(sql::PUT_SOURCES).bind(workspace).bind(scope).bind(channel).bind(thread);
    let sources = sources.bind(term).bind(json!(lines).to_string());
    sources.execute(&mut *connection).await?;
    let retire = of(query(sql::RETIRE_SOURCES), key).bind(versions as i64);
    let retire = retire.bind(now.as_millisecond());
    retire.execute(&mut *connection).await?;
    for statement in [sql::HAND_DOWN_PROMPTS, sql::OLD_VERSIONS] {
        let old = of(query(statement), key).bind(versions as i64);
        old.execute(&mut *connection).await?;
    }
    Ok(entries.iter().any(Entry::is_public))
}

/// Everybody may know only what everybody could read.
pub async fn visibility(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    lines: &[LineId],
) -> Result<Visibility, StoreError> {
    let unshared = query(sql::UNSHARED).bind(workspace.as_str()).bind(json!(lines).to_string());
    let unshared = unshared.fetch_all(connection).await?;
    let is_public = !lines.is_empty() && unshared.is_empty();
    Ok(if is_public { Visibility::Public } else { Visibility::Private })
}

/// A line was edited or deleted: what is remembered of it is forgotten, in all versions, and what else
/// was in the same entries is remembered anew.
pub async fn forget(
    connection: &mut Connection,
    counters: &Counters,
    workspace: &WorkspaceId,
    line: &LineId,
    said: Timestamp,
    now: Timestamp,
) -> Result<(), StoreError> {
    memos::forget(connection, counters, workspace, line).await?;
    let LineId(channel, id) = line;
    let knowing =
        query(sql::KNOWING).bind(workspace.as_str()).bind(channel.as_str()).bind(id.as_str());
    let knowing = knowing.fetch_all(&mut *connection).await?;
    if knowing.is_empty() {
        return Ok(());
    }
    for row in &knowing {
        let key = key(row)?;
        if change(connection, counters, &key, said, |memory| memory.forget(line)).await? {
            arm(connection, &[(key, now + REWRITING)]).await?;
        }
    }
    let source = query(sql::FORGET_SOURCE).bind(workspace.as_str()).bind(channel.as_str());
    source.bind(id.as_str()).execute(connection).await?;
    Ok(())
}

/// A public channel is public no more: nobody else may know what was said there, nor keep what was made
/// from it.
pub async fn withdraw(
    connection: &mut Connection,
    counters: &Counters,
    workspace: &WorkspaceId,
    channel: &ChannelId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let lines =
        query(sql::SHARE_LINES).bind(workspace.as_str()).bind(channel.as_str()).bind("private");
    lines.execute(&mut *connection).await?;
    let indexed = query(sql::SHARE_INDEXED).bind(workspace.as_str()).bind(channel.as_str());
    indexed.execute(&mut *connection).await?;
    let withdrawn = query(sql::WITHDRAW_CHANNEL).bind(workspace.as_str()).bind(channel.as_str());
    let withdrawn = withdrawn.bind(counters.revision as i64);
    withdrawn.execute(&mut *connection).await?;
    withdraw_prompts(connection, counters, workspace, channel).await?;
    memos::withdraw(connection, counters, workspace, channel, now).await?;
    let knowing = query(sql::KNOWING_CHANNEL).bind(workspace.as_str()).bind(channel.as_str());
    let knowing = knowing.fetch_all(&mut *connection).await?;
    for row in &knowing {
        let key = key(row)?;
        if key.scope == Scope::Workspace {
            let ever = Timestamp::UNIX_EPOCH;
            let forget = |memory: &mut Memory| memory.forget_channel(channel);
            if change(connection, counters, &key, ever, forget).await? {
                arm(connection, &[(key, now + REWRITING)]).await?;
            }
        } else {
            let ever = Timestamp::UNIX_EPOCH;
            change(connection, counters, &key, ever, Memory::withdraw).await?;
        }
    }
    let sources = query(sql::WITHDRAW_SOURCES).bind(workspace.as_str()).bind(channel.as_str());
    sources.execute(connection).await?;
    Ok(())
}

/// What was asked elsewhere with lines of a channel that is public no more goes, and what models wrote about
/// it.
async fn withdraw_prompts(
    connection: &mut Connection,
    counters: &Counters,
    workspace: &WorkspaceId,
    channel: &ChannelId,
) -> Result<(), StoreError> {
    let (workspace, channel) = (workspace.as_str(), channel.as_str());
    let reasons = query(sql::WITHDRAW_REASONS).bind(workspace).bind(channel);
    let reasons = reasons.bind(counters.revision as i64);
    reasons.execute(&mut *connection).await?;
    for statement in [sql::WITHDRAW_VERDICTS, sql::WITHDRAW_EXCHANGES] {
        let withdraw = query(statement).bind(workspace).bind(channel);
        withdraw.execute(&mut *connection).await?;
    }
    Ok(())
}

/// Changes every version of a memory, and drops the prompts since then that held any: also versions that
/// are kept no more may have been what is changed now. True if the current version has changed.
async fn change(
    connection: &mut Connection,
    counters: &Counters,
    key: &MemoryKey,
    since: Timestamp,
    change: impl Fn(&mut Memory) -> bool,
) -> Result<bool, StoreError> {
    let versions = of(query(sql::VERSIONS), key).fetch_all(&mut *connection).await?;
    let mut has_changed = false;
    for row in &versions {
        let mut memory = memory(row)?;
        forget_prompts(connection, counters, memory.id, since).await?;
        if !change(&mut memory) {
            continue;
        }
        has_changed |= rows::column::<i64>(row, "is_current")? != 0;
        let put = query(sql::CHANGE_MEMORY)
            .bind(memory.id.0)
            .bind(json!(memory.entries).to_string())
            .bind(json!(memory.lost).to_string())
            .bind(counters.revision as i64)
            .bind(Memory::text(&memory.entries, |_| true))
            .bind(Memory::text(&memory.entries, Entry::is_public));
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
pub async fn have_changed_since(
    connection: &mut Connection,
    memories: &[MemoryId],
    revision: u64,
) -> Result<bool, StoreError> {
    let changed = query(sql::TOUCHED_SINCE).bind(json!(memories).to_string()).bind(revision as i64);
    let row = changed.fetch_one(connection).await?;
    Ok(rows::column::<i64>(&row, "has_changed")? != 0)
}

/// A row with a memory's key, entries and times.
pub fn memory(row: &Row) -> Result<Memory, StoreError> {
    Ok(Memory {
        id: MemoryId(rows::column(row, "id")?),
        key: key(row)?,
        entries: rows::parsed(&rows::column::<String>(row, "entries")?)?,
        lost: rows::parsed(&rows::column::<String>(row, "lost")?)?,
        newest: rows::time(rows::column(row, "newest_ms")?)?,
        made: rows::time(rows::column(row, "made_ms")?)?,
    })
}

fn key(row: &Row) -> Result<MemoryKey, StoreError> {
    let channel = ChannelId::new(rows::column::<String>(row, "channel")?);
    let scope: String = rows::column(row, "scope")?;
    let scope = match scope.as_str() {
        "workspace" => Scope::Workspace,
        "channel" => Scope::Channel(channel),
        "thread" => Scope::Thread(channel, MessageId::new(rows::column::<String>(row, "thread")?)),
        other => {
            return Err(StoreError::Broken(format!("a memory has the unknown scope {other:?}")));
        }
    };
    Ok(MemoryKey {
        workspace: WorkspaceId::new(rows::column::<String>(row, "workspace")?),
        scope,
        term: rows::named(&rows::column::<String>(row, "term")?)?,
    })
}

/// Binds the five columns of a key.
fn of(query: Query, key: &MemoryKey) -> Query {
    let [workspace, scope, channel, thread, term] = place(key);
    query.bind(workspace).bind(scope).bind(channel).bind(thread).bind(term)
}

/// The columns of a key.
fn place(key: &MemoryKey) -> [&str; 5] {
    let (channel, thread) = match &key.scope {
        Scope::Workspace => ("", ""),
        Scope::Channel(channel) => (channel.as_str(), ""),
        Scope::Thread(channel, thread) => (channel.as_str(), thread.as_str()),
    };
    [key.workspace.as_str(), key.scope.name(), channel, thread, key.term.name()]
}
