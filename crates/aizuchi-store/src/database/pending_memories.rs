//! The pending memory jobs, each with the failures of its calls.

use std::sync::Arc;

use aizuchi_model::chat::WorkspaceId;

use crate::StoreError;
use crate::database::connection::{Readers, Row, query};
use crate::database::memory_rows::key_from_row;
use crate::database::rows;
use crate::database::sql::memory as sql;
use crate::pending_memories::{MemoryFailure, PendingMemory};

/// The pending jobs of a workspace, the first due ones first.
pub async fn read(
    readers: &Readers,
    workspace: &WorkspaceId,
    limit: usize,
) -> Result<Vec<PendingMemory>, StoreError> {
    let pending = query(sql::PENDING_MEMORIES).bind(workspace.as_str()).bind(limit as i64);
    pending.fetch_all(readers).await?.iter().map(from_row).collect()
}

fn from_row(row: &Row) -> Result<PendingMemory, StoreError> {
    let failure = match rows::optional_time(row, "since_ms")? {
        Some(since) => Some(MemoryFailure {
            since,
            model: rows::column::<String>(row, "model")?.into(),
            error: rows::column::<Option<String>>(row, "error")?.map(Arc::from),
        }),
        None => None,
    };
    Ok(PendingMemory {
        key: key_from_row(row)?,
        due: rows::to_timestamp(rows::column(row, "due_ms")?)?,
        in_progress: rows::column::<Option<i64>>(row, "token")?.is_some(),
        failure,
    })
}
