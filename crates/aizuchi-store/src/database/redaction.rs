//! Withholds the messages of opted-out users and of conversations that were reset. The newest messages are withheld
//! with the order, the others page by page, so that hearing is not blocked. In the same way, prompts are erased that
//! held a standing order of a user who opted out or was forgotten.

use std::collections::BTreeSet;

use aizuchi_model::chat::{ChannelId, ConversationId, MessageId, UserId, WorkspaceId};
use aizuchi_model::memory::MessageRef;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::StoreError;
use crate::database::connection::{Connection, Query, Row, query};
use crate::database::sql::redaction as sql;
use crate::database::{Counters, forget, memory, rows, sql as flow_sql};

/// How many messages are withheld with the order, and then in each transaction: the links of each are removed with it.
const PAGE_AT_ONCE: usize = 50;
const PAGE: usize = 25;
/// How many prompts are erased in each transaction: each can be tens of kilobytes long.
const PROMPTS: i64 = 10;
/// How many messages are read to fill a page, since some may be withheld already.
const CANDIDATES: i64 = 500;

/// The scope of a redaction: a user, or else a conversation.
struct RedactionTask {
    workspace: String,
    user: String,
    channel: String,
    thread: String,
    position: RedactionPosition,
}

/// The position of a redaction: messages before it are still to be withheld, newest first. It is a revision, or a time
/// and an id.
struct RedactionPosition {
    before: i64,
    before_id: String,
}

/// The result of one page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RedactionProgress {
    /// There is nothing to withhold.
    Idle,
    Working,
    /// A redaction is complete.
    Done(WorkspaceId),
}

/// Starts to withhold what a user has written so far.
pub async fn begin_for_user(
    connection: &mut Connection,
    counters: &mut Counters,
    workspace: &WorkspaceId,
    user: &UserId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let position = RedactionPosition { before: counters.revision as i64, before_id: String::new() };
    let redaction = RedactionTask {
        workspace: workspace.to_string(),
        user: user.to_string(),
        channel: String::new(),
        thread: String::new(),
        position,
    };
    begin(connection, counters, redaction, Vec::new(), now).await
}

/// Starts to withhold the messages of a conversation up to a time, and the parent message of a thread.
pub async fn begin_for_conversation(
    connection: &mut Connection,
    counters: &mut Counters,
    conversation: &ConversationId,
    until: Timestamp,
    now: Timestamp,
) -> Result<(), StoreError> {
    let workspace = &conversation.workspace;
    let parent = query(sql::PARENT_MESSAGE)
        .bind(workspace.as_str())
        .bind(conversation.channel.as_str())
        .bind(rows::thread_column(conversation))
        .bind(until.as_millisecond());
    let parent = parent.fetch_all(&mut *connection).await?;
    // The position is exclusive, and messages at `until` are withheld, too.
    let before = until.as_millisecond().saturating_add(1);
    let redaction = RedactionTask {
        workspace: workspace.to_string(),
        user: String::new(),
        channel: conversation.channel.to_string(),
        thread: rows::thread_column(conversation).to_owned(),
        position: RedactionPosition { before, before_id: String::new() },
    };
    begin(connection, counters, redaction, parent, now).await
}

/// Withholds these messages and the first page.
async fn begin(
    connection: &mut Connection,
    counters: &mut Counters,
    mut redaction: RedactionTask,
    also: Vec<Row>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (page, next) = redaction.page(connection, PAGE_AT_ONCE).await?;
    let page: Vec<Row> = also.into_iter().chain(page).collect();
    withhold(connection, counters, &redaction.workspace_id(), &page, now).await?;
    let Some(next) = next else { return Ok(()) };
    redaction.position = next;
    redaction.bind_position(sql::PUT_REDACTION).execute(connection).await?;
    Ok(())
}

/// Whether anything is still to be withheld.
pub async fn is_pending(connection: &mut Connection) -> Result<bool, StoreError> {
    for statement in [sql::NEXT_REDACTION, flow_sql::orders::HAS_WITHDRAWN_STANDING_ORDERS] {
        if query(statement).fetch_optional(&mut *connection).await?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Erases the next prompts that held an order of a user who was forgotten or opted out, or the remaining rows of these
/// orders. Returns whether there was anything to erase.
async fn erase_next_prompts(
    connection: &mut Connection,
    counters: &mut Counters,
) -> Result<bool, StoreError> {
    let withdrawn = query(flow_sql::orders::HAS_WITHDRAWN_STANDING_ORDERS)
        .fetch_optional(&mut *connection)
        .await?;
    if withdrawn.is_none() {
        return Ok(false);
    }
    let prompts = query(flow_sql::orders::PROMPTS_OF_WITHDRAWN_STANDING_ORDERS).bind(PROMPTS);
    let prompts = prompts.fetch_all(&mut *connection).await?;
    let prompts = prompts.iter().map(|row| rows::column(row, "attempt"));
    let prompts = prompts.collect::<Result<BTreeSet<i64>, _>>()?;
    if prompts.is_empty() {
        query(flow_sql::orders::DROP_WITHDRAWN_STANDING_ORDERS).execute(connection).await?;
    } else {
        let prompts: Vec<i64> = prompts.into_iter().collect();
        forget::write::drop_prompts(connection, counters, &prompts).await?;
    }
    Ok(true)
}

/// Withholds the next page.
pub async fn continue_next(
    connection: &mut Connection,
    counters: &mut Counters,
    now: Timestamp,
) -> Result<RedactionProgress, StoreError> {
    if erase_next_prompts(connection, counters).await? {
        return Ok(RedactionProgress::Working);
    }
    let next = query(sql::NEXT_REDACTION).fetch_optional(&mut *connection).await?;
    let Some(row) = next else { return Ok(RedactionProgress::Idle) };
    let mut redaction = RedactionTask::from_row(&row)?;
    let (page, next) = redaction.page(connection, PAGE).await?;
    withhold(connection, counters, &redaction.workspace_id(), &page, now).await?;
    match next {
        Some(next) => {
            redaction.position = next;
            redaction.bind_position(sql::MOVE_REDACTION).execute(connection).await?;
            Ok(RedactionProgress::Working)
        }
        None => {
            redaction.bind_key(sql::DROP_REDACTION).execute(connection).await?;
            Ok(RedactionProgress::Done(redaction.workspace_id()))
        }
    }
}

/// Withholds these messages and forgets the memories and memos made from them.
async fn withhold(
    connection: &mut Connection,
    counters: &mut Counters,
    workspace: &WorkspaceId,
    page: &[Row],
    now: Timestamp,
) -> Result<(), StoreError> {
    if page.is_empty() {
        return Ok(());
    }
    let mut messages = Vec::with_capacity(page.len());
    for row in page {
        let channel = ChannelId::new(rows::column::<String>(row, "channel")?);
        let message = MessageRef(channel, MessageId::new(rows::column::<String>(row, "id")?));
        messages.push((message, rows::to_timestamp(rows::column(row, "at_ms")?)?));
    }
    // Readers that page through revisions get the oldest message first.
    messages.sort_by(|(one, one_at), (other, other_at)| (one_at, one).cmp(&(other_at, other)));
    let revised = messages.iter().map(|(MessageRef(channel, id), _)| {
        counters.revision += 1;
        json!([channel, id, counters.revision])
    });
    let revised = revised.collect::<Value>().to_string();
    // Must come after the loop: erasing reasons that depend on a memory needs a revision that no reader has seen yet.
    memory::forget_messages(connection, counters, workspace, &messages, now).await?;
    let withhold = query(sql::WITHHOLD_MESSAGES).bind(workspace.as_str()).bind(revised);
    withhold.execute(connection).await?;
    Ok(())
}

impl RedactionTask {
    fn from_row(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            workspace: rows::column(row, "workspace")?,
            user: rows::column(row, "user_id")?,
            channel: rows::column(row, "channel")?,
            thread: rows::column(row, "thread")?,
            position: RedactionPosition::from_row(row)?,
        })
    }

    fn workspace_id(&self) -> WorkspaceId {
        WorkspaceId::new(self.workspace.clone())
    }

    /// The newest messages before the position that are not withheld, and the next position, or `None` at the end.
    async fn page(
        &self,
        connection: &mut Connection,
        limit: usize,
    ) -> Result<(Vec<Row>, Option<RedactionPosition>), StoreError> {
        let candidates = self.candidates(connection).await?;
        let is_full = candidates.len() as i64 == CANDIDATES;
        let mut page = Vec::with_capacity(limit);
        let mut oldest = None;
        for row in candidates {
            oldest = Some(RedactionPosition::from_row(&row)?);
            if rows::column::<i64>(&row, "withheld")? == 0 {
                page.push(row);
            }
            if page.len() == limit {
                break;
            }
        }
        let has_more = is_full || page.len() == limit;
        Ok((page, oldest.filter(|_| has_more)))
    }

    async fn candidates(&self, connection: &mut Connection) -> Result<Vec<Row>, StoreError> {
        let RedactionPosition { before, before_id } = &self.position;
        let candidates = if self.user.is_empty() {
            let candidates = query(sql::MESSAGES_IN_CONVERSATION).bind(&*self.workspace);
            let candidates = candidates.bind(&*self.channel).bind(&*self.thread);
            candidates.bind(*before).bind(&**before_id)
        } else {
            query(sql::MESSAGES_OF_USER).bind(&*self.workspace).bind(&*self.user).bind(*before)
        };
        candidates.bind(CANDIDATES).fetch_all(connection).await
    }

    fn bind_key(&self, statement: &'static str) -> Query {
        let key = query(statement).bind(&*self.workspace).bind(&*self.user);
        key.bind(&*self.channel).bind(&*self.thread)
    }

    fn bind_position(&self, statement: &'static str) -> Query {
        self.bind_key(statement).bind(self.position.before).bind(&*self.position.before_id)
    }
}

impl RedactionPosition {
    fn from_row(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            before: rows::column(row, "before")?,
            before_id: rows::column(row, "before_id")?,
        })
    }
}
