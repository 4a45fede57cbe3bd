//! Forgetting a person: their lines, what is remembered of them, what models were told and said about
//! them. Afterwards their words are nowhere in the database.

use std::collections::HashSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::chat::{ChannelId, Mention, MessageId, User, UserId};
use crate::event::DraftMetadata;
use crate::memo::Memo;
use crate::memory::{Memory, MemoryEntry, MemoryId, MemoryKey, MessageRef};
use crate::overlap::{OverlapIndex, OverlapThreshold, has_name, normalize};
use crate::store::database::connection::{Connection, Row, query};
use crate::store::database::recall::index;
use crate::store::database::sql::forget as sql;
use crate::store::database::{Counters, memory, memos, rows, sql as flow_sql};
use crate::store::{FORGOTTEN_USER_ID, StoreError};

/// What is taken for a quotation of a person. Shorter lines say nothing that could be told again.
const OVERLAP_THRESHOLD: OverlapThreshold =
    OverlapThreshold { min_run: 16, min_whole_length: 8, unspaced_weight: 1 };

/// What was forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForgetReport {
    pub messages: usize,
    /// The persona's own lines that repeated theirs.
    pub own_messages: usize,
    pub memos: usize,
    /// Memories that are written anew without them.
    pub memories: usize,
}

/// What tells that a text is about somebody, or repeats them.
struct UserReferences {
    names: Vec<String>,
    quotes: OverlapIndex,
}

impl UserReferences {
    fn new(user: &User, texts: &[String]) -> Self {
        let names = [user.name.to_lowercase(), user.id.as_str().to_lowercase()];
        let names = names.into_iter().filter(|name| name.chars().count() > 1).collect();
        Self {
            names,
            quotes: OverlapIndex::new(texts.iter().map(String::as_str), OVERLAP_THRESHOLD),
        }
    }

    fn is_found_in(&self, text: &str) -> bool {
        let folded = normalize(text);
        self.names.iter().any(|name| has_name(&folded, name)) || self.quotes.has_overlap_with(text)
    }
}

/// Everyone who is known by an id or a name.
pub async fn find_users(
    connection: &mut Connection,
    person: &str,
) -> Result<Vec<User>, StoreError> {
    let found = query(sql::FIND_USERS).bind(person).fetch_all(connection).await?;
    found.iter().map(rows::user_from_row).collect()
}

/// Forgets a person in one transaction; [`scrub`] then rewrites the database.
pub async fn forget_user(
    connection: &mut Connection,
    counters: &mut Counters,
    user: &User,
    now: Timestamp,
) -> Result<ForgetReport, StoreError> {
    counters.revision += 1;
    let workspace = user.workspace.as_str();
    let lines = query(sql::MESSAGES_OF_USER).bind(workspace).bind(user.id.as_str());
    let lines = lines.fetch_all(&mut *connection).await?;
    let mut texts = Vec::new();
    let mut ids = HashSet::new();
    for row in &lines {
        ids.insert(message_ref(row)?);
        texts.push(rows::column::<String>(row, "text")?);
    }
    let traces = UserReferences::new(user, &texts);
    let mut forgotten = ForgetReport { messages: lines.len(), ..ForgetReport::default() };
    forgotten.own_messages = erase_own_messages(connection, counters, user, &traces, now).await?;
    forgotten.memos = drop_memos(connection, user, &ids, &traces).await?;
    forgotten.memories =
        drop_memory_entries(connection, counters, user, &ids, &traces, now).await?;
    erase_unsent_drafts(connection, user, &ids, &traces).await?;
    erase_reasons(connection, counters, user, &traces).await?;
    erase_user(connection, counters, user, now).await?;
    index::index_all(connection, counters.revision).await?;
    query(sql::MARK_SCRUB_DUE).execute(connection).await?;
    Ok(forgotten)
}

/// Rewrites the database, so that nothing of what was deleted is left in it, nor in a log beside its file.
pub async fn scrub(connection: &mut Connection) -> Result<(), StoreError> {
    if connection.is_postgres() {
        query(sql::VACUUM).execute(&mut *connection).await?;
        query(sql::CLEAR_SCRUB_DUE).execute(connection).await?;
        return Ok(());
    }
    index::compact(connection).await?;
    query(sql::VACUUM).execute(&mut *connection).await?;
    let log = query(flow_sql::TRUNCATE_WAL).fetch_one(&mut *connection).await?;
    // The log stays as it is while somebody reads.
    if rows::column::<i64>(&log, "busy")? != 0 {
        return Err(StoreError::Busy("somebody reads the database".to_owned()));
    }
    // Only now there is nothing left to be done again.
    query(sql::CLEAR_SCRUB_DUE).execute(connection).await?;
    Ok(())
}

fn message_ref(row: &Row) -> Result<MessageRef, StoreError> {
    let channel: String = rows::column(row, "channel")?;
    let id: String = rows::column(row, "id")?;
    Ok(MessageRef(ChannelId::new(channel), MessageId::new(id)))
}

/// Does what an end of the process has left undone.
pub async fn scrub_if_due(connection: &mut Connection) -> Result<(), StoreError> {
    let due = query(sql::IS_SCRUB_DUE).fetch_one(&mut *connection).await?;
    match rows::column::<i64>(&due, "is_due")? {
        0 => Ok(()),
        _ => scrub(connection).await,
    }
}

/// The persona's own lines that repeat the person.
async fn erase_own_messages(
    connection: &mut Connection,
    counters: &Counters,
    user: &User,
    traces: &UserReferences,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let own = query(sql::OWN_MESSAGES).bind(user.workspace.as_str());
    let own = own.fetch_all(&mut *connection).await?;
    let mut blanked = 0;
    for row in &own {
        if !traces.is_found_in(&rows::column::<String>(row, "text")?) {
            continue;
        }
        let MessageRef(channel, id) = message_ref(row)?;
        let blank = query(sql::ERASE_MESSAGE)
            .bind(user.workspace.as_str())
            .bind(channel.as_str())
            .bind(id.as_str())
            .bind(now.as_millisecond())
            .bind(counters.revision as i64);
        blank.execute(&mut *connection).await?;
        blanked += 1;
    }
    Ok(blanked)
}

/// Memos that the person said, that were made for them, or that are about them.
async fn drop_memos(
    connection: &mut Connection,
    user: &User,
    ids: &HashSet<MessageRef>,
    traces: &UserReferences,
) -> Result<usize, StoreError> {
    let memos = query(sql::ALL_MEMOS).bind(user.workspace.as_str());
    let memos = memos.fetch_all(&mut *connection).await?;
    let mut dropped = 0;
    for row in &memos {
        let json: String = rows::column(row, "memo")?;
        let memo: Memo = rows::parse_json(&json)?;
        let lines: Vec<MessageRef> = rows::parse_json(&rows::column::<String>(row, "lines")?)?;
        let is_made_for = lines.iter().any(|line| ids.contains(line));
        let is_theirs = memo.said_by.as_ref() == Some(&user.id);
        let words = [&memo.name, &memo.content].into_iter().chain(&memo.detail).chain(&memo.tags);
        if !is_made_for && !is_theirs && !words.into_iter().any(|words| traces.is_found_in(words)) {
            continue;
        }
        memos::remove(connection, MemoryId(rows::column(row, "id")?)).await?;
        dropped += 1;
    }
    Ok(dropped)
}

/// Entries of memories, in all versions, and what is to be remembered anew.
async fn drop_memory_entries(
    connection: &mut Connection,
    counters: &Counters,
    user: &User,
    ids: &HashSet<MessageRef>,
    traces: &UserReferences,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let versions = query(sql::ALL_MEMORIES).bind(user.workspace.as_str());
    let versions = versions.fetch_all(&mut *connection).await?;
    let mut touched: HashSet<MemoryKey> = HashSet::new();
    for row in &versions {
        let mut memory = memory::memory_from_row(row)?;
        let before = memory.entries.len();
        let lost = memory.entries.extract_if(.., |entry| {
            entry.messages.iter().any(|line| ids.contains(line)) || traces.is_found_in(&entry.text)
        });
        let lost: Vec<MessageRef> = lost.flat_map(|entry| entry.messages).collect();
        memory.orphaned_messages.extend(lost);
        memory.orphaned_messages.retain(|line| !ids.contains(line));
        memory.orphaned_messages.sort();
        memory.orphaned_messages.dedup();
        if memory.entries.len() == before {
            continue;
        }
        touched.insert(memory.key.clone());
        let put = query(flow_sql::memory::CHANGE_MEMORY)
            .bind(memory.id.0)
            .bind(json!(memory.entries).to_string())
            .bind(json!(memory.orphaned_messages).to_string())
            .bind(counters.revision as i64)
            .bind(Memory::render_entries(&memory.entries, |_| true))
            .bind(Memory::render_entries(&memory.entries, MemoryEntry::is_public));
        put.execute(&mut *connection).await?;
    }
    let chores: Vec<(MemoryKey, Timestamp)> = touched.into_iter().map(|key| (key, now)).collect();
    memory::schedule(connection, &chores).await?;
    Ok(chores.len())
}

/// Words that wait to be said and were made from the person's lines. Whoever claims them finds nothing to
/// say, and thinks again.
async fn erase_unsent_drafts(
    connection: &mut Connection,
    user: &User,
    ids: &HashSet<MessageRef>,
    traces: &UserReferences,
) -> Result<(), StoreError> {
    let unsaid = query(sql::UNSENT_DRAFTS).bind(user.workspace.as_str());
    let unsaid = unsaid.fetch_all(&mut *connection).await?;
    for row in &unsaid {
        let notes: DraftMetadata = rows::parse_json(&rows::column::<String>(row, "notes")?)?;
        let is_made_from = notes.lineage.messages.iter().any(|line| ids.contains(line));
        if is_made_from || traces.is_found_in(&rows::column::<String>(row, "text")?) {
            let blank = query(sql::ERASE_OUTBOX_ITEM).bind(rows::column::<i64>(row, "id")?);
            blank.execute(&mut *connection).await?;
        }
    }
    Ok(())
}

/// What models and gates gave as reasons, and every prompt and answer: they may hold anything.
async fn erase_reasons(
    connection: &mut Connection,
    counters: &Counters,
    user: &User,
    traces: &UserReferences,
) -> Result<(), StoreError> {
    let workspace = user.workspace.as_str();
    let reasons = query(sql::REASONS).bind(workspace).bind(user.id.as_str());
    let reasons = reasons.fetch_all(&mut *connection).await?;
    for row in &reasons {
        let words: String = rows::column(row, "words")?;
        if rows::column::<i64>(row, "covers")? != 0 || traces.is_found_in(&words) {
            let blank = query(sql::ERASE_REASON).bind(rows::column::<i64>(row, "id")?);
            let blank = blank.bind(counters.revision as i64);
            blank.execute(&mut *connection).await?;
        }
    }
    for statement in [sql::ERASE_VERDICTS, sql::ERASE_OUTBOX, sql::ERASE_DEAD_LETTERS] {
        query(statement).bind(workspace).execute(&mut *connection).await?;
    }
    for statement in
        [sql::DROP_ALL_EXCHANGES, sql::DROP_ALL_EXCHANGE_LINES, sql::DROP_ALL_EXCHANGE_MEMORIES]
    {
        query(statement).execute(&mut *connection).await?;
    }
    Ok(())
}

async fn erase_user(
    connection: &mut Connection,
    counters: &Counters,
    user: &User,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (workspace, id) = (user.workspace.as_str(), user.id.as_str());
    let lines = query(sql::ERASE_MESSAGES).bind(workspace).bind(id).bind(FORGOTTEN_USER_ID);
    let lines = lines.bind(now.as_millisecond()).bind(counters.revision as i64);
    lines.execute(&mut *connection).await?;
    let owed = query(sql::CLOSE_OWED_TO_USER).bind(workspace).bind(id).bind(FORGOTTEN_USER_ID);
    owed.bind(now.as_millisecond()).execute(&mut *connection).await?;
    let mention = |id: &str| {
        let mention = Mention::User(UserId::new(id));
        serde_json::to_value(mention).map_or(Value::Null, |value| value).to_string()
    };
    let mentions = query(sql::ERASE_MENTIONS).bind(workspace).bind(mention(id));
    let mentions = mentions.bind(mention(FORGOTTEN_USER_ID));
    mentions.execute(&mut *connection).await?;
    let reacted = query(sql::MARK_REACTED_BY).bind(workspace).bind(id);
    reacted.bind(counters.revision as i64).execute(&mut *connection).await?;
    let reactions = query(sql::DROP_REACTIONS_OF_USER).bind(workspace).bind(id);
    reactions.execute(&mut *connection).await?;
    let person = query(sql::DROP_USER).bind(workspace).bind(id);
    person.execute(connection).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{AuthorKind, Role, WorkspaceId};

    #[test]
    fn a_text_is_about_a_person_if_it_names_or_repeats_them() {
        let user = User {
            workspace: WorkspaceId::new("w"),
            id: UserId::new("U7"),
            name: "Ann".into(),
            kind: AuthorKind::Human,
            role: Role::Member,
        };
        let texts =
            ["The roof of the shed leaks.", "no sugar", "犬を二匹飼っています、名前は梅と竹", "ok"];
        let traces = UserReferences::new(&user, &texts.map(str::to_owned));
        for (text, expected) in [
            ("2027-01-05: ann likes tea", true),
            ("the annual plan", false),
            ("アンケート", false),
            ("ask U7", true),
            ("somebody's roof of the SHED leaks now", true),
            ("a roof", false),
            ("tea, no sugar", true),
            ("ok", false),
            ("犬を二匹飼っています、名前は梅と竹らしい", true),
        ] {
            assert_eq!(traces.is_found_in(text), expected, "{text}");
        }
    }
}
