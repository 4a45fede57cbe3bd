//! What people order, and what holds because of it.

use jiff::Timestamp;
use sqlx::query;
use sqlx::sqlite::{SqliteConnection, SqlitePool};

use crate::chat::{ChannelId, MessageId, UserId, WorkspaceId};
use crate::memory::{Entry, LineId, MemoryKey, NewMemory};
use crate::rules::Mode;
use crate::store::sqlite::{Counters, memory, memos, rows, sql, stored};
use crate::store::{Order, Orders, StoreError};

pub async fn write(
    connection: &mut SqliteConnection,
    counters: &mut Counters,
    order: &Order,
    now: Timestamp,
) -> Result<(), StoreError> {
    match order {
        Order::Remember { key, entries, newest } => {
            return remember(connection, counters, key, entries, *newest, now).await;
        }
        Order::Note { workspace, memo } => {
            return memos::bring(connection, counters, workspace, memo).await;
        }
        Order::Mute { .. }
        | Order::Unmute { .. }
        | Order::Mode { .. }
        | Order::OptOut { .. }
        | Order::OptIn { .. }
        | Order::Withhold { .. } => counters.revision += 1,
    }
    if let Order::OptOut { workspace, user } | Order::Withhold { workspace, user } = order {
        withhold(connection, counters, workspace, user, now).await?;
    }
    let workspace = order.workspace().as_str();
    let everywhere = |channel: &Option<ChannelId>| {
        channel.as_ref().map_or(String::new(), |channel| channel.to_string())
    };
    let query = match order {
        Order::Mute { channel, until, .. } => {
            query(sql::MUTE).bind(workspace).bind(everywhere(channel)).bind(until.as_millisecond())
        }
        Order::Unmute { channel, .. } => {
            query(sql::UNMUTE).bind(workspace).bind(everywhere(channel))
        }
        Order::Mode { channel, mode: Some(mode), .. } => {
            query(sql::PUT_MODE).bind(workspace).bind(channel.as_str()).bind(mode.name())
        }
        Order::Mode { channel, mode: None, .. } => {
            query(sql::DROP_MODE).bind(workspace).bind(channel.as_str())
        }
        Order::OptOut { user, .. } => query(sql::OPT_OUT).bind(workspace).bind(user.as_str()),
        Order::OptIn { user, .. } => query(sql::OPT_IN).bind(workspace).bind(user.as_str()),
        Order::Withhold { .. } | Order::Remember { .. } | Order::Note { .. } => return Ok(()),
    };
    query.execute(connection).await.map_err(stored)?;
    Ok(())
}

/// What was remembered elsewhere is remembered here, if nothing is yet.
async fn remember(
    connection: &mut SqliteConnection,
    counters: &mut Counters,
    key: &MemoryKey,
    entries: &[Entry],
    newest: Timestamp,
    now: Timestamp,
) -> Result<(), StoreError> {
    if memory::made(connection, key).await?.is_some() {
        return Ok(());
    }
    counters.revision += 1;
    let considered = counters.revision;
    let new = NewMemory { entries: entries.to_vec(), newest, considered, merged: Vec::new() };
    // It is the only version.
    memory::keep(connection, counters, key, new, now, 1).await.map(|_| ())
}

/// What somebody has said is not to be listened to any more.
async fn withhold(
    connection: &mut SqliteConnection,
    counters: &mut Counters,
    workspace: &WorkspaceId,
    user: &UserId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let known = query(sql::REMEMBERED_OF).bind(workspace.as_str()).bind(user.as_str());
    for row in known.fetch_all(&mut *connection).await.map_err(stored)? {
        let channel = ChannelId::new(rows::column::<String>(&row, "channel")?);
        let line = LineId(channel, MessageId::new(rows::column::<String>(&row, "id")?));
        let said = rows::time(rows::column(&row, "at_ms")?)?;
        memory::forget(connection, counters, workspace, &line, said, now).await?;
    }
    let hide = query(sql::WITHHOLD)
        .bind(workspace.as_str())
        .bind(user.as_str())
        .bind(counters.revision as i64);
    let hidden = hide.execute(&mut *connection).await.map_err(stored)?;
    counters.revision += hidden.rows_affected();
    let settle = query(sql::SETTLE_OWED_OF)
        .bind(workspace.as_str())
        .bind(user.as_str())
        .bind(now.as_millisecond());
    settle.execute(connection).await.map_err(stored)?;
    Ok(())
}

pub async fn read(readers: &SqlitePool, workspace: &WorkspaceId) -> Result<Orders, StoreError> {
    let rows = query(sql::ORDERS).bind(workspace.as_str());
    let mut orders = Orders::default();
    for row in rows.fetch_all(readers).await.map_err(stored)? {
        let kind: String = rows::column(&row, "kind")?;
        let whom: String = rows::column(&row, "whom")?;
        match kind.as_str() {
            "mute" => {
                let until = rows::end(rows::column(&row, "until_ms")?)?;
                match whom.is_empty() {
                    true => orders.muted_until = Some(until),
                    false => orders.muted.push((ChannelId::new(whom), until)),
                }
            }
            "mode" => {
                let mode: Mode = rows::named(&rows::column::<String>(&row, "mode")?)?;
                orders.modes.push((ChannelId::new(whom), mode));
            }
            _ => orders.opted_out.push(UserId::new(whom)),
        }
    }
    Ok(orders)
}
