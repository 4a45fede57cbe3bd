//! Finds data that lineage traces to a user's messages: memories, memos, prompts, reasons, drafts and answers.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use aizuchi_model::chat::{ChannelId, MessageId};
use aizuchi_model::flow::outbox::DraftMetadata;
use aizuchi_model::memory::{MemoryId, MemoryKey, MessageRef};
use jiff::Timestamp;
use serde_json::json;

use crate::StoreError;
use crate::database::connection::{Connection, Row, query};
use crate::database::forget::page::ErasurePage;
use crate::database::forget::write::{EntriesToDrop, Erasure};
use crate::database::forget::{Forgetting, message_ref};
use crate::database::sql::{forget as sql, memory as memory_sql};
use crate::database::{memory_rows, rows};

/// How many messages are looked up at once.
const MESSAGES: i64 = 200;
/// The maximum number of messages hidden in one write: the links of each are removed with it.
const HIDDEN: i64 = 25;
/// The maximum number of prompts dropped in one write: each can be tens of kilobytes long.
const PROMPTS: usize = 10;
/// The maximum number of rows changed in any other write.
const ROWS: usize = 50;
/// How many outbox items are read at once, each with its lineage.
const OUTBOX_ITEMS: i64 = 100;

/// Finds the newest messages that are not hidden yet.
pub async fn messages_to_hide(
    connection: &mut Connection,
    forgetting: &Forgetting,
) -> Result<ErasurePage, StoreError> {
    let page = query(sql::MESSAGES_BEFORE)
        .bind(forgetting.workspace.as_str())
        .bind(forgetting.user.as_str())
        .bind(forgetting.position.after)
        .bind(HIDDEN);
    let page = page.fetch_all(connection).await?;
    let Some(oldest) = page.last() else { return Ok(ErasurePage::end_of(forgetting)) };
    // The bound of the statement is inclusive.
    let next = forgetting.position.at(rows::column::<i64>(oldest, "heard")? - 1);
    let messages = page.iter().map(message_ref).collect::<Result<_, _>>()?;
    Ok(ErasurePage { erasures: vec![Erasure::HideMessages(messages)], next: Some(next) })
}

/// The next messages of the user, oldest first.
async fn messages_after(
    connection: &mut Connection,
    forgetting: &Forgetting,
    limit: i64,
) -> Result<Vec<Row>, StoreError> {
    let page = query(sql::MESSAGES_AFTER)
        .bind(forgetting.workspace.as_str())
        .bind(forgetting.user.as_str())
        .bind(forgetting.position.after)
        .bind(forgetting.until)
        .bind(limit);
    page.fetch_all(connection).await
}

fn after(forgetting: &Forgetting, page: &[Row]) -> Result<ErasurePage, StoreError> {
    let Some(newest) = page.last() else { return Ok(ErasurePage::end_of(forgetting)) };
    let next = forgetting.position.at(rows::column(newest, "heard")?);
    Ok(ErasurePage { erasures: Vec::new(), next: Some(next) })
}

/// Finds the memory entries and memos that were made from the next messages.
pub async fn memories(
    connection: &mut Connection,
    forgetting: &Forgetting,
) -> Result<ErasurePage, StoreError> {
    let messages = messages_after(connection, forgetting, MESSAGES).await?;
    let mut page = after(forgetting, &messages)?;
    let mut times = BTreeMap::new();
    for row in &messages {
        times.insert(message_ref(row)?, rows::to_timestamp(rows::column(row, "at_ms")?)?);
    }
    let workspace = forgetting.workspace.as_str();
    let refs = json!(times.keys().collect::<Vec<_>>()).to_string();
    let memories = query(sql::SOURCES_AMONG).bind(workspace).bind(&refs);
    let mut by_key: Vec<(MemoryKey, HashSet<MessageRef>)> = Vec::new();
    let mut sources = BTreeSet::new();
    for row in memories.fetch_all(&mut *connection).await? {
        let key = memory_rows::key_from_row(&row)?;
        let source = source_ref(&row)?;
        sources.insert(source.clone());
        match by_key.last_mut().filter(|(last, _)| *last == key) {
            Some((_, messages)) => drop(messages.insert(source)),
            None => by_key.push((key, HashSet::from([source]))),
        }
    }
    for (key, messages) in by_key {
        let since = messages.iter().filter_map(|message| times.get(message)).min();
        let since = since.copied().unwrap_or(Timestamp::UNIX_EPOCH);
        let entries = EntriesToDrop { key, messages, texts: HashSet::new(), since };
        page.erasures.push(Erasure::DropEntries(entries));
    }
    let memos = query(memory_sql::MEMOS_OF_MESSAGES).bind(workspace).bind(refs);
    let memos = ids(&memos.fetch_all(connection).await?, "id")?;
    let memos: Vec<MemoryId> = memos.into_iter().map(MemoryId).collect();
    page.push_chunks(memos, ROWS, Erasure::DropMemos);
    page.push_chunks(sources.into_iter().collect(), ROWS, Erasure::DropSources);
    Ok(page)
}

fn source_ref(row: &Row) -> Result<MessageRef, StoreError> {
    let channel: String = rows::column(row, "line_channel")?;
    let id: String = rows::column(row, "line")?;
    Ok(MessageRef(ChannelId::new(channel), MessageId::new(id)))
}

fn ids(found: &[Row], column: &str) -> Result<Vec<i64>, StoreError> {
    found.iter().map(|row| rows::column(row, column)).collect()
}

/// Finds the prompts that held one of the next messages.
pub async fn prompts(
    connection: &mut Connection,
    forgetting: &Forgetting,
) -> Result<ErasurePage, StoreError> {
    let messages = messages_after(connection, forgetting, MESSAGES).await?;
    let mut page = after(forgetting, &messages)?;
    let refs = messages.iter().map(message_ref).collect::<Result<Vec<_>, _>>()?;
    let attempts = query(sql::PROMPTS_OF_MESSAGES)
        .bind(forgetting.workspace.as_str())
        .bind(json!(refs).to_string());
    let attempts = ids(&attempts.fetch_all(connection).await?, "attempt")?;
    page.push_chunks(attempts, PROMPTS, Erasure::DropPrompts);
    Ok(page)
}

/// Finds the prompts that held a memory or memo with traces of the user, one memory after the other.
pub async fn prompts_of_memories(
    connection: &mut Connection,
    forgetting: &Forgetting,
) -> Result<ErasurePage, StoreError> {
    let memory = query(sql::FORGOTTEN_MEMORIES)
        .bind(forgetting.workspace.as_str())
        .bind(forgetting.user.as_str())
        .bind(forgetting.position.after);
    let Some(memory) = memory.fetch_optional(&mut *connection).await? else {
        return Ok(ErasurePage::end_of(forgetting));
    };
    let id: i64 = rows::column(&memory, "memory")?;
    let limit = MESSAGES;
    let attempts = query(sql::PROMPTS_OF_MEMORY).bind(id);
    let attempts = attempts.bind(rows::column::<i64>(&memory, "since_ms")?).bind(limit);
    let attempts = ids(&attempts.fetch_all(connection).await?, "attempt")?;
    // Dropped prompts are not found again, so the same memory is queried until none is left.
    let next = match attempts.len() as i64 {
        count if count == limit => forgetting.position.clone(),
        _ => forgetting.position.at(id),
    };
    let mut page = ErasurePage { erasures: Vec::new(), next: Some(next) };
    page.push_chunks(attempts, PROMPTS, Erasure::DropPrompts);
    Ok(page)
}

/// Finds the reasons of decisions about the next messages, and the dead letters of their conversations.
pub async fn decisions(
    connection: &mut Connection,
    forgetting: &Forgetting,
) -> Result<ErasurePage, StoreError> {
    let messages = messages_after(connection, forgetting, MESSAGES).await?;
    let mut page = after(forgetting, &messages)?;
    let mut decisions = BTreeSet::new();
    let mut conversations = BTreeSet::new();
    for row in &messages {
        decisions.extend(rows::column::<Option<i64>>(row, "decision")?);
        let channel: String = rows::column(row, "channel")?;
        conversations.insert((channel, rows::column::<String>(row, "thread")?));
    }
    page.push_chunks(decisions.into_iter().collect(), ROWS, Erasure::EraseReasons);
    let letters = query(sql::DEAD_LETTERS_OF_CONVERSATIONS)
        .bind(forgetting.workspace.as_str())
        .bind(json!(conversations).to_string());
    let letters = ids(&letters.fetch_all(connection).await?, "id")?;
    page.push_chunks(letters, ROWS, Erasure::EraseDeadLetters);
    Ok(page)
}

/// An outbox item and its lineage.
struct OutboxRow {
    id: i64,
    channel: String,
    decision: i64,
    message: Option<String>,
    metadata: DraftMetadata,
}

impl OutboxRow {
    fn from_row(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: rows::column(row, "id")?,
            channel: rows::column(row, "channel")?,
            decision: rows::column(row, "decision")?,
            message: rows::column(row, "message")?,
            metadata: rows::parse_json(&rows::column::<String>(row, "notes")?)?,
        })
    }

    /// The messages that it answers and the messages that it was made from.
    fn sources(&self) -> Vec<MessageRef> {
        let channel = ChannelId::new(self.channel.as_str());
        let mut sources = self.metadata.answered_message_refs(&channel);
        sources.extend(self.metadata.lineage.messages.iter().cloned());
        sources
    }
}

/// Finds posts and drafts of the persona that answer the user, or were made from the user's messages.
pub async fn outbox(
    connection: &mut Connection,
    forgetting: &Forgetting,
) -> Result<ErasurePage, StoreError> {
    let items = query(sql::OUTBOX_AFTER)
        .bind(forgetting.workspace.as_str())
        .bind(forgetting.position.after)
        .bind(OUTBOX_ITEMS);
    let items = items.fetch_all(&mut *connection).await?;
    let items = items.iter().map(OutboxRow::from_row).collect::<Result<Vec<_>, _>>()?;
    let Some(last) = items.last() else { return Ok(ErasurePage::end_of(forgetting)) };
    let next = Some(forgetting.position.at(last.id));
    let sources: HashSet<MessageRef> = items.iter().flat_map(OutboxRow::sources).collect();
    let theirs = theirs_among(connection, forgetting, &sources).await?;
    let decisions: BTreeSet<i64> = items.iter().map(|item| item.decision).collect();
    let about_them = decisions_among(connection, forgetting, &decisions).await?;
    let mut page = ErasurePage { erasures: Vec::new(), next };
    let is_only_for_user =
        |item: &&OutboxRow| item.metadata.only_for.as_ref() == Some(&forgetting.user);
    let is_from_them = |item: &&OutboxRow| {
        about_them.contains(&item.decision)
            || item.sources().iter().any(|source| theirs.contains(source))
    };
    let found: Vec<&OutboxRow> = items.iter().filter(is_from_them).collect();
    for part in found.chunks(ROWS) {
        let own = part.iter().filter_map(|item| {
            let channel = ChannelId::new(item.channel.as_str());
            Some(MessageRef(channel, MessageId::new(item.message.as_deref()?)))
        });
        page.erasures.push(Erasure::EraseOutbox {
            items: part.iter().map(|item| item.id).collect(),
            only_for_user: part
                .iter()
                .copied()
                .filter(is_only_for_user)
                .map(|item| item.id)
                .collect(),
            own_messages: own.collect(),
        });
    }
    Ok(page)
}

async fn theirs_among(
    connection: &mut Connection,
    forgetting: &Forgetting,
    messages: &HashSet<MessageRef>,
) -> Result<HashSet<MessageRef>, StoreError> {
    let found = query(sql::MESSAGES_AMONG)
        .bind(forgetting.workspace.as_str())
        .bind(forgetting.user.as_str())
        .bind(json!(messages).to_string())
        .bind(forgetting.until);
    found.fetch_all(connection).await?.iter().map(message_ref).collect()
}

async fn decisions_among(
    connection: &mut Connection,
    forgetting: &Forgetting,
    decisions: &BTreeSet<i64>,
) -> Result<HashSet<i64>, StoreError> {
    let found = query(sql::DECISIONS_AMONG)
        .bind(forgetting.workspace.as_str())
        .bind(forgetting.user.as_str())
        .bind(json!(decisions).to_string())
        .bind(forgetting.until);
    Ok(ids(&found.fetch_all(connection).await?, "id")?.into_iter().collect())
}
