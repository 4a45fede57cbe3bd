//! What one step of a forgetting writes: a bounded number of rows, and the new position.

use std::collections::HashSet;
use std::sync::Arc;

use aizuchi_model::chat::{Mention, UserId, WorkspaceId};
use aizuchi_model::flow::memory_job::REWRITE_DELAY;
use aizuchi_model::memory::{Memory, MemoryEntry, MemoryId, MemoryKey, MessageRef};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::database::connection::{Connection, query};
use crate::database::forget::position::ForgetPosition;
use crate::database::forget::{Forgetting, replace_user, report};
use crate::database::sql::web_calls::ERASE_USER_OF_WEB_CALLS;
use crate::database::sql::{consents as consents_sql, forget as sql};
use crate::database::{Counters, memory, memos, rows};
use crate::{FORGOTTEN_USER_ID, StoreError};

/// One write of a forgetting.
#[derive(Clone, Debug)]
pub struct ForgetWrite {
    pub workspace: WorkspaceId,
    pub user: UserId,
    /// The revision up to which messages are forgotten: a later order starts over.
    pub until: i64,
    pub erasure: Option<Erasure>,
    /// The new position, or `None` if the forgetting is done.
    pub next: Option<ForgetPosition>,
}

/// An erasure that fits in one write.
#[derive(Clone, Debug)]
pub enum Erasure {
    HideMessages(Vec<MessageRef>),
    DropEntries(EntriesToDrop),
    DropMemos(Vec<MemoryId>),
    /// Removes messages as sources of memories.
    DropSources(Vec<MessageRef>),
    /// Drops the prompts and answers of model calls, and the reasons in them.
    DropPrompts(Vec<i64>),
    EraseReasons(Vec<i64>),
    EraseOutbox {
        items: Vec<i64>,
        only_for_user: Vec<i64>,
        own_messages: Vec<MessageRef>,
    },
    EraseDeadLetters(Vec<i64>),
    /// By message and emoji.
    DropReactions(Vec<(MessageRef, String)>),
    EraseMentions(Vec<MessageRef>),
    BlankChannelNames(Vec<String>),
    EraseMessages(Vec<MessageRef>),
    EraseUser,
}

/// The entries that a memory loses in all of its versions: those made from these messages, and those with these texts.
#[derive(Clone, Debug)]
pub struct EntriesToDrop {
    pub key: MemoryKey,
    pub messages: HashSet<MessageRef>,
    pub texts: HashSet<Arc<str>>,
    /// A lower bound for the time of prompts that held the entries.
    pub since: Timestamp,
}

impl ForgetWrite {
    pub fn new(forgetting: &Forgetting, erasure: Erasure) -> Self {
        Self::move_to(forgetting, Some(erasure), Some(forgetting.position.clone()))
    }

    /// Whether messages are removed from the search index.
    pub fn erases_messages(&self) -> bool {
        match self.erasure {
            Some(Erasure::EraseMessages(_) | Erasure::EraseOutbox { .. }) => true,
            Some(
                Erasure::HideMessages(_)
                | Erasure::DropEntries(_)
                | Erasure::DropMemos(_)
                | Erasure::DropSources(_)
                | Erasure::DropPrompts(_)
                | Erasure::EraseReasons(_)
                | Erasure::EraseDeadLetters(_)
                | Erasure::DropReactions(_)
                | Erasure::EraseMentions(_)
                | Erasure::BlankChannelNames(_)
                | Erasure::EraseUser,
            )
            | None => false,
        }
    }

    pub fn move_to(
        forgetting: &Forgetting,
        erasure: Option<Erasure>,
        next: Option<ForgetPosition>,
    ) -> Self {
        Self {
            workspace: forgetting.workspace.clone(),
            user: forgetting.user.clone(),
            until: forgetting.until,
            erasure,
            next,
        }
    }
}

/// How many items of each kind were erased.
#[derive(Default)]
struct Erased {
    messages: usize,
    own_messages: usize,
    memos: usize,
}

pub async fn apply(
    connection: &mut Connection,
    counters: &mut Counters,
    write: &ForgetWrite,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (workspace, user) = (write.workspace.as_str(), write.user.as_str());
    let erased = match &write.erasure {
        Some(erasure) => erase(connection, counters, write, erasure, now).await?,
        None => Erased::default(),
    };
    let position = write.next.as_ref().map_or(String::new(), |next| json!(next).to_string());
    let moved = query(sql::MOVE_FORGETTING)
        .bind(workspace)
        .bind(user)
        .bind(position)
        .bind(erased.messages as i64)
        .bind(erased.own_messages as i64)
        .bind(erased.memos as i64)
        .bind(write.until);
    let moved = moved.execute(&mut *connection).await?;
    // If nothing moved, a newer order has restarted the forgetting.
    if write.next.is_none() && moved > 0 {
        let counted = query(sql::FORGETTING_REPORT).bind(workspace).bind(user);
        let row = counted.fetch_one(&mut *connection).await?;
        let note = query(sql::NOTE_FORGOTTEN).bind(workspace);
        let note = note.bind(rows::column::<i64>(&row, "begun_ms")?);
        let note = note.bind(json!(report(&row)?).to_string());
        note.execute(&mut *connection).await?;
        for statement in [sql::DROP_FORGOTTEN_MEMORIES, sql::DROP_FORGETTING] {
            query(statement).bind(workspace).bind(user).execute(&mut *connection).await?;
        }
        query(sql::MARK_SCRUB_DUE).bind(now.as_millisecond()).execute(connection).await?;
    }
    Ok(())
}

async fn erase(
    connection: &mut Connection,
    counters: &mut Counters,
    write: &ForgetWrite,
    erasure: &Erasure,
    now: Timestamp,
) -> Result<Erased, StoreError> {
    let workspace = write.workspace.as_str();
    let mut erased = Erased::default();
    match erasure {
        Erasure::HideMessages(messages) => {
            hide_messages(connection, counters, &write.workspace, messages, now).await?;
        }
        Erasure::DropEntries(entries) => {
            drop_entries(connection, counters, write, entries, now).await?;
        }
        Erasure::DropMemos(ids) => {
            note_memories(connection, write, ids, Timestamp::UNIX_EPOCH).await?;
            for id in ids {
                // Earlier versions of a memo count with it.
                erased.memos += usize::from(memos::remove(connection, *id).await?);
            }
        }
        Erasure::DropSources(messages) => {
            memory::forget_sources(connection, &write.workspace, messages.iter()).await?;
        }
        Erasure::DropPrompts(attempts) => drop_prompts(connection, counters, attempts).await?,
        Erasure::EraseReasons(decisions) => {
            counters.revision += 1;
            let list = json!(decisions).to_string();
            let reasons = query(sql::ERASE_REASONS).bind(&list).bind(counters.revision as i64);
            reasons.execute(&mut *connection).await?;
            for statement in [sql::ERASE_VERDICTS, consents_sql::ERASE_CONSENTS] {
                query(statement).bind(&list).execute(&mut *connection).await?;
            }
        }
        Erasure::EraseOutbox { items, only_for_user, own_messages } => {
            let list = json!(items).to_string();
            for statement in [
                sql::ERASE_DEAD_LETTERS_OF_OUTBOX,
                consents_sql::ERASE_CONSENTS_OF_OUTBOX,
                sql::ERASE_OUTBOX,
            ] {
                query(statement).bind(&list).execute(&mut *connection).await?;
            }
            let anonymize = query(sql::REPLACE_ONLY_FOR).bind(json!(only_for_user).to_string());
            anonymize.bind(FORGOTTEN_USER_ID).execute(&mut *connection).await?;
            let own = revised(counters, own_messages);
            let own = query(sql::ERASE_OWN_MESSAGES).bind(workspace).bind(own);
            let own = own.bind(now.as_millisecond()).execute(&mut *connection).await?;
            erased.own_messages = own as usize;
        }
        Erasure::EraseDeadLetters(ids) => {
            let erase = query(sql::ERASE_DEAD_LETTERS).bind(json!(ids).to_string());
            erase.execute(connection).await?;
        }
        Erasure::DropReactions(reactions) => {
            drop_reactions(connection, counters, write, reactions).await?;
        }
        Erasure::EraseMentions(messages) => {
            let erase =
                query(sql::ERASE_MENTIONS).bind(workspace).bind(json!(messages).to_string());
            let erase = erase.bind(mention_json(write.user.as_str()));
            erase.bind(mention_json(FORGOTTEN_USER_ID)).execute(connection).await?;
        }
        Erasure::BlankChannelNames(channels) => {
            // The new revision makes pages reload the names.
            counters.revision += 1;
            let channels: Vec<[&String; 1]> = channels.iter().map(|channel| [channel]).collect();
            let blank = query(sql::BLANK_CHANNEL_NAMES).bind(workspace);
            let blank = blank.bind(json!(channels).to_string()).bind(write.user.as_str());
            blank.execute(connection).await?;
        }
        Erasure::EraseMessages(messages) => {
            let list = json!(messages).to_string();
            let owed = query(sql::ERASE_ASKER).bind(workspace).bind(&list).bind(FORGOTTEN_USER_ID);
            owed.execute(&mut *connection).await?;
            let erase = query(sql::ERASE_MESSAGES).bind(workspace).bind(list);
            let erase = erase.bind(FORGOTTEN_USER_ID).bind(now.as_millisecond());
            erase.execute(&mut *connection).await?;
            erased.messages = messages.len();
        }
        Erasure::EraseUser => {
            counters.revision += 1;
            erase_user(connection, write).await?;
        }
    }
    Ok(erased)
}

/// Hides messages from all readers, and keeps what is needed to find the data made from them.
pub async fn hide_messages(
    connection: &mut Connection,
    counters: &mut Counters,
    workspace: &WorkspaceId,
    messages: &[MessageRef],
    now: Timestamp,
) -> Result<(), StoreError> {
    let hide = query(sql::HIDE_MESSAGES).bind(workspace.as_str());
    let hide = hide.bind(revised(counters, messages)).bind(now.as_millisecond());
    hide.execute(connection).await?;
    Ok(())
}

/// Lists the messages as JSON, each with a new revision of its own.
fn revised(counters: &mut Counters, messages: &[MessageRef]) -> String {
    let revised = messages.iter().map(|MessageRef(channel, id)| {
        counters.revision += 1;
        json!([channel, id, counters.revision])
    });
    revised.collect::<Value>().to_string()
}

/// A mention in its stored form.
pub fn mention_json(user: &str) -> String {
    json!(Mention::User(UserId::new(user))).to_string()
}

/// Drops entries from all versions of a memory, and schedules a rewrite.
async fn drop_entries(
    connection: &mut Connection,
    counters: &mut Counters,
    write: &ForgetWrite,
    entries: &EntriesToDrop,
    now: Timestamp,
) -> Result<(), StoreError> {
    counters.revision += 1;
    let is_dropped = |entry: &MemoryEntry| {
        entries.texts.contains(&entry.text)
            || entry.messages.iter().any(|message| entries.messages.contains(message))
    };
    let change = |memory: &mut Memory| {
        let lengths = |memory: &Memory| {
            (memory.entries.len(), memory.removed.len(), memory.orphaned_messages.len())
        };
        let before = lengths(memory);
        memory.removed.retain(|entry| !is_dropped(entry));
        let dropped = memory.entries.extract_if(.., |entry| is_dropped(entry));
        memory.orphaned_messages.extend(dropped.flat_map(|entry| entry.messages));
        memory.orphaned_messages.retain(|message| !entries.messages.contains(message));
        memory.orphaned_messages.sort();
        memory.orphaned_messages.dedup();
        lengths(memory) != before
    };
    let (versions, has_changed) =
        memory::change_all_versions(connection, counters, &entries.key, change).await?;
    note_memories(connection, write, &versions, entries.since).await?;
    if has_changed {
        memory::schedule(connection, &[(entries.key.clone(), now + REWRITE_DELAY)]).await?;
    }
    Ok(())
}

/// Records that prompts since then that held one of these memories have to be dropped.
async fn note_memories(
    connection: &mut Connection,
    write: &ForgetWrite,
    ids: &[MemoryId],
    since: Timestamp,
) -> Result<(), StoreError> {
    let note = query(sql::PUT_FORGOTTEN_MEMORIES)
        .bind(write.workspace.as_str())
        .bind(write.user.as_str())
        .bind(json!(ids).to_string())
        .bind(since.as_millisecond());
    note.execute(connection).await?;
    Ok(())
}

/// Drops the prompts and answers of model calls, and the reasons in them.
pub async fn drop_prompts(
    connection: &mut Connection,
    counters: &mut Counters,
    attempts: &[i64],
) -> Result<(), StoreError> {
    counters.revision += 1;
    let list = json!(attempts).to_string();
    let reasons = query(sql::ERASE_REASONS_OF_PROMPTS).bind(&list).bind(counters.revision as i64);
    reasons.execute(&mut *connection).await?;
    for statement in [
        sql::ERASE_VERDICTS_OF_PROMPTS,
        consents_sql::ERASE_CONSENTS_OF_PROMPTS,
        sql::DROP_PROMPTS,
        sql::DROP_PROMPT_MESSAGES,
        sql::DROP_PROMPT_MEMORIES,
        sql::DROP_PROMPT_ORDERS,
    ] {
        query(statement).bind(&list).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Drops reactions. Open pages update the messages that lose one.
async fn drop_reactions(
    connection: &mut Connection,
    counters: &mut Counters,
    write: &ForgetWrite,
    reactions: &[(MessageRef, String)],
) -> Result<(), StoreError> {
    counters.revision += 1;
    let workspace = write.workspace.as_str();
    let messages: HashSet<&MessageRef> = reactions.iter().map(|(message, _)| message).collect();
    let mark = query(sql::MARK_REACTED).bind(workspace).bind(json!(messages).to_string());
    mark.bind(counters.revision as i64).execute(&mut *connection).await?;
    let list: Value = reactions
        .iter()
        .map(|(MessageRef(channel, message), emoji)| json!([channel, message, emoji]))
        .collect();
    let drop = query(sql::DROP_REACTIONS_OF_USER).bind(workspace).bind(write.user.as_str());
    drop.bind(list.to_string()).execute(connection).await?;
    Ok(())
}

/// Erases the user's names. A user who remains a member keeps the current one.
async fn erase_user(connection: &mut Connection, write: &ForgetWrite) -> Result<(), StoreError> {
    let bound =
        |statement| query(statement).bind(write.workspace.as_str()).bind(write.user.as_str());
    let keeps_name = bound(sql::KEEPS_NAME).fetch_optional(&mut *connection).await?;
    let keeps_name = match keeps_name {
        Some(row) => rows::column::<bool>(&row, "keeps_name")?,
        None => true,
    };
    let names: &[&str] = match keeps_name {
        true => &[sql::DROP_FORMER_NAMES],
        false => {
            // What was ordered about them in the meantime named them.
            replace_user(connection, write.workspace.as_str(), write.user.as_str()).await?;
            &[sql::DROP_NAMES, sql::DROP_USER]
        }
    };
    let counted = [sql::DROP_JUDGE_CALLS_ABOUT_USER, ERASE_USER_OF_WEB_CALLS];
    for statement in counted.iter().chain(names) {
        bound(statement).execute(&mut *connection).await?;
    }
    Ok(())
}
