//! Conversions between memories and their rows: keys, entries, and removed entries.

use aizuchi_model::chat::{ChannelId, MessageId, WorkspaceId};
use aizuchi_model::memory::{Memory, MemoryEntry, MemoryId, MemoryKey, MemoryScope};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::StoreError;
use crate::database::connection::{Connection, Query, Row, query};
use crate::database::rows;
use crate::database::sql::memory as sql;

/// The current version of a memory.
pub async fn current_version(
    connection: &mut Connection,
    key: &MemoryKey,
) -> Result<Option<Memory>, StoreError> {
    let versions = bind_key(query(sql::MEMORY_VERSIONS), key).fetch_all(connection).await?;
    // The newest is the current one.
    versions.last().map(memory_from_row).transpose()
}

/// An entry in its stored form.
#[derive(Serialize, Deserialize)]
struct StoredEntry<E> {
    #[serde(flatten)]
    entry: E,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    removed: bool,
}

/// Removed entries are stored with the others, so that they are forgotten in the same way.
pub fn entries_column(entries: &[MemoryEntry], removed: &[MemoryEntry]) -> String {
    let entries = entries.iter().map(|entry| StoredEntry { entry, removed: false });
    let removed = removed.iter().map(|entry| StoredEntry { entry, removed: true });
    json!(entries.chain(removed).collect::<Vec<_>>()).to_string()
}

/// Converts a row with a memory's key, entries and times.
pub fn memory_from_row(row: &Row) -> Result<Memory, StoreError> {
    let stored: Vec<StoredEntry<MemoryEntry>> =
        rows::parse_json(&rows::column::<String>(row, "entries")?)?;
    let (removed, entries): (Vec<_>, Vec<_>) = stored.into_iter().partition(|it| it.removed);
    Ok(Memory {
        id: MemoryId(rows::column(row, "id")?),
        key: key_from_row(row)?,
        entries: entries.into_iter().map(|it| it.entry).collect(),
        removed: removed.into_iter().map(|it| it.entry).collect(),
        orphaned_messages: rows::parse_json(&rows::column::<String>(row, "lost")?)?,
        newest_message_at: rows::to_timestamp(rows::column(row, "newest_ms")?)?,
        created: rows::to_timestamp(rows::column(row, "made_ms")?)?,
    })
}

pub fn key_from_row(row: &Row) -> Result<MemoryKey, StoreError> {
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
pub fn bind_key(query: Query, key: &MemoryKey) -> Query {
    let [workspace, scope, channel, thread, term] = key_columns(key);
    query.bind(workspace).bind(scope).bind(channel).bind(thread).bind(term)
}

/// The columns of a key.
pub fn key_columns(key: &MemoryKey) -> [&str; 5] {
    let (channel, thread) = match &key.scope {
        MemoryScope::Workspace => ("", ""),
        MemoryScope::Channel(channel) => (channel.as_str(), ""),
        MemoryScope::Thread(channel, thread) => (channel.as_str(), thread.as_str()),
    };
    [key.workspace.as_str(), key.scope.name(), channel, thread, key.term.name()]
}
