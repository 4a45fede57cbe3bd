//! Reserves what model calls may cost. The writer applies one call at a time, so calls that are planned at once count
//! each other.

use jiff::{SignedDuration, Timestamp};

use crate::chat::UserId;
use crate::event::planned_call::{Admission, CallUsage, PlannedCall};
use crate::store::StoreError;
use crate::store::database::connection::{Connection, query};
use crate::store::database::{rows, sql};

pub async fn reserve(
    connection: &mut Connection,
    call: &PlannedCall,
    now: Timestamp,
) -> Result<Admission, StoreError> {
    let channel = call.owner.channel.as_ref().map_or("", |channel| channel.as_str());
    let usage = query(sql::CALL_USAGE)
        .bind(call.owner.workspace.as_str())
        .bind(channel)
        .bind(now.as_millisecond())
        .bind(call.owner.token)
        .bind(call.owner.decision.map_or(0, |decision| decision.0))
        .bind(call.owner.sole_author.as_ref().map(UserId::as_str));
    let usage = usage.fetch_one(&mut *connection).await?;
    let usage: CallUsage = rows::parse_json(&rows::column::<String>(&usage, "usage")?)?;
    let admission = call.admission(&usage);
    if admission != Admission::Admitted {
        return Ok(admission);
    }
    let reserved = call.reserved();
    let put = query(sql::PUT_RESERVATION)
        .bind(call.owner.token)
        .bind(call.owner.workspace.as_str())
        .bind(channel)
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

/// Counts a judge call about one user. Older ones of that user count no more.
async fn put_judge_call(
    connection: &mut Connection,
    call: &PlannedCall,
    author: &UserId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let hour_ago = now - SignedDuration::from_hours(1);
    let drop_old = query(sql::DROP_OLD_JUDGE_CALLS)
        .bind(call.owner.workspace.as_str())
        .bind(author.as_str())
        .bind(hour_ago.as_millisecond());
    drop_old.execute(&mut *connection).await?;
    let put = query(sql::PUT_JUDGE_CALL)
        .bind(call.owner.workspace.as_str())
        .bind(author.as_str())
        .bind(now.as_millisecond())
        .bind(call.owner.token);
    put.execute(connection).await?;
    Ok(())
}

/// Gives back what a claim has reserved: its calls are booked.
pub async fn release(connection: &mut Connection, token: i64) -> Result<(), StoreError> {
    query(sql::DROP_RESERVATION).bind(token).execute(connection).await?;
    Ok(())
}
