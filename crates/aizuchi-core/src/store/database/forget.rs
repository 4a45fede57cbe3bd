//! Forgets a user: their messages, the memories of them, and the prompts and answers about them. Afterwards nothing
//! of it is left in the database.

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

/// What counts as a quote of a user. Shorter texts are too generic to identify them.
const OVERLAP_THRESHOLD: OverlapThreshold =
    OverlapThreshold { min_run: 16, min_whole_length: 8, unspaced_weight: 1 };

/// How much was forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForgetReport {
    pub messages: usize,
    /// The persona's own messages that quoted the user.
    pub own_messages: usize,
    pub memos: usize,
    /// Memories that are rewritten without the user.
    pub memories: usize,
}

/// Recognizes texts that name a user or quote them.
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
        let normalized = normalize(text);
        self.names.iter().any(|name| has_name(&normalized, name))
            || self.quotes.has_overlap_with(text)
    }
}

/// All users with this id or name.
pub async fn find_users(
    connection: &mut Connection,
    id_or_name: &str,
) -> Result<Vec<User>, StoreError> {
    let found = query(sql::FIND_USERS).bind(id_or_name).fetch_all(connection).await?;
    found.iter().map(rows::user_from_row).collect()
}

/// Forgets a user in one transaction; [`scrub`] then rewrites the database.
pub async fn forget_user(
    connection: &mut Connection,
    counters: &mut Counters,
    user: &User,
    now: Timestamp,
) -> Result<ForgetReport, StoreError> {
    counters.revision += 1;
    let workspace = user.workspace.as_str();
    let messages = query(sql::MESSAGES_OF_USER).bind(workspace).bind(user.id.as_str());
    let messages = messages.fetch_all(&mut *connection).await?;
    let mut texts = Vec::new();
    let mut ids = HashSet::new();
    for row in &messages {
        ids.insert(message_ref(row)?);
        texts.push(rows::column::<String>(row, "text")?);
    }
    let references = UserReferences::new(user, &texts);
    let mut report = ForgetReport { messages: messages.len(), ..ForgetReport::default() };
    report.own_messages = erase_own_messages(connection, counters, user, &references, now).await?;
    report.memos = drop_memos(connection, user, &ids, &references).await?;
    report.memories =
        drop_memory_entries(connection, counters, user, &ids, &references, now).await?;
    erase_unsent_drafts(connection, user, &ids, &references).await?;
    erase_reasons(connection, counters, user, &references).await?;
    erase_user(connection, counters, user, now).await?;
    index::index_all(connection, counters.revision).await?;
    query(sql::MARK_SCRUB_DUE).execute(connection).await?;
    Ok(report)
}

/// Rewrites the database, so that nothing deleted remains in its free pages or in the write-ahead log.
pub async fn scrub(connection: &mut Connection) -> Result<(), StoreError> {
    if connection.is_postgres() {
        query(sql::VACUUM).execute(&mut *connection).await?;
        query(sql::CLEAR_SCRUB_DUE).execute(connection).await?;
        return Ok(());
    }
    index::compact(connection).await?;
    query(sql::VACUUM).execute(&mut *connection).await?;
    let log = query(flow_sql::TRUNCATE_WAL).fetch_one(&mut *connection).await?;
    // SQLite cannot truncate the log while a reader uses it.
    if rows::column::<i64>(&log, "busy")? != 0 {
        return Err(StoreError::Busy("somebody reads the database".to_owned()));
    }
    // Cleared last: if the process dies before this, the next start repeats the scrub.
    query(sql::CLEAR_SCRUB_DUE).execute(connection).await?;
    Ok(())
}

fn message_ref(row: &Row) -> Result<MessageRef, StoreError> {
    let channel: String = rows::column(row, "channel")?;
    let id: String = rows::column(row, "id")?;
    Ok(MessageRef(ChannelId::new(channel), MessageId::new(id)))
}

/// Completes a scrub that an earlier process left undone.
pub async fn scrub_if_due(connection: &mut Connection) -> Result<(), StoreError> {
    let due = query(sql::IS_SCRUB_DUE).fetch_one(&mut *connection).await?;
    match rows::column::<i64>(&due, "is_due")? {
        0 => Ok(()),
        _ => scrub(connection).await,
    }
}

/// Erases the persona's own messages that name or quote the user.
async fn erase_own_messages(
    connection: &mut Connection,
    counters: &Counters,
    user: &User,
    references: &UserReferences,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let messages = query(sql::OWN_MESSAGES).bind(user.workspace.as_str());
    let messages = messages.fetch_all(&mut *connection).await?;
    let mut count = 0;
    for row in &messages {
        if !references.is_found_in(&rows::column::<String>(row, "text")?) {
            continue;
        }
        let MessageRef(channel, id) = message_ref(row)?;
        let erase = query(sql::ERASE_MESSAGE)
            .bind(user.workspace.as_str())
            .bind(channel.as_str())
            .bind(id.as_str())
            .bind(now.as_millisecond())
            .bind(counters.revision as i64);
        erase.execute(&mut *connection).await?;
        count += 1;
    }
    Ok(count)
}

/// Drops memos that the user dictated, that were made in answer to the user, or that are about them.
async fn drop_memos(
    connection: &mut Connection,
    user: &User,
    ids: &HashSet<MessageRef>,
    references: &UserReferences,
) -> Result<usize, StoreError> {
    let memos = query(sql::ALL_MEMOS).bind(user.workspace.as_str());
    let memos = memos.fetch_all(&mut *connection).await?;
    let mut dropped = 0;
    for row in &memos {
        let json: String = rows::column(row, "memo")?;
        let memo: Memo = rows::parse_json(&json)?;
        let sources: Vec<MessageRef> = rows::parse_json(&rows::column::<String>(row, "lines")?)?;
        let answers_user = sources.iter().any(|source| ids.contains(source));
        let is_dictated = memo.said_by.as_ref() == Some(&user.id);
        let texts = [&memo.name, &memo.content].into_iter().chain(&memo.detail).chain(&memo.tags);
        if !answers_user
            && !is_dictated
            && !texts.into_iter().any(|text| references.is_found_in(text))
        {
            continue;
        }
        memos::remove(connection, MemoryId(rows::column(row, "id")?)).await?;
        dropped += 1;
    }
    Ok(dropped)
}

/// Drops entries from all versions of memories, and schedules those memories to be rewritten.
async fn drop_memory_entries(
    connection: &mut Connection,
    counters: &Counters,
    user: &User,
    ids: &HashSet<MessageRef>,
    references: &UserReferences,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let versions = query(sql::ALL_MEMORIES).bind(user.workspace.as_str());
    let versions = versions.fetch_all(&mut *connection).await?;
    let mut changed_keys: HashSet<MemoryKey> = HashSet::new();
    for row in &versions {
        let mut memory = memory::memory_from_row(row)?;
        let before = memory.entries.len();
        let orphaned = memory.entries.extract_if(.., |entry| {
            entry.messages.iter().any(|message| ids.contains(message))
                || references.is_found_in(&entry.text)
        });
        let orphaned: Vec<MessageRef> = orphaned.flat_map(|entry| entry.messages).collect();
        memory.orphaned_messages.extend(orphaned);
        memory.orphaned_messages.retain(|message| !ids.contains(message));
        memory.orphaned_messages.sort();
        memory.orphaned_messages.dedup();
        if memory.entries.len() == before {
            continue;
        }
        changed_keys.insert(memory.key.clone());
        let put = query(flow_sql::memory::CHANGE_MEMORY)
            .bind(memory.id.0)
            .bind(json!(memory.entries).to_string())
            .bind(json!(memory.orphaned_messages).to_string())
            .bind(counters.revision as i64)
            .bind(Memory::render_entries(&memory.entries, |_| true))
            .bind(Memory::render_entries(&memory.entries, MemoryEntry::is_public));
        put.execute(&mut *connection).await?;
    }
    let jobs: Vec<(MemoryKey, Timestamp)> =
        changed_keys.into_iter().map(|key| (key, now)).collect();
    memory::schedule(connection, &jobs).await?;
    Ok(jobs.len())
}

/// Erases unsent drafts that were made from the user's messages. The claim of such a draft finds an empty text, and a
/// new draft is made.
async fn erase_unsent_drafts(
    connection: &mut Connection,
    user: &User,
    ids: &HashSet<MessageRef>,
    references: &UserReferences,
) -> Result<(), StoreError> {
    let drafts = query(sql::UNSENT_DRAFTS).bind(user.workspace.as_str());
    let drafts = drafts.fetch_all(&mut *connection).await?;
    for row in &drafts {
        let metadata: DraftMetadata = rows::parse_json(&rows::column::<String>(row, "notes")?)?;
        let is_made_from = metadata.lineage.messages.iter().any(|message| ids.contains(message));
        if is_made_from || references.is_found_in(&rows::column::<String>(row, "text")?) {
            let erase = query(sql::ERASE_OUTBOX_ITEM).bind(rows::column::<i64>(row, "id")?);
            erase.execute(&mut *connection).await?;
        }
    }
    Ok(())
}

/// Erases the reasons that models and gates gave, and all prompts and answers: any of them may quote the user.
async fn erase_reasons(
    connection: &mut Connection,
    counters: &Counters,
    user: &User,
    references: &UserReferences,
) -> Result<(), StoreError> {
    let workspace = user.workspace.as_str();
    let reasons = query(sql::REASONS).bind(workspace).bind(user.id.as_str());
    let reasons = reasons.fetch_all(&mut *connection).await?;
    for row in &reasons {
        let text: String = rows::column(row, "words")?;
        if rows::column::<i64>(row, "covers")? != 0 || references.is_found_in(&text) {
            let erase = query(sql::ERASE_REASON).bind(rows::column::<i64>(row, "id")?);
            let erase = erase.bind(counters.revision as i64);
            erase.execute(&mut *connection).await?;
        }
    }
    for statement in [sql::ERASE_VERDICTS, sql::ERASE_OUTBOX, sql::ERASE_DEAD_LETTERS] {
        query(statement).bind(workspace).execute(&mut *connection).await?;
    }
    for statement in
        [sql::DROP_ALL_EXCHANGES, sql::DROP_ALL_EXCHANGE_MESSAGES, sql::DROP_ALL_EXCHANGE_MEMORIES]
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
    let messages = query(sql::ERASE_MESSAGES).bind(workspace).bind(id).bind(FORGOTTEN_USER_ID);
    let messages = messages.bind(now.as_millisecond()).bind(counters.revision as i64);
    messages.execute(&mut *connection).await?;
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
    let drop = query(sql::DROP_USER).bind(workspace).bind(id);
    drop.execute(connection).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{AuthorKind, Role, WorkspaceId};

    #[test]
    fn texts_that_name_or_quote_a_user_are_recognized() {
        let user = User {
            workspace: WorkspaceId::new("w"),
            id: UserId::new("U7"),
            name: "Ann".into(),
            kind: AuthorKind::Human,
            role: Role::Member,
        };
        let texts =
            ["The roof of the shed leaks.", "no sugar", "犬を二匹飼っています、名前は梅と竹", "ok"];
        let references = UserReferences::new(&user, &texts.map(str::to_owned));
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
            assert_eq!(references.is_found_in(text), expected, "{text}");
        }
    }
}
