//! Erases messages past their retention; see [`crate::expiry`]. Memories and memos stay: they are what is left
//! of old messages.

use aizuchi_model::chat::WorkspaceId;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::StoreError;
use crate::database::connection::{Connection, Query, Row, query};
use crate::database::sql::{consents as consents_sql, expiry as sql, forget as forget_sql};
use crate::database::{Counters, rows};
use crate::expiry::{self, ExpiredMessages, Expiry, ExpiryProgress};

/// Whether anything older than this time is left.
pub async fn has_expired(
    connection: &mut Connection,
    before: Timestamp,
) -> Result<bool, StoreError> {
    let row = query(sql::HAS_EXPIRED).bind(before.as_millisecond()).fetch_one(connection).await?;
    rows::column(&row, "has_expired")
}

/// Erases the next page. For the oldest messages: first their prompts, then the reasons of decisions about them,
/// finally the messages. After these, the reasons of old decisions without messages.
pub async fn expire_next(
    connection: &mut Connection,
    counters: &mut Counters,
    expiry: Expiry,
) -> Result<ExpiryProgress, StoreError> {
    let messages = Messages::read(connection, expiry.before).await?;
    if messages.0.is_empty() {
        return expire_old_decisions(connection, counters, expiry).await;
    }
    let listed = messages.listed();
    let prompts = query(sql::PROMPTS_OF_EXPIRED).bind(&listed).bind(expiry::PROMPTS as i64);
    let prompts = ids(connection, prompts, "attempt").await?;
    if !prompts.is_empty() {
        let empty = query(sql::EMPTY_PROMPTS).bind(json!(prompts).to_string());
        empty.execute(&mut *connection).await?;
        mark_scrub_due(connection, expiry.now).await?;
        return Ok(ExpiryProgress::Working(ExpiredMessages::default()));
    }
    let closed = query(sql::CLOSED_DECISIONS_ON_EXPIRED);
    let closed = closed.bind(&listed).bind(expiry::DECISIONS as i64);
    let closed = ids(connection, closed, "id").await?;
    if !closed.is_empty() {
        expire_decisions(connection, counters, &closed, expiry.now).await?;
        return Ok(ExpiryProgress::Working(ExpiredMessages::default()));
    }
    messages.expire(connection, counters, expiry.now).await
}

/// Messages that have expired.
struct Messages(Vec<(WorkspaceId, String, String)>);

impl Messages {
    async fn read(connection: &mut Connection, before: Timestamp) -> Result<Self, StoreError> {
        let page = query(sql::EXPIRED_MESSAGES).bind(before.as_millisecond());
        let page = page.bind(expiry::MESSAGES as i64).fetch_all(connection).await?;
        let read = |row: &Row| {
            let workspace = WorkspaceId::new(rows::column::<String>(row, "workspace")?);
            let message = (workspace, rows::column(row, "channel")?, rows::column(row, "id")?);
            let text: String = rows::column(row, "text")?;
            let upload_bytes = rows::to_unsigned(rows::column(row, "upload_bytes")?)?;
            Ok((message, expiry::length(&text, upload_bytes)))
        };
        let mut read = page.iter().map(read).collect::<Result<Vec<_>, StoreError>>()?;
        if !read.is_empty() {
            read.truncate(expiry::count_at_once(read.iter().map(|(_, length)| *length)));
        }
        Ok(Self(read.into_iter().map(|(message, _)| message).collect()))
    }

    fn listed(&self) -> String {
        json!(self.0).to_string()
    }

    /// Erases the messages, with any pending work about them.
    async fn expire(
        self,
        connection: &mut Connection,
        counters: &mut Counters,
        now: Timestamp,
    ) -> Result<ExpiryProgress, StoreError> {
        let listed = self.listed();
        let revised = self.0.iter().map(|(workspace, channel, id)| {
            counters.revision += 1;
            json!([workspace, channel, id, counters.revision])
        });
        let revised = revised.collect::<Value>().to_string();
        let open = query(sql::OPEN_DECISIONS_ON_EXPIRED).bind(&listed);
        let open = ids(connection, open, "id").await?;
        if !open.is_empty() {
            let open = json!(open).to_string();
            expire_reasons(connection, counters, &open).await?;
            query(sql::EXPIRE_DRAFTS).bind(open).execute(&mut *connection).await?;
        }
        for (statement, list) in
            [(sql::CLOSE_EXPIRED_OWED, listed), (sql::EXPIRE_MESSAGES, revised)]
        {
            let statement = query(statement).bind(list).bind(now.as_millisecond());
            statement.execute(&mut *connection).await?;
        }
        mark_scrub_due(connection, now).await?;
        let count = self.0.len();
        let mut workspaces: Vec<_> = self.0.into_iter().map(|(workspace, ..)| workspace).collect();
        workspaces.sort();
        workspaces.dedup();
        Ok(ExpiryProgress::Working(ExpiredMessages { count, workspaces }))
    }
}

async fn expire_old_decisions(
    connection: &mut Connection,
    counters: &mut Counters,
    expiry: Expiry,
) -> Result<ExpiryProgress, StoreError> {
    let old = query(sql::EXPIRED_DECISIONS).bind(expiry.before.as_millisecond());
    let old = ids(connection, old.bind(expiry::DECISIONS as i64), "id").await?;
    if old.is_empty() {
        return Ok(ExpiryProgress::Idle);
    }
    expire_decisions(connection, counters, &old, expiry.now).await?;
    Ok(ExpiryProgress::Working(ExpiredMessages::default()))
}

/// Erases the reasons of closed decisions, and their drafts.
async fn expire_decisions(
    connection: &mut Connection,
    counters: &mut Counters,
    decisions: &[i64],
    now: Timestamp,
) -> Result<(), StoreError> {
    counters.revision += 1;
    let list = json!(decisions).to_string();
    expire_reasons(connection, counters, &list).await?;
    let statements = [sql::EXPIRE_DEAD_LETTERS, sql::EXPIRE_OUTBOX, consents_sql::ERASE_CONSENTS];
    for statement in statements {
        query(statement).bind(&list).execute(&mut *connection).await?;
    }
    mark_scrub_due(connection, now).await
}

async fn expire_reasons(
    connection: &mut Connection,
    counters: &Counters,
    decisions: &str,
) -> Result<(), StoreError> {
    let reasons = query(sql::EXPIRE_REASONS).bind(decisions).bind(counters.revision as i64);
    reasons.execute(&mut *connection).await?;
    query(forget_sql::ERASE_VERDICTS).bind(decisions).execute(connection).await?;
    Ok(())
}

async fn mark_scrub_due(connection: &mut Connection, now: Timestamp) -> Result<(), StoreError> {
    let mark = query(sql::MARK_SCRUB_DUE_ONCE).bind(now.as_millisecond());
    mark.execute(connection).await?;
    Ok(())
}

async fn ids(
    connection: &mut Connection,
    statement: Query,
    column: &str,
) -> Result<Vec<i64>, StoreError> {
    let found = statement.fetch_all(connection).await?;
    found.iter().map(|row| rows::column(row, column)).collect()
}
