//! What people order, and what holds because of it.

use jiff::Timestamp;

use crate::chat::{ChannelId, ConversationId, MessageId, UserId, WorkspaceId};
use crate::memory::{Entry, LineId, MemoryKey, NewMemory};
use crate::rules::Mode;
use crate::store::database::connection::{Connection, Readers, Row, query};
use crate::store::database::hear::hear_user;
use crate::store::database::{Counters, forget, memory, memos, rows, sql};
use crate::store::{Mute, Order, Orders, StoreError};

pub async fn write(
    connection: &mut Connection,
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
        Order::Forget { workspace, user } => {
            return forget_words(connection, counters, workspace, user, now).await;
        }
        Order::Mute { .. }
        | Order::Unmute { .. }
        | Order::Mode { .. }
        | Order::OptOut { .. }
        | Order::OptIn { .. }
        | Order::Withhold { .. }
        | Order::Reset { .. } => counters.revision += 1,
    }
    if let Order::OptOut { workspace, user } | Order::Withhold { workspace, user } = order {
        withhold(connection, counters, workspace, user, now).await?;
    }
    if let Order::Reset { conversation, until } = order {
        reset(connection, counters, conversation, *until, now).await?;
    }
    let workspace = order.workspace().as_str();
    let everywhere = |channel: &Option<ChannelId>| {
        channel.as_ref().map_or(String::new(), |channel| channel.to_string())
    };
    let query = match order {
        Order::Mute { channel, until, by, .. } => query(sql::MUTE)
            .bind(workspace)
            .bind(everywhere(channel))
            .bind(until.as_millisecond())
            .bind(by.name()),
        Order::Unmute { channel, by, .. } => {
            query(sql::UNMUTE).bind(workspace).bind(everywhere(channel)).bind(by.name())
        }
        Order::Mode { channel, mode: Some(mode), .. } => {
            query(sql::PUT_MODE).bind(workspace).bind(channel.as_str()).bind(mode.name())
        }
        Order::Mode { channel, mode: None, .. } => {
            query(sql::DROP_MODE).bind(workspace).bind(channel.as_str())
        }
        Order::OptOut { user, .. } => query(sql::OPT_OUT).bind(workspace).bind(user.as_str()),
        Order::OptIn { user, .. } => query(sql::OPT_IN).bind(workspace).bind(user.as_str()),
        Order::Withhold { .. }
        | Order::Reset { .. }
        | Order::Forget { .. }
        | Order::Remember { .. }
        | Order::Note { .. } => return Ok(()),
    };
    query.execute(connection).await?;
    Ok(())
}

/// Whoever is still there keeps the name that they are called by.
async fn forget_words(
    connection: &mut Connection,
    counters: &mut Counters,
    workspace: &WorkspaceId,
    user: &UserId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let found = forget::find(connection, user.as_str()).await?;
    let found = found.into_iter().find(|found| found.workspace == *workspace && found.id == *user);
    if let Some(user) = found {
        forget::forget(connection, counters, &user, now).await?;
        hear_user(connection, counters, &user).await?;
    }
    Ok(())
}

/// What was remembered elsewhere is remembered here, if nothing is yet.
async fn remember(
    connection: &mut Connection,
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
    connection: &mut Connection,
    counters: &mut Counters,
    workspace: &WorkspaceId,
    user: &UserId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let known = query(sql::REMEMBERED_OF).bind(workspace.as_str()).bind(user.as_str());
    let known = known.fetch_all(&mut *connection).await?;
    forget_remembered(connection, counters, workspace, &known, now).await?;
    let hide = query(sql::WITHHOLD)
        .bind(workspace.as_str())
        .bind(user.as_str())
        .bind(counters.revision as i64);
    let hidden = hide.execute(&mut *connection).await?;
    counters.revision += hidden;
    let settle = query(sql::SETTLE_OWED_OF)
        .bind(workspace.as_str())
        .bind(user.as_str())
        .bind(now.as_millisecond());
    settle.execute(connection).await?;
    Ok(())
}

/// What was said in a conversation is not to be listened to any more.
async fn reset(
    connection: &mut Connection,
    counters: &mut Counters,
    conversation: &ConversationId,
    until: Timestamp,
    now: Timestamp,
) -> Result<(), StoreError> {
    let in_conversation = |statement| {
        query(statement)
            .bind(conversation.workspace.as_str())
            .bind(conversation.channel.as_str())
            .bind(rows::thread(conversation))
            .bind(until.as_millisecond())
    };
    in_conversation(sql::PUT_RESET).execute(&mut *connection).await?;
    let known = in_conversation(sql::REMEMBERED_IN);
    let known = known.fetch_all(&mut *connection).await?;
    forget_remembered(connection, counters, &conversation.workspace, &known, now).await?;
    let hide = in_conversation(sql::WITHHOLD_IN).bind(counters.revision as i64);
    let hidden = hide.execute(&mut *connection).await?;
    counters.revision += hidden;
    let settle = in_conversation(sql::SETTLE_OWED_IN).bind(now.as_millisecond());
    settle.execute(connection).await?;
    Ok(())
}

/// Lines are behind no memory and no memo any more.
async fn forget_remembered(
    connection: &mut Connection,
    counters: &mut Counters,
    workspace: &WorkspaceId,
    lines: &[Row],
    now: Timestamp,
) -> Result<(), StoreError> {
    for row in lines {
        let channel = ChannelId::new(rows::column::<String>(row, "channel")?);
        let line = LineId(channel, MessageId::new(rows::column::<String>(row, "id")?));
        let said = rows::time(rows::column(row, "at_ms")?)?;
        memory::forget(connection, counters, workspace, &line, said, now).await?;
    }
    Ok(())
}

pub async fn read(readers: &Readers, workspace: &WorkspaceId) -> Result<Orders, StoreError> {
    let rows = query(sql::ORDERS).bind(workspace.as_str());
    let mut orders = Orders::default();
    for row in rows.fetch_all(readers).await? {
        let kind: String = rows::column(&row, "kind")?;
        let whom: String = rows::column(&row, "whom")?;
        match kind.as_str() {
            "mute" => {
                let until = rows::end(rows::column(&row, "until_ms")?)?;
                let by = rows::named(&rows::column::<String>(&row, "role")?)?;
                let mute = Mute { until, by };
                let channel = (!whom.is_empty()).then(|| ChannelId::new(whom));
                orders.muted.push((channel, mute));
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
