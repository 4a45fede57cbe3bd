//! Counts the web lookups of replies. The writer applies one call at a time, so concurrent calls count each other.

use aizuchi_model::flow::web_call::{WebCall, WebCallUsage, WebLimit, counted_since};
use jiff::Timestamp;

use crate::StoreError;
use crate::database::connection::{Connection, query};
use crate::database::forget::user_hash::is_forgotten_since;
use crate::database::rows;
use crate::database::sql::web_calls as sql;

/// Counts a call, or returns the limit that forbids it.
pub async fn count(
    connection: &mut Connection,
    call: &WebCall,
    now: Timestamp,
) -> Result<Option<WebLimit>, StoreError> {
    let limit = call.reached_limit(&read_usage(connection, call, now).await?);
    if limit.is_some() {
        return Ok(limit);
    }
    drop_old(connection, now).await?;
    let user = counted_user(connection, call).await?;
    let put = query(sql::PUT_WEB_CALL)
        .bind(decision_number(call))
        .bind(now.as_millisecond())
        .bind(call.workspace.as_str())
        .bind(user);
    put.execute(connection).await?;
    Ok(None)
}

/// The user that a call counts for: none if they were forgotten while the answer was being made.
async fn counted_user<'a>(
    connection: &mut Connection,
    call: &'a WebCall,
) -> Result<&'a str, StoreError> {
    let Some(user) = &call.user else { return Ok("") };
    let is_forgotten = is_forgotten_since(connection, &call.workspace, user, call.began).await?;
    Ok(if is_forgotten { "" } else { user.as_str() })
}

async fn read_usage(
    connection: &mut Connection,
    call: &WebCall,
    now: Timestamp,
) -> Result<WebCallUsage, StoreError> {
    let usage = query(sql::WEB_CALL_USAGE)
        .bind(decision_number(call))
        .bind(counted_since(now).as_millisecond())
        .bind(call.workspace.as_str())
        .bind(call.user_name());
    let row = usage.fetch_one(connection).await?;
    let number = |name: &str| rows::column::<i64>(&row, name).map(i64::unsigned_abs);
    Ok(WebCallUsage {
        in_answer: number("in_answer")?,
        by_user: number("by_user")?,
        in_day: number("in_day")?,
    })
}

/// Drops calls that no longer count.
pub async fn drop_old(connection: &mut Connection, now: Timestamp) -> Result<(), StoreError> {
    let before = counted_since(now).as_millisecond();
    query(sql::DROP_OLD_WEB_CALLS).bind(before).execute(connection).await?;
    Ok(())
}

fn decision_number(call: &WebCall) -> i64 {
    call.decision.map_or(0, |decision| decision.0)
}
