//! The JSON API of memories and memos.

use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_model::chat::{ChannelId, UserId, Visibility, WorkspaceId};
use aizuchi_model::decision::DecisionId;
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::change::{JournalEntry, JournalKind};
use aizuchi_model::memory::{Memory, MemoryEntry, MemoryId, MemoryKey, MessageRef};
use aizuchi_model::recall::terms::{extract_terms, search_terms};
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Visitor;
use crate::actions::requests;
use crate::memories::{
    CurrentMemories, KeyFields, change_memo, entry_id, journal_page, may_read, parse_edit, read,
    read_memos, revert_memo,
};
use crate::refusal::Refusal;
use crate::workspaces::Shown;
use crate::{ApiProblem, JsonResult, Web, views, workspaces};

/// The maximum number of words of a subject that are searched for.
const MAX_SUBJECT_TERMS: usize = 12;

#[derive(Deserialize, JsonSchema)]
pub struct MemoriesQuery {
    /// The id of a workspace; the local room if omitted.
    workspace: Option<String>,
    channel: Option<String>,
    before: Option<i64>,
}

type MemoriesParameters = Result<Query<MemoriesQuery>, QueryRejection>;

/// Returns the workspace and the channel that a query names.
async fn place(
    web: &Web,
    query: &MemoriesQuery,
) -> Result<(WorkspaceId, Option<ChannelId>), ApiProblem> {
    let workspace = workspaces::find(web, query.workspace.as_deref()).await?;
    let channel = match query.channel.as_deref().filter(|channel| !channel.is_empty()) {
        Some(channel) => Some(workspaces::channel(web, &workspace, channel).await?.id),
        None => None,
    };
    Ok((workspace, channel))
}

fn invalid_query(_: QueryRejection) -> ApiProblem {
    Refusal::ChangeNumberNeeded.into()
}

/// The memories and memos that the visitor may read.
#[derive(Serialize, JsonSchema)]
pub struct MemoriesAnswer {
    memories: Vec<MemoryAnswer>,
    /// Whether memories of less recently active threads are left out.
    truncated: bool,
    memos: Vec<MemoAnswer>,
}

/// Identifies a memory.
#[derive(Serialize, JsonSchema)]
pub struct KeyAnswer {
    /// `workspace`, `channel` or `thread`.
    scope: String,
    channel: Option<String>,
    thread: Option<String>,
    /// `long_term` or `short_term`.
    term: String,
}

/// The newest version of a memory, as far as the visitor may read it.
#[derive(Serialize, JsonSchema)]
pub struct MemoryAnswer {
    #[serde(flatten)]
    key: KeyAnswer,
    /// The number of entries that the visitor may not read.
    hidden: usize,
    entries: Vec<EntryAnswer>,
    removed: Vec<EntryAnswer>,
    version: MemoryId,
    ts: f64,
}

#[derive(Serialize, JsonSchema)]
pub struct EntryAnswer {
    /// The id of the entry. It changes whenever the entry does.
    id: String,
    date: String,
    text: Arc<str>,
    visibility: Visibility,
    pinned: bool,
    /// The source messages: the channel and the id of each.
    messages: Vec<MessageRef>,
}

#[derive(Serialize, JsonSchema)]
pub struct MemoAnswer {
    id: MemoryId,
    name: String,
    content: String,
    priority: u8,
    tags: Vec<String>,
    detail: Option<String>,
    channel: ChannelId,
    visibility: Visibility,
    said_by: Option<UserId>,
    ts: f64,
}

impl MemoriesAnswer {
    /// Keeps only what is current, and if `about` has words, only what shares a word with it.
    pub fn retain_about(&mut self, about: &str) {
        let wanted = search_terms(about, MAX_SUBJECT_TERMS);
        let is_about = |text: &str| {
            let terms = extract_terms(text);
            wanted.is_empty() || wanted.iter().any(|term| term.is_match(&terms))
        };
        for memory in &mut self.memories {
            memory.removed.clear();
            memory.entries.retain(|entry| is_about(&entry.text));
        }
        self.memories.retain(|memory| !memory.entries.is_empty() || memory.hidden > 0);
        self.memos.retain(|memo| {
            let detail = memo.detail.as_deref().unwrap_or_default();
            let texts = [memo.name.as_str(), memo.content.as_str(), detail].into_iter();
            texts.chain(memo.tags.iter().map(String::as_str)).any(is_about)
        });
    }
}

/// `GET /api/memories`: of a workspace, or of one of its channels with its threads.
pub async fn list(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    query: MemoriesParameters,
) -> JsonResult<MemoriesAnswer> {
    let Query(query) = query.map_err(invalid_query)?;
    let (workspace, channel) = place(&web, &query).await?;
    Ok(Json(read_as(&web, &visitor.access, &workspace, channel.as_ref()).await?))
}

/// Returns what is remembered of a workspace, or of one of its channels, as this visitor may read it. Reads of private
/// memories are recorded.
pub async fn read_as(
    web: &Web,
    access: &Access,
    workspace: &WorkspaceId,
    channel: Option<&ChannelId>,
) -> Result<MemoriesAnswer, ApiProblem> {
    let CurrentMemories { memories, is_cut } = read(web, workspace, channel).await?;
    workspaces::record_look(web, access, workspace, Shown::Memories(&memories)).await?;
    let memos = read_memos(web, access, workspace, channel).await?;
    let entry = |entry: &MemoryEntry| EntryAnswer {
        id: entry_id(entry),
        date: entry.date.to_string(),
        text: entry.text.clone(),
        visibility: entry.visibility,
        pinned: entry.pinned,
        messages: entry.messages.to_vec(),
    };
    let memory = |memory: &Memory| {
        let readable = |entries: &[MemoryEntry]| -> Vec<EntryAnswer> {
            let readable = entries.iter().filter(|it| may_read(access, workspace, it));
            readable.map(entry).collect()
        };
        let entries = readable(&memory.entries);
        MemoryAnswer {
            key: key_view(&memory.key),
            hidden: memory.entries.len() - entries.len(),
            entries,
            removed: readable(&memory.removed),
            version: memory.id,
            ts: views::seconds(memory.created),
        }
    };
    let memo = |(id, memo): &(MemoryId, Memo)| MemoAnswer {
        id: *id,
        name: memo.name.to_string(),
        content: memo.content.to_string(),
        priority: memo.priority,
        tags: memo.tags.iter().map(ToString::to_string).collect(),
        detail: memo.detail.as_ref().map(ToString::to_string),
        channel: memo.channel.clone(),
        visibility: memo.visibility,
        said_by: memo.said_by.clone(),
        ts: views::seconds(memo.updated),
    };
    Ok(MemoriesAnswer {
        memories: memories.iter().map(memory).collect(),
        truncated: is_cut,
        memos: memos.iter().map(memo).collect(),
    })
}

fn key_view(key: &MemoryKey) -> KeyAnswer {
    let KeyFields { scope, channel, thread, term, .. } = KeyFields::new(key);
    KeyAnswer { scope, channel, thread, term }
}

/// Changes of memories and memos, newest first.
#[derive(Serialize, JsonSchema)]
pub struct ChangesAnswer {
    changes: Vec<ChangeAnswer>,
    /// The value of `before` for the next older page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    older: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
pub struct ChangeAnswer {
    number: i64,
    memory: Option<KeyAnswer>,
    /// The memo that was changed; null if it was a memory.
    memo: Option<MemoryId>,
    ts: f64,
    /// Who made the change: a name from the sign-in, or from the chat a user's id and the time of their command in
    /// epoch milliseconds. Empty: this machine, or no one. Null for viewers.
    by: Option<Arc<str>>,
    kind: JournalKind,
    /// The previous version, if it is still kept.
    before: Option<MemoryId>,
    /// The version that the change made, or the memo.
    after: MemoryId,
    /// The decision for whose reply a tool changed the memo.
    decision: Option<DecisionId>,
}

/// `GET /api/memory-changes`: the changes of memories and memos, newest first.
pub async fn journal(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    query: MemoriesParameters,
) -> JsonResult<ChangesAnswer> {
    let names_users = visitor.access.may_order();
    let Query(query) = query.map_err(invalid_query)?;
    let (workspace, channel) = place(&web, &query).await?;
    let (changes, older) = journal_page(&web, &workspace, channel.as_ref(), query.before).await?;
    let view = |entry: &JournalEntry| ChangeAnswer {
        number: entry.number,
        memory: entry.key.as_ref().map(key_view),
        memo: entry.key.is_none().then_some(entry.after),
        ts: views::seconds(entry.at),
        by: names_users.then(|| entry.by.clone()),
        kind: entry.kind,
        before: entry.before,
        after: entry.after,
        decision: entry.decision.map(DecisionId),
    };
    Ok(Json(ChangesAnswer { changes: changes.iter().map(view).collect(), older }))
}

requests! {
    /// `PUT /api/memos/ID`.
    in_one MemoBody {
        content: String,
        priority: i64,
        #[serde(default)]
        tags: Vec<String>,
        detail: Option<String>,
    }
    format_of_memo |it, web, access, id| {
        let edit = parse_edit(&it.content, it.priority, &it.tags, it.detail.as_deref())?;
        change_memo(web, access, (it.workspace.as_deref(), id), Some(edit)).await
    }

    /// `POST /api/memos/ID/revert`.
    in_one MemoRevertBody {
        /// The version to restore: the `before` of a change.
        to: i64,
    }
    format_of_revert |it, web, access, id| {
        revert_memo(web, access, (it.workspace.as_deref(), id), it.to).await
    }
    /// `DELETE /api/memos/ID`.
    in_one MemoRemove {}
    malformed_order |it, web, access, id| {
        change_memo(web, access, (it.workspace.as_deref(), id), None).await
    }
}
