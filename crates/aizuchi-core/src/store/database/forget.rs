//! Forgetting a person: their lines, what is remembered of them, what models were told and said about
//! them. Afterwards their words are nowhere in the database.

use std::collections::HashSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::chat::{ChannelId, Mention, MessageId, User, UserId};
use crate::event::DraftNotes;
use crate::memo::Memo;
use crate::memory::{Entry, LineId, Memory, MemoryId, MemoryKey};
use crate::quote::{Measure, Quotes, folded, holds_name};
use crate::store::database::connection::{Connection, Row, query};
use crate::store::database::recall::index;
use crate::store::database::sql::forget as sql;
use crate::store::database::{Counters, memory, memos, rows, sql as flow_sql};
use crate::store::{NOBODY, StoreError};

/// What is taken for a quotation of a person. Shorter lines say nothing that could be told again.
const QUOTED: Measure = Measure { run: 16, whole: 8, unspaced: 1 };

/// What was forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    pub lines: usize,
    /// The persona's own lines that repeated theirs.
    pub own_lines: usize,
    pub memos: usize,
    /// Memories that are written anew without them.
    pub memories: usize,
}

/// What tells that a text is about somebody, or repeats them.
struct Traces {
    names: Vec<String>,
    quotes: Quotes,
}

impl Traces {
    fn of(user: &User, texts: &[String]) -> Self {
        let names = [user.name.to_lowercase(), user.id.as_str().to_lowercase()];
        let names = names.into_iter().filter(|name| name.chars().count() > 1).collect();
        Self { names, quotes: Quotes::of(texts.iter().map(String::as_str), QUOTED) }
    }

    fn are_in(&self, text: &str) -> bool {
        let folded = folded(text);
        self.names.iter().any(|name| holds_name(&folded, name)) || self.quotes.are_in(text)
    }
}

/// Everyone who is known by an id or a name.
pub async fn find(connection: &mut Connection, person: &str) -> Result<Vec<User>, StoreError> {
    let found = query(sql::FIND_PERSON).bind(person).fetch_all(connection).await?;
    found.iter().map(rows::user).collect()
}

/// Forgets a person in one transaction; [`scrub`] then rewrites the database.
pub async fn forget(
    connection: &mut Connection,
    counters: &mut Counters,
    user: &User,
    now: Timestamp,
) -> Result<Forgotten, StoreError> {
    counters.revision += 1;
    let workspace = user.workspace.as_str();
    let lines = query(sql::LINES_OF_PERSON).bind(workspace).bind(user.id.as_str());
    let lines = lines.fetch_all(&mut *connection).await?;
    let mut texts = Vec::new();
    let mut ids = HashSet::new();
    for row in &lines {
        ids.insert(line_id(row)?);
        texts.push(rows::column::<String>(row, "text")?);
    }
    let traces = Traces::of(user, &texts);
    let mut forgotten = Forgotten { lines: lines.len(), ..Forgotten::default() };
    forgotten.own_lines = blank_own_lines(connection, counters, user, &traces, now).await?;
    forgotten.memos = drop_memos(connection, user, &ids, &traces).await?;
    forgotten.memories = drop_entries(connection, counters, user, &ids, &traces, now).await?;
    blank_unsaid(connection, user, &ids, &traces).await?;
    blank_reasons(connection, counters, user, &traces).await?;
    blank_person(connection, counters, user, now).await?;
    index::index_everything(connection, counters.revision).await?;
    query(sql::SCRUB_LATER).execute(connection).await?;
    Ok(forgotten)
}

/// Rewrites the database, so that nothing of what was deleted is left in it, nor in a log beside its file.
pub async fn scrub(connection: &mut Connection) -> Result<(), StoreError> {
    if connection.is_server() {
        query(sql::VACUUM).execute(&mut *connection).await?;
        query(sql::SCRUBBED).execute(connection).await?;
        return Ok(());
    }
    index::compact(connection).await?;
    query(sql::VACUUM).execute(&mut *connection).await?;
    let log = query(flow_sql::TRUNCATE_LOG).fetch_one(&mut *connection).await?;
    // The log stays as it is while somebody reads.
    if rows::column::<i64>(&log, "busy")? != 0 {
        return Err(StoreError::Busy("somebody reads the database".to_owned()));
    }
    // Only now there is nothing left to be done again.
    query(sql::SCRUBBED).execute(connection).await?;
    Ok(())
}

fn line_id(row: &Row) -> Result<LineId, StoreError> {
    let channel: String = rows::column(row, "channel")?;
    let id: String = rows::column(row, "id")?;
    Ok(LineId(ChannelId::new(channel), MessageId::new(id)))
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
async fn blank_own_lines(
    connection: &mut Connection,
    counters: &Counters,
    user: &User,
    traces: &Traces,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let own = query(sql::OWN_LINES).bind(user.workspace.as_str());
    let own = own.fetch_all(&mut *connection).await?;
    let mut blanked = 0;
    for row in &own {
        if !traces.are_in(&rows::column::<String>(row, "text")?) {
            continue;
        }
        let LineId(channel, id) = line_id(row)?;
        let blank = query(sql::BLANK_LINE)
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
    ids: &HashSet<LineId>,
    traces: &Traces,
) -> Result<usize, StoreError> {
    let memos = query(sql::ALL_MEMOS).bind(user.workspace.as_str());
    let memos = memos.fetch_all(&mut *connection).await?;
    let mut dropped = 0;
    for row in &memos {
        let json: String = rows::column(row, "memo")?;
        let memo: Memo = rows::parsed(&json)?;
        let lines: Vec<LineId> = rows::parsed(&rows::column::<String>(row, "lines")?)?;
        let is_made_for = lines.iter().any(|line| ids.contains(line));
        let is_theirs = memo.said_by.as_ref() == Some(&user.id);
        let words = [&memo.name, &memo.content].into_iter().chain(&memo.detail).chain(&memo.tags);
        if !is_made_for && !is_theirs && !words.into_iter().any(|words| traces.are_in(words)) {
            continue;
        }
        memos::remove(connection, MemoryId(rows::column(row, "id")?)).await?;
        dropped += 1;
    }
    Ok(dropped)
}

/// Entries of memories, in all versions, and what is to be remembered anew.
async fn drop_entries(
    connection: &mut Connection,
    counters: &Counters,
    user: &User,
    ids: &HashSet<LineId>,
    traces: &Traces,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let versions = query(sql::ALL_MEMORIES).bind(user.workspace.as_str());
    let versions = versions.fetch_all(&mut *connection).await?;
    let mut touched: HashSet<MemoryKey> = HashSet::new();
    for row in &versions {
        let mut memory = memory::memory(row)?;
        let before = memory.entries.len();
        let lost = memory.entries.extract_if(.., |entry| {
            entry.lines.iter().any(|line| ids.contains(line)) || traces.are_in(&entry.text)
        });
        let lost: Vec<LineId> = lost.flat_map(|entry| entry.lines).collect();
        memory.lost.extend(lost);
        memory.lost.retain(|line| !ids.contains(line));
        memory.lost.sort();
        memory.lost.dedup();
        if memory.entries.len() == before {
            continue;
        }
        touched.insert(memory.key.clone());
        let put = query(flow_sql::memory::CHANGE_MEMORY)
            .bind(memory.id.0)
            .bind(json!(memory.entries).to_string())
            .bind(json!(memory.lost).to_string())
            .bind(counters.revision as i64)
            .bind(Memory::text(&memory.entries, |_| true))
            .bind(Memory::text(&memory.entries, Entry::is_public));
        put.execute(&mut *connection).await?;
    }
    let chores: Vec<(MemoryKey, Timestamp)> = touched.into_iter().map(|key| (key, now)).collect();
    memory::arm(connection, &chores).await?;
    Ok(chores.len())
}

/// Words that wait to be said and were made from the person's lines. Whoever claims them finds nothing to
/// say, and thinks again.
async fn blank_unsaid(
    connection: &mut Connection,
    user: &User,
    ids: &HashSet<LineId>,
    traces: &Traces,
) -> Result<(), StoreError> {
    let unsaid = query(sql::UNSAID).bind(user.workspace.as_str());
    let unsaid = unsaid.fetch_all(&mut *connection).await?;
    for row in &unsaid {
        let notes: DraftNotes = rows::parsed(&rows::column::<String>(row, "notes")?)?;
        let is_made_from = notes.made_from.lines.iter().any(|line| ids.contains(line));
        if is_made_from || traces.are_in(&rows::column::<String>(row, "text")?) {
            let blank = query(sql::BLANK_PIECE).bind(rows::column::<i64>(row, "id")?);
            blank.execute(&mut *connection).await?;
        }
    }
    Ok(())
}

/// What models and gates gave as reasons, and every prompt and answer: they may hold anything.
async fn blank_reasons(
    connection: &mut Connection,
    counters: &Counters,
    user: &User,
    traces: &Traces,
) -> Result<(), StoreError> {
    let workspace = user.workspace.as_str();
    let reasons = query(sql::REASONS).bind(workspace).bind(user.id.as_str());
    let reasons = reasons.fetch_all(&mut *connection).await?;
    for row in &reasons {
        let words: String = rows::column(row, "words")?;
        if rows::column::<i64>(row, "covers")? != 0 || traces.are_in(&words) {
            let blank = query(sql::BLANK_REASON).bind(rows::column::<i64>(row, "id")?);
            let blank = blank.bind(counters.revision as i64);
            blank.execute(&mut *connection).await?;
        }
    }
    for statement in [sql::BLANK_VERDICTS, sql::BLANK_OUTBOX, sql::BLANK_LETTERS] {
        query(statement).bind(workspace).execute(&mut *connection).await?;
    }
    for statement in
        [sql::DROP_ALL_EXCHANGES, sql::DROP_ALL_EXCHANGE_LINES, sql::DROP_ALL_EXCHANGE_MEMORIES]
    {
        query(statement).execute(&mut *connection).await?;
    }
    Ok(())
}

async fn blank_person(
    connection: &mut Connection,
    counters: &Counters,
    user: &User,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (workspace, id) = (user.workspace.as_str(), user.id.as_str());
    let lines = query(sql::BLANK_LINES).bind(workspace).bind(id).bind(NOBODY);
    let lines = lines.bind(now.as_millisecond()).bind(counters.revision as i64);
    lines.execute(&mut *connection).await?;
    let owed = query(sql::CLOSE_OWED_TO).bind(workspace).bind(id).bind(NOBODY);
    owed.bind(now.as_millisecond()).execute(&mut *connection).await?;
    let mention = |id: &str| {
        let mention = Mention::User(UserId::new(id));
        serde_json::to_value(mention).map_or(Value::Null, |value| value).to_string()
    };
    let mentions = query(sql::BLANK_MENTIONS).bind(workspace).bind(mention(id));
    let mentions = mentions.bind(mention(NOBODY));
    mentions.execute(&mut *connection).await?;
    let reacted = query(sql::MARK_REACTED_BY).bind(workspace).bind(id);
    reacted.bind(counters.revision as i64).execute(&mut *connection).await?;
    let reactions = query(sql::DROP_REACTIONS_OF).bind(workspace).bind(id);
    reactions.execute(&mut *connection).await?;
    let person = query(sql::DROP_PERSON).bind(workspace).bind(id);
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
        let traces = Traces::of(&user, &texts.map(str::to_owned));
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
            assert_eq!(traces.are_in(text), expected, "{text}");
        }
    }
}
