//! Memories and memos, read and changed by the visitors who may do so.

pub mod api;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_actions::refusal::ActionRefusal;
use aizuchi_model::chat::{ChannelId, Message, MessageId, WorkspaceId, to_single_line};
use aizuchi_model::memo::{Memo, parse_content, parse_priority, parse_tags};
use aizuchi_model::memory::change::{JournalEntry, MemoEdit, MemoryChange};
use aizuchi_model::memory::{
    Memory, MemoryEntry, MemoryId, MemoryKey, MemoryScope, MemoryTerm, MessageRef,
};
use aizuchi_model::texts::refusals;
use aizuchi_store::order::Order;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::actions::requests;
use crate::refusal::Refusal;
use crate::workspaces::Shown;
use crate::{ApiProblem, Web, workspaces};

/// The maximum number of threads of a channel whose memories are shown.
const MAX_THREADS: usize = 50;
/// The maximum number of threads of a channel in which a user is searched for.
const MAX_SEARCHED_THREADS: usize = 10_000;
/// The maximum length of an entry that a person writes, in characters.
const MAX_ENTRY_LENGTH: usize = 1000;
/// The maximum length of a memo's detail.
const MAX_DETAIL_LENGTH: usize = 10_000;
/// The number of characters in an entry's id.
const ID_LENGTH: usize = 16;
/// The number of changes on one page.
pub const JOURNAL_PAGE: usize = 50;

/// The fields with which forms and bodies name a memory.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct KeyFields {
    pub workspace: Option<String>,
    pub scope: String,
    pub channel: Option<String>,
    pub thread: Option<String>,
    pub term: String,
}

/// Returns the id of an entry on pages and in the API, which changes whenever the entry does.
pub fn entry_id(entry: &MemoryEntry) -> String {
    let digest = Sha256::digest(json!(entry).to_string());
    let digits = digest.iter().map(|byte| format!("{byte:02x}"));
    digits.collect::<String>().chars().take(ID_LENGTH).collect()
}

pub fn may_read(access: &Access, workspace: &WorkspaceId, entry: &MemoryEntry) -> bool {
    access.may_read(workspace, entry.visibility)
}

impl KeyFields {
    /// Returns the memory that the fields name.
    pub async fn parse(&self, web: &Web) -> Result<MemoryKey, ApiProblem> {
        let workspace = workspaces::find(web, self.workspace.as_deref()).await?;
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let (channel, thread) = (given(&self.channel), given(&self.thread));
        let scope = match (self.scope.as_str(), channel, thread) {
            ("workspace", None, None) => Some(MemoryScope::Workspace),
            ("channel", Some(channel), None) => Some(MemoryScope::Channel(ChannelId::new(channel))),
            ("thread", Some(channel), Some(thread)) => {
                Some(MemoryScope::Thread(ChannelId::new(channel), MessageId::new(thread)))
            }
            _ => None,
        };
        let terms = [MemoryTerm::ShortTerm, MemoryTerm::LongTerm];
        let term = terms.into_iter().find(|term| term.name() == self.term);
        let key = scope.zip(term).map(|(scope, term)| MemoryKey { workspace, scope, term });
        Ok(key.ok_or(ActionRefusal::NoMemory)?)
    }

    pub fn new(key: &MemoryKey) -> Self {
        let thread = match &key.scope {
            MemoryScope::Workspace | MemoryScope::Channel(_) => None,
            MemoryScope::Thread(_, thread) => Some(thread.to_string()),
        };
        Self {
            workspace: Some(key.workspace.to_string()),
            scope: key.scope.name().to_owned(),
            channel: key.channel().map(ToString::to_string),
            thread,
            term: key.term.name().to_owned(),
        }
    }
}

/// Current memories, those that last longer first.
pub struct CurrentMemories {
    pub memories: Vec<Memory>,
    /// Whether memories of less recently active threads are left out.
    pub is_cut: bool,
}

/// Returns the current memories of a workspace, or of one of its channels with its threads. A caller that shows them
/// has to record the read.
pub async fn read(
    web: &Web,
    workspace: &WorkspaceId,
    channel: Option<&ChannelId>,
) -> Result<CurrentMemories, ApiProblem> {
    let memories = web.store.memories(workspace).await?;
    let mut current = CurrentMemories { memories, is_cut: false };
    if let Some(channel) = channel {
        current.memories.retain(|memory| memory.key.channel() == Some(channel));
        current.add_threads(web, workspace, channel, MAX_THREADS).await?;
    }
    sort(&mut current.memories);
    Ok(current)
}

/// Returns the current memories of a workspace with all of its threads, to search for a user.
pub async fn read_all(web: &Web, workspace: &WorkspaceId) -> Result<CurrentMemories, ApiProblem> {
    let memories = web.store.memories(workspace).await?;
    let mut current = CurrentMemories { memories, is_cut: false };
    for channel in web.archive.channels(workspace).await? {
        current.add_threads(web, workspace, &channel.id, MAX_SEARCHED_THREADS).await?;
    }
    sort(&mut current.memories);
    Ok(current)
}

impl CurrentMemories {
    async fn add_threads(
        &mut self,
        web: &Web,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        most: usize,
    ) -> Result<(), ApiProblem> {
        // Fetch one more, to learn whether there are others.
        let mut threads = web.archive.thread_memories(workspace, channel, most + 1).await?;
        self.is_cut |= threads.len() > most;
        threads.truncate(most);
        self.memories.extend(threads);
        Ok(())
    }
}

/// Sorts memories, those that last longer first.
fn sort(memories: &mut [Memory]) {
    memories.sort_by(|one, other| {
        (&one.key.scope, other.key.term).cmp(&(&other.key.scope, one.key.term))
    });
}

/// Returns the memos of a workspace, or those that belong to one of its channels, that the visitor may read. Reads of
/// private ones are recorded.
pub async fn read_memos(
    web: &Web,
    access: &Access,
    workspace: &WorkspaceId,
    channel: Option<&ChannelId>,
) -> Result<Vec<(MemoryId, Memo)>, ApiProblem> {
    let mut memos = web.archive.all_memos(workspace).await?;
    memos.retain(|(_, memo)| {
        channel.is_none_or(|channel| memo.channel == *channel)
            && access.may_read(workspace, memo.visibility)
    });
    workspaces::record_look(web, access, workspace, Shown::Memos(&memos)).await?;
    Ok(memos)
}

/// Returns these messages by their references.
pub async fn sources(
    web: &Web,
    workspace: &WorkspaceId,
    wanted: BTreeSet<MessageRef>,
) -> Result<HashMap<MessageRef, Arc<Message>>, ApiProblem> {
    let wanted: Vec<MessageRef> = wanted.into_iter().collect();
    let found = web.store.source_messages(workspace, &wanted).await?.into_iter();
    let named = found.map(|(message, _)| {
        let channel = message.conversation.channel.clone();
        (MessageRef(channel, message.id.clone()), message)
    });
    Ok(named.collect())
}

requests! {
    /// `POST /api/memories`: changes a memory. Visitors cannot change what they may not read.
    in_one MemoryOrderBody {
        scope: String,
        channel: Option<String>,
        thread: Option<String>,
        term: String,
        version: i64,
        order: String,
        entry: Option<String>,
        text: Option<String>,
        to: Option<i64>,
    }
    format_of_memory_order |it, web, access, _| {
        access.require_orders()?;
        let key = KeyFields {
            workspace: it.workspace,
            scope: it.scope,
            channel: it.channel,
            thread: it.thread,
            term: it.term,
        };
        let key = key.parse(web).await?;
        let workspace = &key.workspace;
        let versions = web.archive.memory_versions(&key).await?;
        let current = versions.last().ok_or(ActionRefusal::NoMemory)?;
        let entry = |among: &[MemoryEntry]| {
            let id = it.entry.as_deref().unwrap_or_default();
            let found = among.iter().find(|entry| entry_id(entry) == id).cloned();
            // The same refusal as for a changed entry, so that it does not tell whether an unreadable one exists.
            let readable = found.filter(|entry| may_read(access, workspace, entry));
            readable.ok_or(ActionRefusal::EntryChanged)
        };
        let change = match it.order.as_str() {
            "edit" => {
                let text = to_single_line(it.text.as_deref().unwrap_or_default());
                if text.is_empty() || text.chars().count() > MAX_ENTRY_LENGTH {
                    return Err(ActionRefusal::EntryLength { most: MAX_ENTRY_LENGTH }.into());
                }
                MemoryChange::Edit { entry: entry(&current.entries)?, text: text.into() }
            }
            "pin" => MemoryChange::Pin(entry(&current.entries)?),
            "unpin" => MemoryChange::Unpin(entry(&current.entries)?),
            "remove" => MemoryChange::Remove(entry(&current.entries)?),
            "restore" => MemoryChange::Restore(entry(&current.removed)?),
            "regenerate" => {
                let mut all = current.entries.iter().chain(&current.removed);
                // Regenerating replaces all entries, including those that the visitor may not read.
                if !all.all(|entry| may_read(access, workspace, entry)) {
                    return Err(ActionRefusal::OnlyAdminRegenerates.into());
                }
                MemoryChange::Regenerate
            }
            "revert" => {
                let to = MemoryId(it.to.ok_or_else(malformed)?);
                let old = versions.iter().find(|version| version.id == to);
                let old = old.ok_or(ActionRefusal::EntryChanged)?;
                let mut touched = [&old.entries, &old.removed, &current.entries, &current.removed]
                    .into_iter()
                    .flatten();
                if !touched.all(|entry| may_read(access, workspace, entry)) {
                    return Err(ActionRefusal::OnlyAdminReverts.into());
                }
                MemoryChange::Revert(to)
            }
            _ => return Err(malformed()),
        };
        let (version, by) = (MemoryId(it.version), access.signature());
        Ok(Order::ChangeMemory { key, version, change, by })
    }
}

/// Returns the order to change or remove a memo.
pub async fn change_memo(
    web: &Web,
    access: &Access,
    (workspace, id): (Option<&str>, i64),
    edit: Option<MemoEdit>,
) -> Result<Order, ApiProblem> {
    access.require_orders()?;
    let (workspace, id) = (workspaces::find(web, workspace).await?, MemoryId(id));
    let memos = web.archive.all_memos(&workspace).await?;
    let is_readable = |(known, memo): &(MemoryId, Memo)| {
        *known == id && access.may_read(&workspace, memo.visibility)
    };
    match memos.iter().any(is_readable) {
        true => Ok(Order::ChangeMemo { workspace, id, edit, by: access.signature() }),
        false => Err(ActionRefusal::NoMemo.into()),
    }
}

/// Returns the order to revert a memo to one of its versions. Visitors cannot revert to a version that they may not
/// read.
pub async fn revert_memo(
    web: &Web,
    access: &Access,
    (workspace, id): (Option<&str>, i64),
    version: i64,
) -> Result<Order, ApiProblem> {
    access.require_orders()?;
    let workspace = workspaces::find(web, workspace).await?;
    let (id, version) = (MemoryId(id), MemoryId(version));
    let mut touched = web.archive.memo_versions(&workspace, &[version]).await?;
    if touched.is_empty() {
        return Err(ActionRefusal::EntryChanged.into());
    }
    let all = web.archive.all_memos(&workspace).await?;
    let current = all.into_iter().filter(|(known, _)| *known == id);
    let versions = touched.len();
    touched.extend(current);
    // One that is not found may be of a place that the visitor does not reach.
    if touched.len() == versions && !web.scope.includes(&workspace, None) {
        return Err(ActionRefusal::NoMemo.into());
    }
    if !touched.iter().all(|(_, memo)| access.may_read(&workspace, memo.visibility)) {
        return Err(ActionRefusal::NoMemo.into());
    }
    Ok(Order::RevertMemo { workspace, id, version, by: access.signature() })
}

/// Parses the edited fields of a memo.
pub fn parse_edit(
    content: &str,
    priority: i64,
    tags: &[String],
    detail: Option<&str>,
) -> Result<MemoEdit, ApiProblem> {
    let detail = detail.map(str::trim).filter(|detail| !detail.is_empty());
    if detail.is_some_and(|detail| detail.chars().count() > MAX_DETAIL_LENGTH) {
        return Err(ActionRefusal::DetailLength { most: MAX_DETAIL_LENGTH }.into());
    }
    Ok(MemoEdit {
        content: parse_content(content).map_err(ActionRefusal::Memo)?,
        priority: parse_priority(priority).map_err(ActionRefusal::Memo)?,
        tags: parse_tags(tags).map_err(ActionRefusal::Memo)?,
        detail: detail.map(str::to_owned),
    })
}

fn malformed() -> ApiProblem {
    Refusal::WrongBody(refusals::format_of_memory_order).into()
}

/// Returns the newest changes before one of them, and the cursor of the next older page.
pub async fn journal_page(
    web: &Web,
    workspace: &WorkspaceId,
    channel: Option<&ChannelId>,
    before: Option<i64>,
) -> Result<(Vec<JournalEntry>, Option<i64>), ApiProblem> {
    // One more than is shown, to learn whether there is an older page.
    let limit = JOURNAL_PAGE + 1;
    let mut found = web.archive.memory_journal(workspace, channel, before, limit).await?;
    let is_full = found.len() > JOURNAL_PAGE;
    found.truncate(JOURNAL_PAGE);
    let older = found.last().filter(|_| is_full).map(|entry| entry.number);
    Ok((found, older))
}
