//! Standing orders: those in force, and their earlier versions.

use aizuchi_model::chat::{UserId, Visibility, WorkspaceId};
use aizuchi_model::memory::asker::signer;
use aizuchi_model::standing_order::{
    DRAFT_LIFETIME, MAX_PER_SCOPE, StandingOrder, StandingOrderScope, StandingOrderText,
};
use jiff::Timestamp;

use crate::StoreError;
use crate::database::connection::{Connection, Readers, Row, query};
use crate::database::{Counters, rows, sql};
use crate::order_journal::ORDER_RETENTION;
use crate::refusal_reason::RefusalReason;

/// Gives an order. Idempotent for a chat command, which is carried out again if the process ended before its message
/// was stored.
pub async fn give(
    connection: &mut Connection,
    counters: &mut Counters,
    (workspace, scope): (&WorkspaceId, &StandingOrderScope),
    text: &StandingOrderText,
    by: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    if was_given(connection, workspace, by).await? {
        return Ok(());
    }
    let given = count(connection, sql::orders::COUNT_STANDING_ORDERS, workspace, scope).await?;
    if given >= MAX_PER_SCOPE as i64 {
        return Err(StoreError::Refused(RefusalReason::TooManyStandingOrders));
    }
    let order = StandingOrder {
        number: next_number(connection, workspace).await?,
        version: 1,
        visibility: visibility(connection, workspace, scope).await?,
        scope: scope.clone(),
        text: text.clone(),
        by: by.into(),
        given: now,
        ended: None,
        is_draft: false,
    };
    put(connection, counters, workspace, &order).await
}

/// Replaces an order with a new version.
pub async fn change(
    connection: &mut Connection,
    counters: &mut Counters,
    (workspace, number): (&WorkspaceId, i64),
    text: &StandingOrderText,
    by: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    if was_given(connection, workspace, by).await? {
        return Ok(());
    }
    let known = find(connection, sql::orders::STANDING_ORDER, workspace, number).await?;
    let known = known.ok_or(StoreError::Refused(RefusalReason::NoStandingOrder))?;
    discard_draft(connection, workspace, number).await?;
    end(connection, workspace, number, now).await?;
    let order = StandingOrder {
        version: known.version + 1,
        visibility: visibility(connection, workspace, &known.scope).await?,
        text: text.clone(),
        by: by.into(),
        given: now,
        ..known
    };
    put(connection, counters, workspace, &order).await
}

/// Revokes an order, and discards the draft that would have changed it.
pub async fn drop(
    connection: &mut Connection,
    counters: &mut Counters,
    workspace: &WorkspaceId,
    number: i64,
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut is_known = false;
    for statement in [sql::orders::STANDING_ORDER, sql::orders::STANDING_ORDER_DRAFT] {
        is_known |= find(connection, statement, workspace, number).await?.is_some();
    }
    if !is_known {
        return Err(StoreError::Refused(RefusalReason::NoStandingOrder));
    }
    counters.revision += 1;
    discard_draft(connection, workspace, number).await?;
    end(connection, workspace, number, now).await
}

/// Revokes a user's orders, and erases the text of all their versions. The prompts that held them are erased page by
/// page: see [`super::redaction`].
pub async fn withdraw_all_of(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    user: &UserId,
    now: Timestamp,
) -> Result<(), StoreError> {
    discard_drafts_of(connection, workspace, user).await?;
    let withdraw = query(sql::orders::WITHDRAW_STANDING_ORDERS_OF);
    let withdraw = withdraw.bind(workspace.as_str()).bind(user.as_str());
    withdraw.bind(now.as_millisecond()).execute(connection).await?;
    Ok(())
}

/// Whether an order was given by this chat command.
pub(super) async fn was_given(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    by: &str,
) -> Result<bool, StoreError> {
    if signer(by).is_none() {
        return Ok(false);
    }
    let given = query(sql::orders::HAS_STANDING_ORDER).bind(workspace.as_str()).bind(by);
    Ok(given.fetch_optional(connection).await?.is_some())
}

/// The visibility of an order that is given now.
pub(super) async fn visibility(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    scope: &StandingOrderScope,
) -> Result<Visibility, StoreError> {
    let Some(channel) = scope.channel() else { return Ok(Visibility::Public) };
    let channel = query(sql::messages::CHANNEL).bind(workspace.as_str()).bind(channel.as_str());
    let channel = channel.fetch_optional(connection).await?;
    let channel = channel.as_ref().map(rows::channel_from_row).transpose()?;
    Ok(channel.map_or(Visibility::Private, |channel| channel.visibility))
}

/// The number of orders, or drafts, in a scope.
pub(super) async fn count(
    connection: &mut Connection,
    statement: &'static str,
    workspace: &WorkspaceId,
    scope: &StandingOrderScope,
) -> Result<i64, StoreError> {
    let (channel, thread) = scope.columns();
    let count = query(statement).bind(workspace.as_str()).bind(channel).bind(thread);
    rows::column(&count.fetch_one(connection).await?, "n")
}

/// Allocates an unused order number.
pub async fn next_number(
    connection: &mut Connection,
    workspace: &WorkspaceId,
) -> Result<i64, StoreError> {
    let next = query(sql::orders::NEXT_STANDING_ORDER).bind(workspace.as_str());
    rows::column(&next.fetch_one(connection).await?, "number")
}

/// The order in force, or the draft, with this number.
pub(super) async fn find(
    connection: &mut Connection,
    statement: &'static str,
    workspace: &WorkspaceId,
    number: i64,
) -> Result<Option<StandingOrder>, StoreError> {
    let found = query(statement).bind(workspace.as_str()).bind(number);
    found.fetch_optional(connection).await?.as_ref().map(from_row).transpose()
}

/// Drops revoked orders past their retention, and lapsed drafts.
pub async fn drop_old(connection: &mut Connection, now: Timestamp) -> Result<(), StoreError> {
    let before = now.checked_sub(ORDER_RETENTION).unwrap_or(Timestamp::MIN);
    let drop = query(sql::orders::DROP_OLD_STANDING_ORDERS).bind(before.as_millisecond());
    drop.execute(&mut *connection).await?;
    drop_lapsed_drafts(connection, now).await
}

/// Discards the draft of an order, if there is one.
pub(super) async fn discard_draft(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    number: i64,
) -> Result<(), StoreError> {
    let discard =
        query(sql::orders::DROP_STANDING_ORDER_DRAFT).bind(workspace.as_str()).bind(number);
    discard.execute(connection).await?;
    Ok(())
}

/// Discards a user's drafts.
async fn discard_drafts_of(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    user: &UserId,
) -> Result<(), StoreError> {
    let discard = query(sql::orders::DROP_STANDING_ORDER_DRAFTS_OF)
        .bind(workspace.as_str())
        .bind(user.as_str());
    discard.execute(connection).await?;
    Ok(())
}

/// Discards drafts that were not kept in time.
async fn drop_lapsed_drafts(connection: &mut Connection, now: Timestamp) -> Result<(), StoreError> {
    let before = now.checked_sub(DRAFT_LIFETIME).unwrap_or(Timestamp::MIN);
    let drop = query(sql::orders::DROP_LAPSED_STANDING_ORDER_DRAFTS).bind(before.as_millisecond());
    drop.execute(connection).await?;
    Ok(())
}

pub async fn put(
    connection: &mut Connection,
    counters: &mut Counters,
    workspace: &WorkspaceId,
    order: &StandingOrder,
) -> Result<(), StoreError> {
    let (channel, thread) = order.scope.columns();
    let put = query(sql::orders::PUT_STANDING_ORDER)
        .bind(workspace.as_str())
        .bind(order.number)
        .bind(order.version)
        .bind(channel)
        .bind(thread)
        .bind(order.text.as_str())
        .bind(&*order.by)
        .bind(order.given.as_millisecond())
        .bind(rows::visibility_name(order.visibility))
        .bind(i64::from(order.is_draft));
    put.execute(connection).await?;
    counters.revision += 1;
    Ok(())
}

pub async fn end(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    number: i64,
    now: Timestamp,
) -> Result<(), StoreError> {
    let end = query(sql::orders::END_STANDING_ORDER).bind(workspace.as_str()).bind(number);
    end.bind(now.as_millisecond()).execute(connection).await?;
    Ok(())
}

/// The orders that a statement returns.
pub async fn read(
    readers: &Readers,
    statement: &'static str,
    workspace: &WorkspaceId,
) -> Result<Vec<StandingOrder>, StoreError> {
    let orders = query(statement).bind(workspace.as_str()).fetch_all(readers).await?;
    orders.iter().map(from_row).collect()
}

pub fn from_row(row: &Row) -> Result<StandingOrder, StoreError> {
    let (channel, thread): (String, String) =
        (rows::column(row, "channel")?, rows::column(row, "thread")?);
    let ended = rows::column::<Option<i64>>(row, "ended_ms")?;
    Ok(StandingOrder {
        number: rows::column(row, "number")?,
        version: rows::column(row, "version")?,
        scope: StandingOrderScope::from_columns(&channel, &thread),
        text: StandingOrderText::from_stored(rows::column(row, "text")?),
        visibility: rows::parse_name(&rows::column::<String>(row, "visibility")?)?,
        by: rows::column::<String>(row, "given_by")?.into(),
        given: rows::to_timestamp(rows::column(row, "given_ms")?)?,
        ended: ended.map(rows::to_timestamp).transpose()?,
        is_draft: rows::column::<i64>(row, "is_draft")? != 0,
    })
}
