//! Finds texts that name or quote a user without being connected to them by lineage.

use std::collections::HashSet;

use aizuchi_model::flow::outbox::DraftMetadata;
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::{MemoryEntry, MemoryId, MessageRef};
use aizuchi_model::overlap::quotes::QuoteIndex;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::StoreError;
use crate::database::connection::{Connection, Row, query};
use crate::database::forget::page::ErasurePage;
use crate::database::forget::position::{ForgetPhase, ForgetPosition};
use crate::database::forget::references::{References, TextScope, listed_messages};
use crate::database::forget::write::{EntriesToDrop, Erasure};
use crate::database::forget::{Forgetting, message_ref};
use crate::database::sql::forget as sql;
use crate::database::{memory_rows, rows};

/// How many texts are read at once.
const PAGE: i64 = 200;
/// The maximum number of rows changed in one write.
const ROWS: usize = 50;

/// Reads the next rows of a table, ordered by their numbers.
async fn rows_after(
    connection: &mut Connection,
    forgetting: &Forgetting,
    statement: &'static str,
) -> Result<(Vec<Row>, ErasurePage), StoreError> {
    let found = query(statement)
        .bind(forgetting.workspace.as_str())
        .bind(forgetting.position.after)
        .bind(PAGE);
    let found = found.fetch_all(connection).await?;
    let page = match found.last() {
        None => ErasurePage::end_of(forgetting),
        Some(last) => ErasurePage {
            erasures: Vec::new(),
            next: Some(forgetting.position.at(rows::column(last, "id")?)),
        },
    };
    Ok((found, page))
}

/// Finds the persona's own messages, one of its ids after the other. In channels with only the user, all of them are
/// erased.
pub async fn own_messages(
    connection: &mut Connection,
    forgetting: &Forgetting,
    references: &References,
) -> Result<ErasurePage, StoreError> {
    let position = &forgetting.position;
    // `after_key` holds the ids that are done; the first other one may be in progress.
    let Some(author) = references.persona.iter().find(|id| !position.after_key.contains(id)) else {
        return Ok(ErasurePage::end_of(forgetting));
    };
    let found = query(sql::OWN_MESSAGES_AFTER)
        .bind(forgetting.workspace.as_str())
        .bind(author)
        .bind(position.after)
        .bind(PAGE);
    let found = found.fetch_all(&mut *connection).await?;
    let Some(last) = found.last() else {
        let mut after_key = position.after_key.clone();
        after_key.push(author.clone());
        return Ok(ErasurePage::moved(ForgetPosition { after: 0, after_key, ..position.clone() }));
    };
    let next = position.at(rows::column(last, "heard")?);
    let mut own = Vec::new();
    for row in &found {
        let text: String = rows::column(row, "text")?;
        if text.is_empty() {
            continue;
        }
        let message = message_ref(row)?;
        let channel = message.0.as_str();
        let is_to_them = references.alone.contains(channel)
            && rows::column::<i64>(row, "heard")? <= forgetting.until;
        let sources = sources_of_draft(rows::column(row, "notes")?)?;
        let scope = TextScope::Channel(channel);
        if is_to_them || references.are_in(&text, scope, &sources) {
            own.push(message);
        }
    }
    let mut page = ErasurePage::moved(next);
    page.push_chunks(own, ROWS, |own_messages| Erasure::EraseOutbox {
        items: Vec::new(),
        only_for_user: Vec::new(),
        own_messages,
    });
    Ok(page)
}

fn sources_of_draft(notes: Option<String>) -> Result<Vec<MessageRef>, StoreError> {
    let Some(notes) = notes else { return Ok(Vec::new()) };
    let metadata: DraftMetadata = rows::parse_json(&notes)?;
    Ok(metadata.lineage.messages)
}

pub async fn entries(
    connection: &mut Connection,
    forgetting: &Forgetting,
    references: &References,
) -> Result<ErasurePage, StoreError> {
    let (found, mut page) = rows_after(&mut *connection, forgetting, sql::MEMORIES_AFTER).await?;
    for row in &found {
        let memory = memory_rows::memory_from_row(row)?;
        let (mut texts, mut since) = (HashSet::new(), Timestamp::MAX);
        for entry in memory.entries.iter().chain(&memory.removed) {
            let scope = match memory.key.channel() {
                Some(channel) => TextScope::Channel(channel.as_str()),
                None => TextScope::Workspace(&entry.messages),
            };
            if references.are_in(&entry.text, scope, &[])
                && !has_known_sources(&mut *connection, forgetting, &entry.messages).await?
            {
                since = since.min(day_before(entry));
                texts.insert(entry.text.clone());
            }
        }
        if !texts.is_empty() {
            let (key, messages) = (memory.key, HashSet::new());
            page.erasures.push(Erasure::DropEntries(EntriesToDrop { key, messages, texts, since }));
        }
    }
    Ok(page)
}

/// Whether all sources of an entry are stored, so that lineage has found it if it is the user's. An import may bring
/// entries without the messages that they were made from, if these have expired.
async fn has_known_sources(
    connection: &mut Connection,
    forgetting: &Forgetting,
    sources: &[MessageRef],
) -> Result<bool, StoreError> {
    if sources.is_empty() {
        return Ok(false);
    }
    let missing = query(sql::MISSING_AMONG)
        .bind(forgetting.workspace.as_str())
        .bind(json!(sources).to_string());
    Ok(missing.fetch_optional(connection).await?.is_none())
}

/// A lower bound for the start of an entry's day, in any time zone.
fn day_before(entry: &MemoryEntry) -> Timestamp {
    let day = entry.date.to_zoned(TimeZone::UTC).map(|day| day.timestamp());
    day.map_or(Timestamp::UNIX_EPOCH, |day| day - SignedDuration::from_hours(24))
}

pub async fn memos(
    connection: &mut Connection,
    forgetting: &Forgetting,
    references: &References,
) -> Result<ErasurePage, StoreError> {
    let (found, mut page) = rows_after(connection, forgetting, sql::MEMOS_AFTER).await?;
    let mut dropped = Vec::new();
    for row in &found {
        let memo: Memo = rows::parse_json(&rows::column::<String>(row, "memo")?)?;
        let sources = listed_messages(row, "lines")?;
        let scope = TextScope::Channel(memo.channel.as_str());
        let mut is_theirs = memo.said_by.as_ref() == Some(&forgetting.user);
        for text in [&memo.name, &memo.content].into_iter().chain(&memo.detail).chain(&memo.tags) {
            is_theirs = is_theirs || references.are_in(text, scope, &sources);
        }
        if is_theirs {
            dropped.push(MemoryId(rows::column(row, "id")?));
        }
    }
    page.push_chunks(dropped, ROWS, Erasure::DropMemos);
    Ok(page)
}

/// Finds reasons in the ledger.
pub async fn reasons(
    connection: &mut Connection,
    forgetting: &Forgetting,
    references: &References,
) -> Result<ErasurePage, StoreError> {
    let (found, mut page) = rows_after(connection, forgetting, sql::REASONS_AFTER).await?;
    let mut erased = Vec::new();
    for row in &found {
        let (id, text): (i64, String) = (rows::column(row, "id")?, rows::column(row, "words")?);
        let channel: String = rows::column(row, "channel")?;
        let scope = TextScope::Channel(&channel);
        if references.are_in(&text, scope, &[])
            && !others_said(connection, forgetting, references, id, &text, scope).await?
        {
            erased.push(id);
        }
    }
    page.push_chunks(erased, ROWS, Erasure::EraseReasons);
    Ok(page)
}

/// Whether everything that a reason quotes was said by others, in the messages that it is about or that a prompt held.
async fn others_said(
    connection: &mut Connection,
    forgetting: &Forgetting,
    references: &References,
    decision: i64,
    text: &str,
    scope: TextScope<'_>,
) -> Result<bool, StoreError> {
    let runs = references.quoted_runs(text, scope);
    if runs.is_empty() {
        return Ok(false);
    }
    let others = query(sql::TEXTS_OF_DECISION).bind(decision).bind(forgetting.user.as_str());
    let others = others.fetch_all(connection).await?;
    let others = others.iter().map(|row| rows::column(row, "text"));
    let others = others.collect::<Result<Vec<String>, _>>()?;
    let others = QuoteIndex::new(others.iter().map(String::as_str));
    Ok(runs.into_iter().all(|run| others.contains(run)))
}

/// Finds texts in the outbox that were not posted, or not yet.
pub async fn drafts(
    connection: &mut Connection,
    forgetting: &Forgetting,
    references: &References,
) -> Result<ErasurePage, StoreError> {
    let (found, mut page) = rows_after(connection, forgetting, sql::UNSENT_TEXTS_AFTER).await?;
    let mut erased = Vec::new();
    for row in &found {
        let (channel, text): (String, String) =
            (rows::column(row, "channel")?, rows::column(row, "text")?);
        let sources = sources_of_draft(rows::column(row, "notes")?)?;
        let scope = TextScope::Channel(&channel);
        if references.are_in(&text, scope, &sources) {
            erased.push(rows::column(row, "id")?);
        }
    }
    page.push_chunks(erased, ROWS, |items| Erasure::EraseOutbox {
        items,
        only_for_user: Vec::new(),
        own_messages: Vec::new(),
    });
    Ok(page)
}

/// Finds dead letters. Afterwards, the search starts over with the next part of the user's texts.
pub async fn dead_letters(
    connection: &mut Connection,
    forgetting: &Forgetting,
    references: &References,
) -> Result<ErasurePage, StoreError> {
    let (found, mut page) = rows_after(connection, forgetting, sql::LETTERS_AFTER).await?;
    if found.is_empty()
        && let Some(texts_after) = references.next_texts_after
    {
        return Ok(ErasurePage::moved(ForgetPosition {
            texts_after,
            ..ForgetPosition::start_of(ForgetPhase::OwnMessages)
        }));
    }
    let mut erased = Vec::new();
    for row in &found {
        let (channel, text): (String, String) =
            (rows::column(row, "channel")?, rows::column(row, "text")?);
        let scope = TextScope::Channel(&channel);
        if references.are_in(&text, scope, &[]) {
            erased.push(rows::column(row, "id")?);
        }
    }
    page.push_chunks(erased, ROWS, Erasure::EraseDeadLetters);
    Ok(page)
}
