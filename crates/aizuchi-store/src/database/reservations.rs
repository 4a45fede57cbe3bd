//! Reserves the maximum cost of model calls. The writer applies one call at a time, so concurrent calls count each
//! other. Expired entries are dropped by the calls that follow.

use aizuchi_model::chat::{ChannelId, UserId};
use aizuchi_model::flow::planned_call::{
    CallUsage, JUDGE_CALL_WINDOW, PlannedCall, ReservationResult, UnclaimedCall,
};
use jiff::Timestamp;

use crate::StoreError;
use crate::database::connection::{Connection, query};
use crate::database::forget::user_hash::is_forgotten_since;
use crate::database::spending::Expense;
use crate::database::{rows, sql};
use crate::figures::CallKind;

pub async fn reserve(
    connection: &mut Connection,
    call: &PlannedCall,
    now: Timestamp,
) -> Result<ReservationResult, StoreError> {
    let (mut usage, has_lapsed) = read_usage(connection, call, now).await?;
    if has_lapsed {
        // First, so that what dead processes may have spent counts for this call, too.
        book_lapsed(connection, call, now).await?;
        (usage, _) = read_usage(connection, call, now).await?;
    }
    let admission = call.admission(&usage);
    if admission != ReservationResult::Admitted {
        return Ok(admission);
    }
    let reserved = call.reserved();
    let put = query(sql::spending::PUT_RESERVATION)
        .bind(call.owner.token)
        .bind(call.owner.workspace.as_str())
        .bind(call.owner.channel_name())
        .bind(i64::from(call.owner.is_unsolicited))
        .bind(reserved.tokens as i64)
        .bind(reserved.micros as i64)
        .bind(call.until.as_millisecond());
    put.execute(&mut *connection).await?;
    if let Some(author) = call.counted_author() {
        put_judge_call(connection, call, author, now).await?;
    }
    Ok(admission)
}

/// The usage that the limits count, and whether there are lapsed reservations that are not recorded yet.
async fn read_usage(
    connection: &mut Connection,
    call: &PlannedCall,
    now: Timestamp,
) -> Result<(CallUsage, bool), StoreError> {
    let owner = &call.owner;
    let usage = query(sql::spending::CALL_USAGE)
        .bind(owner.workspace.as_str())
        .bind(owner.channel_name())
        .bind(now.as_millisecond())
        .bind(owner.token)
        .bind(owner.decision.map_or(0, |decision| decision.0))
        .bind(owner.sole_author.as_ref().map(UserId::as_str));
    let row = usage.fetch_one(connection).await?;
    let usage = rows::parse_json(&rows::column::<String>(&row, "usage")?)?;
    Ok((usage, rows::column::<i64>(&row, "lapsed")? > 0))
}

/// Records the reservations of processes that died during a call as usage.
async fn book_lapsed(
    connection: &mut Connection,
    call: &PlannedCall,
    now: Timestamp,
) -> Result<(), StoreError> {
    // In this order: the last statement drops the rows that the others read.
    let statements = [
        sql::spending::BOOK_LAPSED_RESERVATIONS,
        sql::spending::PUT_LAPSED_CALLS,
        sql::spending::DROP_LAPSED_RESERVATIONS,
    ];
    for statement in statements {
        let lapsed = query(statement).bind(now.as_millisecond()).bind(call.owner.token);
        lapsed.execute(&mut *connection).await?;
    }
    Ok(())
}

/// Counts a judge call about one user, unless they were forgotten after their messages were read.
async fn put_judge_call(
    connection: &mut Connection,
    call: &PlannedCall,
    author: &UserId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let old = (now - JUDGE_CALL_WINDOW).as_millisecond();
    query(sql::spending::DROP_OLD_JUDGE_CALLS).bind(old).execute(&mut *connection).await?;
    let owner = &call.owner;
    if is_forgotten_since(connection, &owner.workspace, author, owner.began).await? {
        return Ok(());
    }
    let put = query(sql::spending::PUT_JUDGE_CALL)
        .bind(call.owner.workspace.as_str())
        .bind(author.as_str())
        .bind(now.as_millisecond())
        .bind(call.owner.token);
    put.execute(connection).await?;
    Ok(())
}

/// Records the cost of calls without a claim, and releases the reservation for them.
pub async fn book(connection: &mut Connection, call: &UnclaimedCall) -> Result<(), StoreError> {
    if let Some(token) = call.reservation {
        release(&mut *connection, token).await?;
    }
    let channel = call.channel.as_ref().map_or("", ChannelId::as_str);
    let expense = Expense {
        workspace: &call.workspace,
        channel,
        at: call.at,
        cost: call.cost(),
        is_priced: call.price.is_some(),
        is_unsolicited: false,
    };
    expense.add(&mut *connection).await?;
    let put = query(sql::decisions::PUT_UNCLAIMED_CALL)
        .bind(call.workspace.as_str())
        .bind(channel)
        .bind(call.at.as_millisecond())
        .bind(CallKind::Trial.name())
        .bind(&*call.model)
        .bind(call.calls as i64)
        .bind(call.usage.input_tokens as i64)
        .bind(call.usage.cached_tokens as i64)
        .bind(call.usage.output_tokens as i64)
        .bind(i64::from(call.usage.is_estimated))
        .bind(call.price.map(|price| price.micros as i64))
        .bind(call.usage.cache_write_tokens as i64);
    put.execute(connection).await?;
    Ok(())
}

/// Releases the reservation of a claim, since its calls are recorded.
pub async fn release(connection: &mut Connection, token: i64) -> Result<(), StoreError> {
    query(sql::spending::DROP_RESERVATION).bind(token).execute(connection).await?;
    Ok(())
}
