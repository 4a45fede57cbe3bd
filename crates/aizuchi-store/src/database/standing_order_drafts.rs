//! Drafts of standing orders. No prompt holds one, so discarding a draft leaves no traces.

use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::standing_order::{
    DraftTarget, MAX_PER_SCOPE, StandingOrder, StandingOrderScope, StandingOrderText,
};
use jiff::Timestamp;

use crate::StoreError;
use crate::database::connection::{Connection, query};
use crate::database::standing_orders::{
    count, discard_draft, end, find, next_number, put, visibility, was_given,
};
use crate::database::{Counters, sql};
use crate::refusal_reason::RefusalReason;

/// Drafts an order. Idempotent for a chat command that is carried out again.
pub async fn draft(
    connection: &mut Connection,
    counters: &mut Counters,
    (workspace, target): (&WorkspaceId, &DraftTarget),
    text: &StandingOrderText,
    by: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    if was_given(connection, workspace, by).await? {
        return Ok(());
    }
    let (number, version, scope) = match target {
        DraftTarget::New(scope) => {
            check_place(connection, workspace, scope).await?;
            (next_number(connection, workspace).await?, 1, scope.clone())
        }
        DraftTarget::Change(number) => {
            let changed = find(connection, sql::orders::STANDING_ORDER, workspace, *number).await?;
            let changed = changed.ok_or(StoreError::Refused(RefusalReason::NoStandingOrder))?;
            discard_draft(connection, workspace, *number).await?;
            (*number, changed.version + 1, changed.scope)
        }
    };
    let draft = StandingOrder {
        number,
        version,
        visibility: visibility(connection, workspace, &scope).await?,
        scope,
        text: text.clone(),
        by: by.into(),
        given: now,
        ended: None,
        is_draft: true,
    };
    put(connection, counters, workspace, &draft).await
}

/// Puts a draft in force, replacing the order that it changes.
pub async fn keep(
    connection: &mut Connection,
    counters: &mut Counters,
    workspace: &WorkspaceId,
    number: i64,
    now: Timestamp,
) -> Result<(), StoreError> {
    let draft = find(connection, sql::orders::STANDING_ORDER_DRAFT, workspace, number).await?;
    let draft = draft.ok_or(StoreError::Refused(RefusalReason::NoOrderDraft))?;
    // A later version takes the place of the order that it changes, so it needs no room.
    if draft.version == 1
        && count(connection, sql::orders::COUNT_STANDING_ORDERS, workspace, &draft.scope).await?
            >= MAX_PER_SCOPE as i64
    {
        return Err(StoreError::Refused(RefusalReason::TooManyStandingOrders));
    }
    end(connection, workspace, number, now).await?;
    let keep = query(sql::orders::KEEP_STANDING_ORDER_DRAFT).bind(workspace.as_str()).bind(number);
    keep.bind(now.as_millisecond()).execute(connection).await?;
    counters.revision += 1;
    Ok(())
}

/// Discards a draft.
pub async fn drop(
    connection: &mut Connection,
    counters: &mut Counters,
    workspace: &WorkspaceId,
    number: i64,
) -> Result<(), StoreError> {
    if find(connection, sql::orders::STANDING_ORDER_DRAFT, workspace, number).await?.is_none() {
        return Err(StoreError::Refused(RefusalReason::NoOrderDraft));
    }
    counters.revision += 1;
    discard_draft(connection, workspace, number).await
}

/// Checks that neither the orders of a scope nor the drafts for it exceed their maximum.
async fn check_place(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    scope: &StandingOrderScope,
) -> Result<(), StoreError> {
    for statement in [sql::orders::COUNT_STANDING_ORDERS, sql::orders::COUNT_STANDING_ORDER_DRAFTS]
    {
        if count(connection, statement, workspace, scope).await? >= MAX_PER_SCOPE as i64 {
            return Err(StoreError::Refused(RefusalReason::TooManyStandingOrders));
        }
    }
    Ok(())
}
