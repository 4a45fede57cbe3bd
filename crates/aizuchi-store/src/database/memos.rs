//! Memos: stored with the reply that made them, and forgotten with their source messages.

use aizuchi_model::chat::{ChannelId, ConversationId, MessageId, UserId, Visibility, WorkspaceId};
use aizuchi_model::flow::outbox::ProposedDraft;
use aizuchi_model::flow::{Claim, Outcome, StepResult};
use aizuchi_model::memo::{Memo, MemoChange, MemoScope, available_name};
use aizuchi_model::memory::asker::sign;
use aizuchi_model::memory::change::JournalKind;
use aizuchi_model::memory::{Lineage, MemoryId, MessageRef};
use jiff::Timestamp;
use serde_json::json;

use crate::StoreError;
use crate::database::connection::{Connection, Readers, Row, query};
use crate::database::journal::{self, JournalKey, RecordedChange};
use crate::database::sql::memory as sql;
use crate::database::{Counters, lineage, rows};

/// All memos visible from a channel.
pub async fn read_visible(
    readers: &Readers,
    workspace: &WorkspaceId,
    channel: &ChannelId,
) -> Result<Vec<(MemoryId, Memo)>, StoreError> {
    let memos = query(sql::MEMOS).bind(workspace.as_str()).bind(channel.as_str());
    let memos = memos.fetch_all(readers).await?;
    memos.iter().map(memo_from_row).collect()
}

/// All memos of a workspace.
pub async fn read_all(
    readers: &Readers,
    workspace: &WorkspaceId,
) -> Result<Vec<(MemoryId, Memo)>, StoreError> {
    let memos = query(sql::ALL_MEMOS).bind(workspace.as_str()).fetch_all(readers).await?;
    memos.iter().map(memo_from_row).collect()
}

/// The listed versions of memos that are still stored.
pub async fn read_versions(
    readers: &Readers,
    workspace: &WorkspaceId,
    ids: &[MemoryId],
) -> Result<Vec<(MemoryId, Memo)>, StoreError> {
    let memos = query(sql::OLD_MEMOS).bind(workspace.as_str()).bind(json!(ids).to_string());
    let memos = memos.fetch_all(readers).await?;
    memos.iter().map(memo_from_row).collect()
}

/// Applies a reply's memo changes, and records them. In the draft's lineage, the changed memos are then replaced by
/// their source messages; otherwise the draft would be made stale by its own changes.
pub async fn apply_changes(
    connection: &mut Connection,
    counters: &mut Counters,
    claim: &Claim,
    outcome: &mut Outcome,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (StepResult::Drafted { draft, .. } | StepResult::Proposed(ProposedDraft { draft, .. })) =
        &mut outcome.result
    else {
        return Ok(());
    };
    if outcome.memo_changes.is_empty() {
        return Ok(());
    }
    let conversation = claim.work.conversation();
    let workspace = &conversation.workspace;
    let asker = asker(connection, conversation, draft.metadata.newest_owed()).await?;
    let answered = draft.metadata.answered_message_refs(&conversation.channel);
    let lineage = &mut draft.metadata.lineage;
    // Before the loop replaces memos in the lineage by their source messages.
    let visibility = source_visibility(connection, conversation, lineage).await?;
    for change in &outcome.memo_changes {
        let (kind, before, id, channel) = match change {
            MemoChange::Remove(id) => {
                lineage.replace_memory(*id, &sources(connection, *id).await?);
                let Some((_, memo)) = find(connection, workspace, Some(*id)).await? else {
                    continue;
                };
                let before =
                    keep_version(connection, counters, workspace, (*id, &memo), now).await?;
                remove_for_good(connection, *id).await?;
                (JournalKind::Removed, Some(before), *id, journaled_channel(&memo).cloned())
            }
            MemoChange::Upsert { memo, replaces, messages } => {
                let replaced = find(connection, workspace, *replaces).await?;
                let old_memo = replaced.as_ref().map(|(_, memo)| memo);
                let stored = memo.to_stored(old_memo, visibility, &conversation.channel);
                let channel = journaled_channel(&stored).cloned();
                let (kind, before, id) = match &replaced {
                    Some((id, old_memo)) if old_memo.scope() == stored.scope() => {
                        let old = (*id, old_memo);
                        let before = keep_version(connection, counters, workspace, old, now);
                        (JournalKind::Edited, Some(before.await?), *id)
                    }
                    Some(_) | None => {
                        counters.last_number += 1;
                        (JournalKind::Created, None, MemoryId(counters.last_number))
                    }
                };
                put(connection, counters, workspace, id, stored).await?;
                let messages: Vec<&MessageRef> = messages.iter().chain(&answered).collect();
                let put = query(sql::PUT_MEMO_SOURCES).bind(workspace.as_str()).bind(id.0);
                let put = put.bind(json!(messages).to_string());
                put.execute(&mut *connection).await?;
                if let Some((old, _)) = replaced.filter(|(old, _)| *old != id) {
                    copy_sources(connection, old, id).await?;
                }
                lineage.replace_memory(id, &sources(connection, id).await?);
                (kind, before, id, channel)
            }
        };
        let key = JournalKey::Memo(workspace, channel.as_ref());
        let (by, versions, decision) = (&*asker, (before, id), Some(claim.decision));
        let change = RecordedChange { kind, by, versions, decision };
        journal::put(connection, counters, key, change, now).await?;
    }
    Ok(())
}

/// The name in the journal of the author whose message the reply is owed to. Empty if the reply is not owed.
async fn asker(
    connection: &mut Connection,
    conversation: &ConversationId,
    owed: Option<&MessageId>,
) -> Result<String, StoreError> {
    let Some(owed) = owed else { return Ok(String::new()) };
    let author = query(sql::MESSAGE_AUTHOR)
        .bind(conversation.workspace.as_str())
        .bind(conversation.channel.as_str())
        .bind(owed.as_str());
    let Some(author) = author.fetch_optional(connection).await? else { return Ok(String::new()) };
    let user = UserId::new(rows::column::<String>(&author, "author")?);
    Ok(sign(&user, rows::to_timestamp(rows::column(&author, "at_ms")?)?))
}

/// Returns public if a reply was made from public messages, memories and memos only.
async fn source_visibility(
    connection: &mut Connection,
    conversation: &ConversationId,
    lineage: &Lineage,
) -> Result<Visibility, StoreError> {
    let (workspace, channel) = (&conversation.workspace, &conversation.channel);
    if lineage::visibility_of_messages(connection, workspace, &lineage.messages).await?
        != Visibility::Public
    {
        return Ok(Visibility::Private);
    }
    let shown = query(sql::HAS_SHOWN_NON_PUBLIC).bind(json!(lineage.memories).to_string());
    let shown = shown.bind(channel.as_str()).fetch_one(connection).await?;
    let has_shown = rows::column::<i64>(&shown, "has_shown")? != 0;
    Ok(if has_shown { Visibility::Private } else { Visibility::Public })
}

/// Imports a memo, unless its name is taken.
pub async fn import(
    connection: &mut Connection,
    counters: &mut Counters,
    workspace: &WorkspaceId,
    memo: &Memo,
    messages: &[MessageRef],
) -> Result<(), StoreError> {
    let names = other_names(connection, workspace, &memo.scope(), MemoryId(0)).await?;
    if names.contains(&memo.name) {
        return Ok(());
    }
    counters.revision += 1;
    counters.last_number += 1;
    let id = MemoryId(counters.last_number);
    put(connection, counters, workspace, id, memo.clone()).await?;
    let put = query(sql::PUT_MEMO_SOURCES).bind(workspace.as_str()).bind(id.0);
    put.bind(json!(messages).to_string()).execute(connection).await?;
    Ok(())
}

/// The names of all memos of a scope except one.
async fn other_names(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    scope: &MemoScope,
    except: MemoryId,
) -> Result<Vec<String>, StoreError> {
    let others = query(sql::OTHER_MEMO_NAMES)
        .bind(workspace.as_str())
        .bind(scope_column(scope))
        .bind(except.0);
    let others = others.fetch_all(connection).await?;
    others.iter().map(|row| rows::column::<String>(row, "name")).collect()
}

pub async fn put(
    connection: &mut Connection,
    counters: &Counters,
    workspace: &WorkspaceId,
    id: MemoryId,
    memo: Memo,
) -> Result<(), StoreError> {
    let scope = memo.scope();
    let others = other_names(connection, workspace, &scope, id).await?;
    let name = available_name(&memo.name, |name| others.iter().any(|other| other == name));
    let memo = Memo { name, ..memo };
    let put = query(sql::PUT_MEMO)
        .bind(id.0)
        .bind(workspace.as_str())
        .bind(scope_column(&scope))
        .bind(&memo.name)
        .bind(memo.channel.as_str())
        .bind(memo.priority)
        .bind(memo.updated.as_millisecond())
        .bind(counters.revision as i64)
        .bind(json!(memo).to_string());
    put.execute(connection).await?;
    Ok(())
}

/// Stores the current version of a memo with its source messages, before the memo is changed or removed.
pub async fn keep_version(
    connection: &mut Connection,
    counters: &mut Counters,
    workspace: &WorkspaceId,
    (id, memo): (MemoryId, &Memo),
    now: Timestamp,
) -> Result<MemoryId, StoreError> {
    counters.last_number += 1;
    let version = MemoryId(counters.last_number);
    let put = query(sql::PUT_OLD_MEMO)
        .bind(version.0)
        .bind(workspace.as_str())
        .bind(memo.channel.as_str())
        .bind(now.as_millisecond())
        .bind(id.0)
        .bind(json!(memo).to_string());
    put.execute(&mut *connection).await?;
    copy_sources(connection, id, version).await?;
    Ok(version)
}

/// The channel whose journal lists a memo's changes. The workspace's journal lists all of them.
pub fn journaled_channel(memo: &Memo) -> Option<&ChannelId> {
    match memo.visibility {
        Visibility::Public => None,
        Visibility::Private | Visibility::Direct => Some(&memo.channel),
    }
}

/// Copies the source messages of a memo or version to another one.
pub async fn copy_sources(
    connection: &mut Connection,
    from: MemoryId,
    to: MemoryId,
) -> Result<(), StoreError> {
    query(sql::COPY_MEMO_SOURCES).bind(from.0).bind(to.0).execute(connection).await?;
    Ok(())
}

/// Removes a memo. In the lineage of prompts that held it, it is replaced by its source messages.
pub async fn remove_for_good(connection: &mut Connection, id: MemoryId) -> Result<(), StoreError> {
    query(sql::REPLACE_MEMO_WITH_SOURCES).bind(id.0).execute(&mut *connection).await?;
    remove(connection, id).await?;
    Ok(())
}

/// Removes a memo, or an old version of one. Returns whether it was a memo.
pub async fn remove(connection: &mut Connection, id: MemoryId) -> Result<bool, StoreError> {
    let removed = query(sql::REMOVE_MEMO).bind(id.0).execute(&mut *connection).await?;
    for statement in [sql::REMOVE_OLD_MEMO, sql::REMOVE_MEMO_SOURCES] {
        query(statement).bind(id.0).execute(&mut *connection).await?;
    }
    Ok(removed > 0)
}

/// Forgets edited, deleted or withheld messages (a JSON list): removes the memos made from them, with all old versions,
/// and the prompts that held them. Returns whether there were any.
pub async fn forget_messages(
    connection: &mut Connection,
    counters: &mut Counters,
    workspace: &WorkspaceId,
    messages: &str,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let memos = query(sql::MEMOS_OF_MESSAGES).bind(workspace.as_str()).bind(messages);
    let memos = memos.fetch_all(&mut *connection).await?;
    for row in &memos {
        let id = MemoryId(rows::column(row, "id")?);
        let memo = find(connection, workspace, Some(id)).await?;
        remove(connection, id).await?;
        lineage::forget_prompts(connection, counters, id, Timestamp::UNIX_EPOCH).await?;
        if let Some((_, memo)) = memo {
            let key = JournalKey::Memo(workspace, journaled_channel(&memo));
            let change = RecordedChange::new(JournalKind::Forgotten, "", (None, id));
            journal::put(connection, counters, key, change, now).await?;
        }
    }
    Ok(!memos.is_empty())
}

/// Makes the memos of a channel that turned private visible only there. Old versions that others could see are dropped.
pub async fn make_channel_private(
    connection: &mut Connection,
    counters: &Counters,
    workspace: &WorkspaceId,
    channel: &ChannelId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let memos = query(sql::MEMOS_OF_CHANNEL).bind(workspace.as_str()).bind(channel.as_str());
    let memos = memos.fetch_all(&mut *connection).await?;
    for row in &memos {
        let (id, memo) = memo_from_row(row)?;
        match memo.to_private(channel) {
            Some(same) if same == memo => continue,
            Some(moved) => {
                let moved = Memo { updated: now, ..moved };
                put(connection, counters, workspace, id, moved).await?;
            }
            None => {
                remove(connection, id).await?;
            }
        }
        lineage::forget_prompts(connection, counters, id, Timestamp::UNIX_EPOCH).await?;
    }
    let old = query(sql::OLD_MEMOS_OF_CHANNEL).bind(workspace.as_str()).bind(channel.as_str());
    let old = old.fetch_all(&mut *connection).await?;
    for row in &old {
        let (version, memo) = memo_from_row(row)?;
        if memo.to_private(channel).is_none_or(|same| same != memo) {
            remove(connection, version).await?;
        }
    }
    Ok(())
}

pub async fn find(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    id: Option<MemoryId>,
) -> Result<Option<(MemoryId, Memo)>, StoreError> {
    let Some(id) = id else { return Ok(None) };
    let found = query(sql::ONE_MEMO).bind(workspace.as_str()).bind(id.0);
    let found = found.fetch_optional(connection).await?;
    let memo = found.map(|row| rows::parse_json(&rows::column::<String>(&row, "memo")?));
    Ok(memo.transpose()?.map(|memo| (id, memo)))
}

/// An old version of a memo, if it is still stored.
pub async fn find_version(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    (id, version): (MemoryId, MemoryId),
) -> Result<Option<Memo>, StoreError> {
    let found = query(sql::ONE_OLD_MEMO).bind(workspace.as_str()).bind(id.0).bind(version.0);
    let found = found.fetch_optional(connection).await?;
    found.map(|row| rows::parse_json(&rows::column::<String>(&row, "memo")?)).transpose()
}

/// The messages that a memo was made from.
pub async fn sources(
    connection: &mut Connection,
    id: MemoryId,
) -> Result<Vec<MessageRef>, StoreError> {
    let rows = query(sql::SOURCES_OF_MEMO).bind(id.0);
    let rows = rows.fetch_all(connection).await?;
    let message_ref = |row: &Row| {
        let channel = ChannelId::new(rows::column::<String>(row, "channel")?);
        Ok(MessageRef(channel, MessageId::new(rows::column::<String>(row, "line")?)))
    };
    rows.iter().map(message_ref).collect()
}

fn memo_from_row(row: &Row) -> Result<(MemoryId, Memo), StoreError> {
    let memo = rows::parse_json(&rows::column::<String>(row, "memo")?)?;
    Ok((MemoryId(rows::column(row, "id")?), memo))
}

fn scope_column(scope: &MemoScope) -> &str {
    match scope {
        MemoScope::Workspace => "",
        MemoScope::Channel(channel) => channel.as_str(),
    }
}
