//! The lineage of texts and memories: whether it has changed since, its visibility, and which prompts have to be
//! dropped with it.

use aizuchi_model::chat::{ChannelId, Visibility, WorkspaceId};
use aizuchi_model::memory::{Lineage, MemoryId, MessageRef};
use jiff::Timestamp;
use serde_json::json;

use crate::StoreError;
use crate::database::connection::{Connection, query};
use crate::database::sql::memory as memory_sql;
use crate::database::{Counters, rows, sql};

/// See [`crate::Store::has_changed_since`]. No channel means the whole workspace.
pub async fn has_changed_since(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    channel: Option<&ChannelId>,
    revision: u64,
    lineage: &Lineage,
) -> Result<bool, StoreError> {
    if !lineage.memories.is_empty()
        && has_memory_changed_since(&mut *connection, &lineage.memories, revision).await?
    {
        return Ok(true);
    }
    if !lineage.orders.is_empty() && is_order_gone(&mut *connection, workspace, lineage).await? {
        return Ok(true);
    }
    if lineage.messages.is_empty() {
        return Ok(false);
    }
    let changed = query(sql::messages::CHANGED_SINCE)
        .bind(workspace.as_str())
        .bind(revision as i64)
        .bind(json!(lineage.messages).to_string())
        .bind(channel.map(|channel| channel.as_str()));
    let row = changed.fetch_one(connection).await?;
    Ok(rows::column::<i64>(&row, "has_changed")? != 0)
}

/// Whether one of the standing orders is gone, since its author was forgotten or has opted out.
async fn is_order_gone(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    lineage: &Lineage,
) -> Result<bool, StoreError> {
    let count = query(sql::orders::COUNT_STANDING_ORDERS_AMONG).bind(workspace.as_str());
    let count = count.bind(json!(lineage.orders).to_string()).fetch_one(connection).await?;
    Ok(rows::column::<i64>(&count, "n")? < lineage.orders.len() as i64)
}

/// Whether one of these memories and memos has changed since a revision, or is gone.
async fn has_memory_changed_since(
    connection: &mut Connection,
    memories: &[MemoryId],
    revision: u64,
) -> Result<bool, StoreError> {
    let changed = query(memory_sql::HAS_MEMORY_CHANGED_SINCE)
        .bind(json!(memories).to_string())
        .bind(revision as i64);
    let row = changed.fetch_one(connection).await?;
    Ok(rows::column::<i64>(&row, "has_changed")? != 0)
}

/// Returns public only if all of these messages are: a memory must not reveal a private message.
pub async fn visibility_of_messages(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    messages: &[MessageRef],
) -> Result<Visibility, StoreError> {
    let non_public = query(memory_sql::NON_PUBLIC_MESSAGES)
        .bind(workspace.as_str())
        .bind(json!(messages).to_string());
    let non_public = non_public.fetch_all(connection).await?;
    let is_public = !messages.is_empty() && non_public.is_empty();
    Ok(if is_public { Visibility::Public } else { Visibility::Private })
}

/// Drops the prompts that held one of these changed memories or memos, and what models wrote about them.
pub async fn forget_prompts(
    connection: &mut Connection,
    counters: &Counters,
    id: MemoryId,
    since: Timestamp,
) -> Result<(), StoreError> {
    let since = since.as_millisecond();
    let reasons = query(memory_sql::FORGET_REASONS_OF_MEMORY).bind(id.0).bind(since);
    let reasons = reasons.bind(counters.revision as i64);
    reasons.execute(&mut *connection).await?;
    for statement in [
        memory_sql::FORGET_VERDICTS_OF_MEMORY,
        memory_sql::FORGET_DEAD_LETTERS_OF_MEMORY,
        memory_sql::FORGET_DEAD_OUTBOX_TEXT_OF_MEMORY,
        memory_sql::FORGET_CONSENTS_OF_MEMORY,
        memory_sql::FORGET_EXCHANGES_OF_MEMORY,
    ] {
        let forget = query(statement).bind(id.0).bind(since);
        forget.execute(&mut *connection).await?;
    }
    Ok(())
}
