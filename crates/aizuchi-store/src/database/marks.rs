//! The marks that users put on decisions.

use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::decision::DecisionId;
use aizuchi_model::decision::mark::{DecisionMark, Mark};
use jiff::Timestamp;

use crate::StoreError;
use crate::database::connection::{Connection, Row, query};
use crate::database::{Counters, rows, sql};
use crate::refusal_reason::RefusalReason;

/// Marks a closed decision, or removes its mark.
pub async fn apply(
    connection: &mut Connection,
    counters: &mut Counters,
    workspace: &WorkspaceId,
    mark: (DecisionId, Option<Mark>),
    by: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (decision, mark) = mark;
    let one = |statement| query(statement).bind(workspace.as_str()).bind(decision.0);
    if one(sql::orders::IS_CLOSED).fetch_optional(&mut *connection).await?.is_none() {
        return Err(StoreError::Refused(RefusalReason::NotDecided));
    }
    match mark {
        Some(mark) => put(connection, workspace, (decision, mark), by, now).await?,
        None => {
            one(sql::orders::DROP_MARK).execute(connection).await?;
        }
    }
    counters.revision += 1;
    Ok(())
}

/// Marks a decision, even one that was reopened.
pub async fn put(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    (decision, mark): (DecisionId, Mark),
    by: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let put = query(sql::orders::PUT_MARK).bind(workspace.as_str()).bind(decision.0);
    let put = put.bind(mark.name()).bind(by).bind(now.as_millisecond());
    put.execute(connection).await?;
    Ok(())
}

pub fn from_row(row: &Row) -> Result<DecisionMark, StoreError> {
    Ok(DecisionMark {
        decision: DecisionId(rows::column(row, "decision")?),
        mark: rows::parse_name(&rows::column::<String>(row, "mark")?)?,
        by: rows::column::<String>(row, "marked_by")?.into(),
        at: rows::to_timestamp(rows::column(row, "at_ms")?)?,
    })
}
