//! The journal of changes to memories and memos.

use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_model::decision::DecisionId;
use aizuchi_model::memory::change::{JournalEntry, JournalKind};
use aizuchi_model::memory::{MemoryId, MemoryKey};
use jiff::{SignedDuration, Timestamp};

use crate::StoreError;
use crate::database::connection::{Connection, Readers, Row, query};
use crate::database::memory_rows::{self, bind_key};
use crate::database::sql::memory as sql;
use crate::database::{Counters, rows};

/// How long journal entries are kept.
const RETENTION: SignedDuration = SignedDuration::from_hours(90 * 24);
/// The scope of a memo in the journal.
const MEMO: &str = "memo";

/// The changed memory or memo.
#[derive(Clone, Copy)]
pub enum JournalKey<'a> {
    Memory(&'a MemoryKey),
    /// A memo of a channel, or of the whole workspace.
    Memo(&'a WorkspaceId, Option<&'a ChannelId>),
}

/// A change to be recorded.
pub struct RecordedChange<'a> {
    pub kind: JournalKind,
    pub by: &'a str,
    /// The versions before and after the change.
    pub versions: (Option<MemoryId>, MemoryId),
    pub decision: Option<DecisionId>,
}

impl<'a> RecordedChange<'a> {
    /// A change outside of any decision.
    pub fn new(kind: JournalKind, by: &'a str, versions: (Option<MemoryId>, MemoryId)) -> Self {
        Self { kind, by, versions, decision: None }
    }
}

/// Records a change. Drops entries past their retention, with the old versions of memos.
pub async fn put(
    connection: &mut Connection,
    counters: &mut Counters,
    key: JournalKey<'_>,
    change: RecordedChange<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    counters.last_number += 1;
    let put = query(sql::PUT_MEMORY_CHANGE);
    let put = match key {
        JournalKey::Memory(key) => bind_key(put, key),
        JournalKey::Memo(workspace, channel) => {
            let channel = channel.map_or("", ChannelId::as_str);
            put.bind(workspace.as_str()).bind(MEMO).bind(channel).bind("").bind("")
        }
    };
    let put = put
        .bind(counters.last_number)
        .bind(now.as_millisecond())
        .bind(change.by)
        .bind(change.kind.name())
        .bind(change.versions.0.map(|before| before.0))
        .bind(change.versions.1.0)
        .bind(change.decision.map(|DecisionId(id)| id));
    put.execute(&mut *connection).await?;
    drop_old(connection, now).await
}

/// Drops changes past their retention, with the old versions of memos.
pub async fn drop_old(connection: &mut Connection, now: Timestamp) -> Result<(), StoreError> {
    let before = now.checked_sub(RETENTION).unwrap_or(Timestamp::MIN);
    // In this order: the sources are found through the versions.
    for statement in [sql::DROP_SOURCES_OF_OLD_MEMOS, sql::DROP_OLD_MEMOS, sql::DROP_MEMORY_CHANGES]
    {
        query(statement).bind(before.as_millisecond()).execute(&mut *connection).await?;
    }
    Ok(())
}

/// The newest changes before a given one, newest first.
pub async fn read(
    readers: &Readers,
    workspace: &WorkspaceId,
    channel: Option<&ChannelId>,
    before: Option<i64>,
    limit: usize,
) -> Result<Vec<JournalEntry>, StoreError> {
    let changes = query(sql::MEMORY_CHANGES)
        .bind(workspace.as_str())
        .bind(before.unwrap_or(i64::MAX))
        .bind(channel.map(ChannelId::as_str))
        .bind(limit as i64);
    changes.fetch_all(readers).await?.iter().map(entry_from_row).collect()
}

fn entry_from_row(row: &Row) -> Result<JournalEntry, StoreError> {
    let scope: String = rows::column(row, "scope")?;
    Ok(JournalEntry {
        number: rows::column(row, "id")?,
        key: match scope.as_str() {
            MEMO => None,
            _ => Some(memory_rows::key_from_row(row)?),
        },
        at: rows::to_timestamp(rows::column(row, "at_ms")?)?,
        by: rows::column::<String>(row, "changed_by")?.into(),
        kind: rows::parse_name(&rows::column::<String>(row, "kind")?)?,
        before: rows::column::<Option<i64>>(row, "old_version")?.map(MemoryId),
        after: MemoryId(rows::column(row, "new_version")?),
        decision: rows::column(row, "decision")?,
    })
}
