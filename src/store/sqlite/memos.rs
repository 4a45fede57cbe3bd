//! Memos: written with the reply that made them, and forgotten with the line that they were made for.

use jiff::Timestamp;
use serde_json::json;
use sqlx::query;
use sqlx::sqlite::{SqliteConnection, SqlitePool};

use crate::chat::{ChannelId, MessageId, Visibility, WorkspaceId};
use crate::memo::{Memo, MemoChange, Realm, free_name};
use crate::memory::{LineId, MemoryId};
use crate::store::StoreError;
use crate::store::sqlite::sql::memory as sql;
use crate::store::sqlite::{Counters, memory, rows, stored};

/// All that may be seen from a channel.
pub async fn read(
    readers: &SqlitePool,
    workspace: &WorkspaceId,
    channel: &ChannelId,
) -> Result<Vec<Memo>, StoreError> {
    let memos = query(sql::MEMOS).bind(workspace.as_str()).bind(channel.as_str());
    let memos = memos.fetch_all(readers).await.map_err(stored)?;
    memos.iter().map(|row| rows::parsed(&rows::column::<String>(row, "memo")?)).collect()
}

/// Writes what a reply has noted. `lines` are those that it answers.
pub async fn write(
    connection: &mut SqliteConnection,
    counters: &mut Counters,
    workspace: &WorkspaceId,
    changes: &[MemoChange],
    lines: &[MessageId],
) -> Result<(), StoreError> {
    for change in changes {
        match change {
            MemoChange::Remove { realm, name } => {
                let remove = query(sql::REMOVE_MEMO).bind(workspace.as_str());
                let remove = remove.bind(column(realm)).bind(name.as_str());
                remove.execute(&mut *connection).await.map_err(stored)?;
            }
            MemoChange::Put(memo) => put(connection, counters, workspace, memo, lines).await?,
        }
    }
    Ok(())
}

async fn put(
    connection: &mut SqliteConnection,
    counters: &mut Counters,
    workspace: &WorkspaceId,
    memo: &Memo,
    lines: &[MessageId],
) -> Result<(), StoreError> {
    let realm = memo.realm();
    let others = query(sql::OTHER_MEMOS)
        .bind(workspace.as_str())
        .bind(column(&realm))
        .bind(memo.created.as_millisecond());
    let others = others.fetch_all(&mut *connection).await.map_err(stored)?;
    let others = others.iter().map(|row| rows::column::<String>(row, "name"));
    let others: Vec<String> = others.collect::<Result<_, StoreError>>()?;
    let name = free_name(&memo.name, |name| others.iter().any(|other| other == name));
    let memo = Memo { name, ..memo.clone() };
    counters.last_number += 1;
    let put = query(sql::PUT_MEMO)
        .bind(workspace.as_str())
        .bind(column(&realm))
        .bind(&memo.name)
        .bind(counters.last_number)
        .bind(memo.channel.as_str())
        .bind(memo.priority)
        .bind(memo.created.as_millisecond())
        .bind(memo.updated.as_millisecond())
        .bind(json!(memo).to_string())
        .bind(json!(lines).to_string());
    put.execute(connection).await.map_err(stored)?;
    Ok(())
}

/// A line was edited or deleted: memos that were made for it go, and the prompts that held them.
pub async fn forget(
    connection: &mut SqliteConnection,
    counters: &Counters,
    workspace: &WorkspaceId,
    line: &LineId,
) -> Result<(), StoreError> {
    let LineId(channel, id) = line;
    let forget = query(sql::FORGET_MEMOS).bind(workspace.as_str()).bind(channel.as_str());
    let gone = forget.bind(id.as_str()).fetch_all(&mut *connection).await.map_err(stored)?;
    for row in &gone {
        let id = MemoryId(rows::column(row, "id")?);
        memory::forget_prompts(connection, counters, id, Timestamp::UNIX_EPOCH).await?;
    }
    Ok(())
}

/// A public channel is public no more: its memos are its own.
pub async fn withdraw(
    connection: &mut SqliteConnection,
    workspace: &WorkspaceId,
    channel: &ChannelId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let public = query(sql::PUBLIC_MEMOS).bind(workspace.as_str()).bind(channel.as_str());
    let public = public.fetch_all(&mut *connection).await.map_err(stored)?;
    for row in &public {
        let memo: Memo = rows::parsed(&rows::column::<String>(row, "memo")?)?;
        let own = Realm::Channel(channel.clone());
        let taken = query(sql::OTHER_MEMOS).bind(workspace.as_str()).bind(column(&own));
        let taken = taken.bind(memo.created.as_millisecond());
        let taken = taken.fetch_all(&mut *connection).await.map_err(stored)?;
        let taken = taken.iter().map(|row| rows::column::<String>(row, "name"));
        let taken: Vec<String> = taken.collect::<Result<_, StoreError>>()?;
        let name = free_name(&memo.name, |name| taken.iter().any(|other| other == name));
        let moved = Memo { name, visibility: Visibility::Private, updated: now, ..memo.clone() };
        let moving = query(sql::MOVE_MEMO)
            .bind(workspace.as_str())
            .bind(&memo.name)
            .bind(column(&own))
            .bind(&moved.name)
            .bind(json!(moved).to_string());
        moving.execute(&mut *connection).await.map_err(stored)?;
    }
    Ok(())
}

fn column(realm: &Realm) -> &str {
    match realm {
        Realm::Workspace => "",
        Realm::Channel(channel) => channel.as_str(),
    }
}
