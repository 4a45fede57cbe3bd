//! The workspace and the channel that a request is about.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_actions::refusal::ActionRefusal;
use aizuchi_model::access_role::AccessRole;
use aizuchi_model::chat::local::workspace_id;
use aizuchi_model::chat::{Channel, ChannelId, MessageId, Visibility, WorkspaceId};
use aizuchi_model::decision::Decision;
use aizuchi_model::decision::consent::Consent;
use aizuchi_model::decision::proposal::Proposal;
use aizuchi_model::flow::DeadLetter;
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::{Memory, MemoryEntry, MemoryId, MessageRef};
use aizuchi_model::persona::Language;
use aizuchi_model::platform::backfill_progress::BackfillProgress;
use aizuchi_model::texts;
use aizuchi_store::StoreError;
use aizuchi_store::order::Order;
use aizuchi_store::private_reads::{PrivateRead, PrivateText};
use aizuchi_store::query::DecisionQuery;
use aizuchi_store::stored_message::StoredMessage;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::future::try_join_all;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Visitor;
use crate::refusal::Refusal;
use crate::{ApiProblem, JsonResult, Web};

/// The workspace that a request is about.
#[derive(Deserialize, JsonSchema)]
pub struct WorkspaceQuery {
    /// The id of a workspace; the local room if omitted.
    pub workspace: Option<String>,
}

/// The workspaces that a request is about.
#[derive(Deserialize, JsonSchema)]
pub struct WorkspaceFilter {
    /// Only this workspace, by its id; all workspaces if omitted.
    pub workspace: Option<String>,
}

pub type WorkspaceParameter = Result<Query<WorkspaceQuery>, QueryRejection>;
pub type FilterParameter = Result<Query<WorkspaceFilter>, QueryRejection>;

/// Middleware that refuses a request that names several workspaces, rather than answering it for an arbitrary one.
pub async fn expect_one(request: Request, next: Next) -> Result<Response, ApiProblem> {
    let fields = Query::<Vec<(String, String)>>::try_from_uri(request.uri());
    let named = fields
        .map_or(0, |Query(fields)| fields.iter().filter(|(name, _)| name == "workspace").count());
    match named {
        ..2 => Ok(next.run(request).await),
        2.. => Err(Refusal::UnclearQuery.into()),
    }
}

/// Returns all known workspaces, the local room first.
pub async fn all(web: &Web) -> Result<Vec<WorkspaceId>, StoreError> {
    let mut known: BTreeSet<WorkspaceId> = web.archive.workspaces().await?.into_iter().collect();
    for remote in web.remotes.read().values() {
        let workspace = remote.workspace();
        if !known.contains(&workspace) && !web.archive.channels(&workspace).await?.is_empty() {
            known.insert(workspace);
        }
    }
    let local = workspace_id();
    known.remove(&local);
    let local = [local].into_iter().filter(|local| web.scope.touches(local));
    Ok(local.chain(known).collect())
}

/// Finds the workspace with this id, or without one, the local room.
pub async fn find(web: &Web, workspace: Option<&str>) -> Result<WorkspaceId, ApiProblem> {
    let workspace = match workspace.filter(|id| !id.is_empty()) {
        Some(id) => WorkspaceId::new(id),
        None => workspace_id(),
    };
    let is_known = workspace == workspace_id() && web.scope.touches(&workspace)
        || !web.archive.channels(&workspace).await?.is_empty()
        || web.archive.workspaces().await?.contains(&workspace);
    if is_known {
        return Ok(workspace);
    }
    Err(Refusal::UnknownWorkspace(workspace.to_string()).into())
}

/// Finds the workspace with this id. `None` if there is no id, which means all workspaces.
pub async fn find_only(
    web: &Web,
    workspace: Option<&str>,
) -> Result<Option<WorkspaceId>, ApiProblem> {
    match workspace.filter(|id| !id.is_empty()) {
        Some(id) => find(web, Some(id)).await.map(Some),
        None => Ok(None),
    }
}

/// Returns the one workspace that is wanted, or without one, all.
pub async fn wanted(web: &Web, only: Option<WorkspaceId>) -> Result<Vec<WorkspaceId>, StoreError> {
    match only {
        Some(only) => Ok(vec![only]),
        None => all(web).await,
    }
}

/// Returns the workspace that a query names, or if it names none, the local room.
pub async fn named(web: &Web, query: WorkspaceParameter) -> Result<WorkspaceId, ApiProblem> {
    let Query(query) = query.map_err(unclear)?;
    find(web, query.workspace.as_deref()).await
}

/// Returns the workspace that a query names. `None` if it names none, which means all workspaces.
pub async fn only(web: &Web, filter: FilterParameter) -> Result<Option<WorkspaceId>, ApiProblem> {
    let Query(filter) = filter.map_err(unclear)?;
    find_only(web, filter.workspace.as_deref()).await
}

/// A query that cannot be parsed may name a workspace, so it must not count as one that names none.
pub fn unclear(_: QueryRejection) -> ApiProblem {
    Refusal::UnclearQuery.into()
}

/// Returns the names of a workspace's channels that the visitor may know.
pub async fn channel_names(
    web: &Web,
    access: &Access,
    workspace: &WorkspaceId,
) -> Result<HashMap<ChannelId, Arc<str>>, StoreError> {
    let channels = web.archive.channels(workspace).await?.into_iter();
    let named = channels.filter(|channel| access.may_name(channel.visibility));
    Ok(named.map(|channel| (channel.id, channel.name)).collect())
}

/// Refuses a request about another workspace, where only the local room supports it.
pub async fn require_local(web: &Web, workspace: Option<&str>) -> Result<(), ApiProblem> {
    match find(web, workspace).await? == workspace_id() {
        true => Ok(()),
        false => Err(Refusal::OnlyLocal.into()),
    }
}

/// Finds a channel of a workspace.
pub async fn channel(web: &Web, workspace: &WorkspaceId, id: &str) -> Result<Channel, ApiProblem> {
    let channels = web.archive.channels(workspace).await?;
    let found = channels.into_iter().find(|channel| channel.id == ChannelId::new(id));
    found.ok_or_else(|| {
        ActionRefusal::UnknownChannel { id: id.to_owned(), workspace: workspace.clone() }.into()
    })
}

/// Whether a thread has any message. Its first one may be older than the known history of the channel.
pub async fn has_thread(
    web: &Web,
    workspace: &WorkspaceId,
    channel: &ChannelId,
    thread: &MessageId,
) -> Result<bool, ApiProblem> {
    if web.archive.message(workspace, channel, thread).await?.is_some() {
        return Ok(true);
    }
    let threads = web.archive.threads_since(workspace, channel, Timestamp::UNIX_EPOCH).await?;
    Ok(threads.iter().any(|(known, _)| known == thread))
}

/// What is about to be shown to a visitor, all of one workspace.
#[derive(Clone, Copy)]
pub enum Shown<'a> {
    Messages(&'a [StoredMessage]),
    /// With their reasons.
    Decisions(&'a [Decision]),
    /// With the texts that were not posted.
    DeadLetters(&'a [DeadLetter]),
    /// With the text that may be approved.
    Proposals(&'a [Proposal]),
    /// With the arguments of calls that may be allowed.
    Calls(&'a [Consent]),
    Memories(&'a [Memory]),
    Memos(&'a [(MemoryId, Memo)]),
    /// The orders that apply in these channels, which are private and readable.
    OrdersOf(&'a BTreeSet<ChannelId>),
}

/// Records that a visitor reads private text. The response is sent only after that. A message is private if its
/// channel was when it was sent, and so is a memory that was made from it. What a model wrote is private if its
/// channel is private now, or if a message that it is about is private. What the visitor may not read is neither shown
/// nor recorded.
pub async fn record_look(
    web: &Web,
    access: &Access,
    workspace: &WorkspaceId,
    shown: Shown<'_>,
) -> Result<(), ApiProblem> {
    if access.reader().is_none() {
        return Ok(());
    }
    let (what, channels) = match shown {
        Shown::Messages(messages) => {
            let read = messages.iter().filter(|stored| access.may_read_message(stored));
            let private = read.filter(|stored| stored.visibility != Visibility::Public);
            let channels = private.map(|stored| stored.message.conversation.channel.clone());
            (PrivateText::Messages, channels.collect())
        }
        Shown::Memories(memories) => {
            let private = |entry: &MemoryEntry| {
                entry.visibility != Visibility::Public
                    && access.may_read(workspace, entry.visibility)
            };
            let private = memories.iter().filter(|memory| {
                let mut entries = memory.entries.iter().chain(&memory.removed);
                entries.any(private)
            });
            let channels = private.filter_map(|memory| memory.key.channel().cloned()).collect();
            (PrivateText::Memories, channels)
        }
        Shown::Memos(memos) => {
            let private = memos.iter().filter(|(_, memo)| {
                memo.visibility != Visibility::Public && access.may_read(workspace, memo.visibility)
            });
            (PrivateText::Memories, private.map(|(_, memo)| memo.channel.clone()).collect())
        }
        Shown::OrdersOf(channels) => (PrivateText::Messages, channels.clone()),
        Shown::Decisions(_) | Shown::DeadLetters(_) | Shown::Proposals(_) | Shown::Calls(_)
            if !access.may_read_models(workspace) =>
        {
            return Ok(());
        }
        Shown::Decisions(decisions) => {
            (PrivateText::Decisions, private_channels(web, workspace, decisions).await?)
        }
        Shown::DeadLetters(letters) => {
            let channels = channels_of_letters(web, workspace, letters).await?;
            (PrivateText::DeadLetters, channels)
        }
        Shown::Proposals(proposals) => {
            let public = public_channels(web, workspace).await?;
            let is_shown = |it: &&Proposal| it.text.is_some() || it.original.is_some();
            let channels = proposals
                .iter()
                .filter(is_shown)
                .map(|proposal| proposal.conversation.channel.clone());
            let private = channels.filter(|channel| !public.contains(channel));
            (PrivateText::Proposals, private.collect())
        }
        Shown::Calls(consents) => {
            let public = public_channels(web, workspace).await?;
            let channels = consents.iter().map(|consent| consent.conversation.channel.clone());
            let private = channels.filter(|channel| !public.contains(channel));
            (PrivateText::Calls, private.collect())
        }
    };
    note_reads(web, access, workspace, what, &channels).await
}

/// Records that a visitor reads text of these private channels.
pub async fn note_reads(
    web: &Web,
    access: &Access,
    workspace: &WorkspaceId,
    what: PrivateText,
    channels: &BTreeSet<ChannelId>,
) -> Result<(), ApiProblem> {
    let Some(reader) = access.reader() else { return Ok(()) };
    let mut notes = Vec::with_capacity(channels.len());
    for channel in channels {
        let (workspace, channel) = (workspace.clone(), channel.clone());
        let read = PrivateRead { workspace, channel, reader: reader.clone(), what };
        notes.push(web.store.order(Order::NotePrivateRead(read), web.clock.now()));
    }
    // Concurrent writes share one transaction.
    try_join_all(notes).await?;
    Ok(())
}

/// Returns the channels of those of these decisions that are private.
pub async fn private_channels(
    web: &Web,
    workspace: &WorkspaceId,
    decisions: &[Decision],
) -> Result<BTreeSet<ChannelId>, ApiProblem> {
    let public = public_channels(web, workspace).await?;
    let of_private = decisions.iter().map(|decision| &decision.conversation.channel);
    let of_private = of_private.filter(|channel| !public.contains(channel)).cloned();
    let mut private: BTreeSet<ChannelId> = of_private.collect();
    let about: Vec<MessageRef> = decisions
        .iter()
        .flat_map(|decision| {
            let channel = &decision.conversation.channel;
            let messages = decision.messages.iter().chain(&decision.posted_messages);
            messages.map(|message| MessageRef(channel.clone(), message.clone()))
        })
        .filter(|MessageRef(channel, _)| !private.contains(channel))
        .collect();
    let about = web.store.source_messages(workspace, &about).await?.into_iter();
    let said_in_private = about.filter(|(_, visibility)| *visibility != Visibility::Public);
    private.extend(said_in_private.map(|(message, _)| message.conversation.channel.clone()));
    Ok(private)
}

async fn channels_of_letters(
    web: &Web,
    workspace: &WorkspaceId,
    letters: &[DeadLetter],
) -> Result<BTreeSet<ChannelId>, ApiProblem> {
    let public = public_channels(web, workspace).await?;
    let (mut private, mut decisions) = (BTreeSet::new(), Vec::new());
    for letter in letters.iter().filter(|letter| letter.text.is_some()) {
        let channel = &letter.conversation.channel;
        if !public.contains(channel) {
            private.insert(channel.clone());
        } else if let Some(id) = letter.decision {
            let query = DecisionQuery::One { workspace: workspace.clone(), id };
            decisions.extend(web.archive.decisions(query).await?);
        }
    }
    private.extend(private_channels(web, workspace, &decisions).await?);
    Ok(private)
}

async fn public_channels(
    web: &Web,
    workspace: &WorkspaceId,
) -> Result<BTreeSet<ChannelId>, ApiProblem> {
    let channels = web.archive.channels(workspace).await?.into_iter();
    let public = channels.filter(|channel| channel.visibility == Visibility::Public);
    Ok(public.map(|channel| channel.id).collect())
}

/// The known workspaces, the local room first.
#[derive(Serialize, JsonSchema)]
pub struct WorkspacesAnswer {
    workspaces: Vec<WorkspaceView>,
    /// The visitor's role: `viewer`, `operator` or `admin`; null without a sign-in.
    role: Option<&'static str>,
}

#[derive(Serialize, JsonSchema)]
pub struct WorkspaceView {
    id: WorkspaceId,
    /// The name that users see; null for the local room, for direct messages, and while the workspace is not connected.
    name: Option<String>,
    /// The name of the platform; null for the local room, and while the workspace is not connected.
    platform: Option<&'static str>,
    local: bool,
    connected: bool,
    /// Why the workspace cannot be heard now; null if it can.
    outage: Option<String>,
}

/// `GET /api/workspaces`.
pub async fn workspaces(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    filter: FilterParameter,
) -> JsonResult<WorkspacesAnswer> {
    let wanted = match only(&web, filter).await? {
        Some(workspace) => vec![workspace],
        None => all(&web).await?,
    };
    let mut workspaces = Vec::new();
    for workspace in wanted {
        let outage = outage(&web, &workspace);
        workspaces.push(WorkspaceView {
            name: name(&web, &workspace),
            platform: platform_name(&web, &workspace),
            local: workspace == workspace_id(),
            connected: outage.is_none(),
            outage,
            id: workspace,
        });
    }
    let role = visitor.access.role().map(AccessRole::name);
    Ok(Json(WorkspacesAnswer { workspaces, role }))
}

/// Returns why a workspace cannot be heard now, if so.
pub fn outage(web: &Web, workspace: &WorkspaceId) -> Option<String> {
    match web.platforms.for_workspace(workspace) {
        Ok(platform) => platform.outage(),
        Err(_) => Some("it is not connected".to_owned()),
    }
}

/// Returns how far the reading of a workspace's channels has come. Its platform counts the channels of all workspaces.
pub async fn backfill_progress(
    web: &Web,
    workspace: &WorkspaceId,
) -> Result<Option<BackfillProgress>, ApiProblem> {
    let platform = web.platforms.for_workspace(workspace).ok();
    let Some(mut progress) = platform.and_then(|platform| platform.backfill_progress()) else {
        return Ok(None);
    };
    let own = web.archive.channels(workspace).await?.into_iter();
    let own: BTreeSet<ChannelId> = own.map(|channel| channel.id).collect();
    progress.behind.retain(|id| own.contains(id));
    progress.failing.retain(|id, _| own.contains(id));
    progress.channels = own.len();
    Ok(Some(progress))
}

/// Returns the name by which its users know a workspace, as long as it is connected.
pub fn name(web: &Web, workspace: &WorkspaceId) -> Option<String> {
    web.remotes.read().values().find_map(|remote| remote.workspace_name(workspace))
}

/// Returns the label of a workspace on a page: its name and its id, because names may be alike.
pub fn label(web: &Web, workspace: &WorkspaceId, language: Language) -> String {
    if *workspace == workspace_id() {
        return texts::console::room(language).to_owned();
    }
    match name(web, workspace) {
        Some(name) => format!("{name} · {workspace}"),
        None => workspace.to_string(),
    }
}

/// Returns the workspaces to choose from: the id and the label of each.
pub fn choices(web: &Web, known: &[WorkspaceId], language: Language) -> Vec<(String, String)> {
    known.iter().map(|it| (it.to_string(), label(web, it, language))).collect()
}

/// Returns the name by which users know the platform. `None` for the local room, or if it is not connected.
pub fn platform_name(web: &Web, workspace: &WorkspaceId) -> Option<&'static str> {
    let remotes = web.remotes.read();
    let remote = remotes.values().find(|remote| {
        let own = remote.workspace();
        // An app may be in many workspaces, whose ids begin with its own.
        own == *workspace || own.as_str() == workspace.platform()
    });
    remote.map(|remote| remote.account().platform)
}
