//! Users' changes to memories and memos.

use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::flow::memory_job::REWRITE_DELAY;
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::change::{JournalKind, MemoEdit, MemoryChange};
use aizuchi_model::memory::{Memory, MemoryEntry, MemoryId, MemoryKey, MessageRef, NewMemory};
use jiff::Timestamp;
use serde_json::json;

use crate::StoreError;
use crate::database::connection::{Connection, query};
use crate::database::journal::{self, JournalKey, RecordedChange};
use crate::database::memory::{self, NewVersion};
use crate::database::memory_rows::{bind_key, current_version, key_from_row, memory_from_row};
use crate::database::sql::memory as sql;
use crate::database::{Counters, memos};
use crate::refusal_reason::RefusalReason;

/// Users' changes evict no old versions.
const KEEP_ALL: usize = 1 << 30;

/// Applies a user's change to a memory. Refused unless this is still the current version.
pub async fn change_memory(
    connection: &mut Connection,
    counters: &mut Counters,
    (key, version): (&MemoryKey, MemoryId),
    change: &MemoryChange,
    by: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let refused = || StoreError::Refused(RefusalReason::MemoryChanged);
    let current = current_version(connection, key).await?.filter(|current| current.id == version);
    let current = current.ok_or_else(refused)?;
    counters.revision += 1;
    match change {
        MemoryChange::Regenerate => {
            let entries = current.entries.iter().filter(|entry| !entry.pinned);
            let messages = entries.flat_map(|entry| entry.messages.iter().cloned());
            let mut lost: Vec<MessageRef> =
                messages.chain(current.orphaned_messages.iter().cloned()).collect();
            lost.sort();
            lost.dedup();
            touch(connection, counters, current.id, Some(&lost)).await?;
            memory::schedule(connection, &[(key.clone(), now)]).await?;
            let versions = (Some(current.id), current.id);
            let change = RecordedChange::new(change.kind(), by, versions);
            journal::put(connection, counters, JournalKey::Memory(key), change, now).await
        }
        MemoryChange::Revert(to) => {
            let versions = query(sql::MEMORY_VERSIONS);
            let versions = bind_key(versions, key).fetch_all(&mut *connection).await?;
            let versions: Vec<Memory> =
                versions.iter().map(memory_from_row).collect::<Result<_, _>>()?;
            let old = versions.into_iter().find(|old| old.id == *to && old.id != current.id);
            let old = old.ok_or_else(refused)?;
            let reverted = Memory { entries: old.entries, removed: old.removed, ..current.clone() };
            replace(connection, counters, (&current, reverted), (change.kind(), by), now).await
        }
        MemoryChange::Edit { entry, .. }
        | MemoryChange::Remove(entry)
        | MemoryChange::Forget(entry, _) => {
            let changed = change.apply_to(&current).ok_or_else(refused)?;
            change_elsewhere(connection, counters, (key, entry, change), by, now).await?;
            replace(connection, counters, (&current, changed), (change.kind(), by), now).await
        }
        MemoryChange::Pin(_) | MemoryChange::Unpin(_) | MemoryChange::Restore(_) => {
            let changed = change.apply_to(&current).ok_or_else(refused)?;
            replace(connection, counters, (&current, changed), (change.kind(), by), now).await
        }
    }
}

/// Changes the same entries in the workspace's other memories, including those of threads.
async fn change_elsewhere(
    connection: &mut Connection,
    counters: &mut Counters,
    (key, entry, change): (&MemoryKey, &MemoryEntry, &MemoryChange),
    by: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let messages = json!(entry.messages).to_string();
    let others = query(sql::MEMORIES_OF_MESSAGES).bind(key.workspace.as_str()).bind(messages);
    let others = others.fetch_all(&mut *connection).await?;
    let mut others: Vec<MemoryKey> = others.iter().map(key_from_row).collect::<Result<_, _>>()?;
    others.retain(|other| other != key);
    others.sort();
    for other in &others {
        let Some(other) = current_version(connection, other).await? else { continue };
        if let Some(changed) = change.repeated_in(&other, entry) {
            replace(connection, counters, (&other, changed), (change.kind(), by), now).await?;
        }
    }
    Ok(())
}

/// Stores a user's change of the current version as a new version. Model output based on the old one becomes stale.
async fn replace(
    connection: &mut Connection,
    counters: &mut Counters,
    (current, changed): (&Memory, Memory),
    (kind, by): (JournalKind, &str),
    now: Timestamp,
) -> Result<(), StoreError> {
    let key = &current.key;
    touch(connection, counters, current.id, None).await?;
    let new = NewMemory {
        entries: changed.entries,
        newest_message_at: current.newest_message_at,
        seen_revision: counters.revision,
        source_memories: Vec::new(),
    };
    let removed = &changed.removed;
    let version = NewVersion { key, new, removed, versions_kept: KEEP_ALL };
    let (id, _) = memory::save_version(connection, counters, version, now).await?;
    // A new version is stored without orphaned messages, so they are carried over.
    touch(connection, counters, id, Some(&current.orphaned_messages)).await?;
    if !current.orphaned_messages.is_empty() {
        memory::schedule(connection, &[(key.clone(), now + REWRITE_DELAY)]).await?;
    }
    let change = RecordedChange::new(kind, by, (Some(current.id), id));
    journal::put(connection, counters, JournalKey::Memory(key), change, now).await
}

async fn touch(
    connection: &mut Connection,
    counters: &Counters,
    id: MemoryId,
    lost: Option<&[MessageRef]>,
) -> Result<(), StoreError> {
    let touch = query(sql::TOUCH_MEMORY)
        .bind(id.0)
        .bind(counters.revision as i64)
        .bind(lost.map(|lost| json!(lost).to_string()));
    touch.execute(connection).await?;
    Ok(())
}

/// Changes a memo, or removes it. Refused if it is gone.
pub async fn change_memo(
    connection: &mut Connection,
    counters: &mut Counters,
    (workspace, id): (&WorkspaceId, MemoryId),
    edit: Option<&MemoEdit>,
    by: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let found = memos::find(connection, workspace, Some(id)).await?;
    let (_, memo) = found.ok_or(StoreError::Refused(RefusalReason::MemoryChanged))?;
    counters.revision += 1;
    let channel = memos::journaled_channel(&memo).cloned();
    let before = memos::keep_version(connection, counters, workspace, (id, &memo), now).await?;
    let kind = match edit {
        Some(MemoEdit { content, priority, tags, detail }) => {
            let memo = Memo {
                content: content.clone(),
                priority: *priority,
                tags: tags.clone(),
                detail: detail.clone(),
                updated: now,
                ..memo
            };
            memos::put(connection, counters, workspace, id, memo).await?;
            JournalKind::Edited
        }
        None => {
            memos::remove_for_good(connection, id).await?;
            JournalKind::Removed
        }
    };
    let change = RecordedChange::new(kind, by, (Some(before), id));
    journal::put(connection, counters, JournalKey::Memo(workspace, channel.as_ref()), change, now)
        .await
}

/// Restores an earlier version of a memo, even if the memo was removed. Refused if the version is gone.
pub async fn revert_memo(
    connection: &mut Connection,
    counters: &mut Counters,
    (workspace, id, version): (&WorkspaceId, MemoryId, MemoryId),
    by: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let old = memos::find_version(connection, workspace, (id, version)).await?;
    let old = old.ok_or(StoreError::Refused(RefusalReason::MemoryChanged))?;
    counters.revision += 1;
    let before = match memos::find(connection, workspace, Some(id)).await? {
        Some((_, memo)) => {
            Some(memos::keep_version(connection, counters, workspace, (id, &memo), now).await?)
        }
        None => None,
    };
    let channel = memos::journaled_channel(&old).cloned();
    let memo = Memo { updated: now, ..old };
    memos::put(connection, counters, workspace, id, memo).await?;
    memos::copy_sources(connection, version, id).await?;
    let change = RecordedChange::new(JournalKind::Reverted, by, (before, id));
    journal::put(connection, counters, JournalKey::Memo(workspace, channel.as_ref()), change, now)
        .await
}
