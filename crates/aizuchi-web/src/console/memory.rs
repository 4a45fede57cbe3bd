//! The memories of a workspace or a channel, and what is remembered of a person. Entries and memos are edited in place, and the journal at the
//! foot lists every change.

pub mod versions;
pub mod views;

use std::collections::BTreeSet;
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_model::chat::{User, WorkspaceId};
use aizuchi_model::memory::{MemoryScope, MessageRef};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_store::order::Order;
use askama::Template;
use axum::Form;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Extension, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use crate::access::Visitor;
use crate::actions::{ActionRequest as _, NO_NUMBER};
use crate::console::layout::{
    Layout, ListPart, ListSlice, Section, address_with, memory_address, render,
};
use crate::console::memory::views::{
    ChannelRow, JournalPage, JournalRow, MemoView, MemoryView, Places, RememberedUser, ViewBuilder,
};
use crate::language::PageLanguage;
use crate::memories::api::{MemoBody, MemoRevertBody};
use crate::memories::{self, CurrentMemories, MemoryOrderBody};
use crate::own_page::{self, OwnPage};
use crate::refusal::Refusal;
use crate::{ApiProblem, Web, workspaces};

#[derive(Template)]
#[template(path = "console/memory.html")]
struct MemoryPage<'a> {
    layout: Layout<'a>,
    workspace: String,
    workspace_label: String,
    /// The id and the label of each workspace.
    workspaces: Vec<(String, String)>,
    channels: Vec<(String, String, bool)>,
    reads_users: bool,
    withheld: Option<&'static str>,
    memories: Vec<MemoryView>,
    /// A note, if memories of threads are left out.
    threads_cut: Option<&'static str>,
    rows: Vec<ChannelRow>,
    memos: Vec<MemoView>,
    /// Set if not all memos are shown.
    slice: Option<ListSlice>,
    journal: Vec<JournalRow>,
    /// A note, if not all of the journal is shown.
    journal_cut: Option<String>,
    older: Option<String>,
    is_newest: bool,
    address: String,
    /// The page to which forms return.
    back: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct MemoryQuery {
    workspace: String,
    channel: String,
    /// Leads to the page of people.
    person: String,
    /// The number of memos before those that are shown.
    memos_after: usize,
    before: Option<i64>,
}

/// The number of memos per page. The API returns all.
const MEMOS: usize = 20;
/// The number of entries of a memory, and of channels, that are shown at first.
const SHOWN: usize = 10;

pub async fn page(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    query: Result<Query<MemoryQuery>, QueryRejection>,
) -> Result<Response, ApiProblem> {
    let query = query.map_or(MemoryQuery::default(), |Query(query)| query);
    if !query.person.trim().is_empty() {
        let fields = [("workspace", &*query.workspace), ("person", query.person.trim())];
        return Ok(Redirect::to(&address_with("/console/people", &fields)).into_response());
    }
    let access = &visitor.access;
    let known = workspaces::all(&web).await?;
    let local = aizuchi_model::chat::local::workspace_id();
    // What is connected comes before what is not, and a team's workspace before the local room.
    let rank = |it: &&WorkspaceId| (workspaces::outage(&web, it).is_some(), **it == local);
    let workspace = match query.workspace.as_str() {
        "" => known.iter().min_by_key(rank).unwrap_or(&local).clone(),
        id => workspaces::find(&web, Some(id)).await?,
    };
    let channel = match query.channel.as_str() {
        "" => None,
        id => Some(workspaces::channel(&web, &workspace, id).await?.id),
    };
    let channel = channel.as_ref();
    let reads_users = access.may_read(&workspace, aizuchi_model::chat::Visibility::Public);
    let CurrentMemories { memories: mut found, is_cut } =
        memories::read(&web, &workspace, channel).await?;
    let memos = memories::read_memos(&web, access, &workspace, channel).await?;
    let places = Places::read(&web, access, &workspace).await?;
    let rows = match channel.is_none() {
        true => places.rows(&found),
        false => Vec::new(),
    };
    let journal = JournalPage::read(&web, access, &workspace, channel, query.before).await?;
    let all = found.clone();
    if channel.is_none() {
        found.retain(|memory| memory.key.scope == MemoryScope::Workspace);
    }
    let journaled = all.iter().filter(|memory| journal.names(memory.id));
    let readable = found
        .iter()
        .chain(journaled)
        .flat_map(|memory| memory.entries.iter().chain(&memory.removed));
    let readable = readable.filter(|entry| memories::may_read(access, &workspace, entry));
    let behind: BTreeSet<MessageRef> =
        readable.flat_map(|entry| entry.messages.iter().cloned()).collect();
    let sources = memories::sources(&web, &workspace, behind).await?;
    let builder = ViewBuilder {
        access,
        language,
        names: web.archive.users(&workspace).await?,
        places: &places,
        sources,
        user: None,
    };
    let journal_rows = journal.rows(&builder, &all, &memos);
    let views = builder.memories(&web, &found).await?;
    let address = memory_address(&workspace, channel);
    let all_memos = memos.len();
    let memos = memos.iter().skip(query.memos_after).take(MEMOS);
    let memos: Vec<MemoView> = memos.map(|(id, memo)| builder.memo(*id, memo)).collect();
    let shown = (memos.len(), all_memos);
    let slice = ListSlice::new(("memos", address.as_str()), query.memos_after, shown, language);
    let is_withheld = !reads_users;
    let journal_part = ListPart {
        name: "changes",
        shown: journal_rows.len(),
        newest: query.before.map(|_| address.clone()),
        older: journal.older.map(|number| format!("{address}&before={number}#journal")),
    };
    render(&MemoryPage {
        layout: Layout::new(&web, &visitor, language, Section::Memory),
        workspaces: workspaces::choices(&web, &known, language),
        channels: places.choices(channel),
        reads_users,
        withheld: is_withheld.then(|| access.withheld(language)),
        memories: views,
        threads_cut: is_cut.then(|| texts::memories::threads_cut(language)),
        rows,
        memos,
        slice,
        journal_cut: journal_part.note(language),
        journal: journal_rows,
        older: journal_part.older,
        is_newest: query.before.is_none(),
        back: match query.memos_after {
            0 => address.clone(),
            after => format!("{address}&memos_after={after}"),
        },
        address,
        workspace_label: workspaces::label(&web, &workspace, language),
        workspace: workspace.to_string(),
    })
    .map(IntoResponse::into_response)
}

/// Returns what is remembered of a user: the entries of memories and the memos that come from their messages or have
/// their name, as far as the visitor may read them.
pub async fn of_user(
    web: &Web,
    access: &Access,
    user: &User,
    language: Language,
) -> Result<(Vec<MemoryView>, Vec<MemoView>), ApiProblem> {
    let workspace = &user.workspace;
    let found = memories::read_all(web, workspace).await?.memories;
    let entries = found.iter().flat_map(|memory| &memory.entries);
    let readable = entries.filter(|entry| memories::may_read(access, workspace, entry));
    let behind = readable.flat_map(|entry| entry.messages.iter().cloned()).collect();
    let builder = ViewBuilder {
        access,
        language,
        names: web.archive.users(workspace).await?,
        places: &Places::read(web, access, workspace).await?,
        sources: memories::sources(web, workspace, behind).await?,
        user: Some(RememberedUser(user)),
    };
    let memos = memories::read_memos(web, access, workspace, None).await?.into_iter();
    let memos = memos.filter(|(_, memo)| RememberedUser(user).is_in_memo(memo));
    let memos = memos.map(|(id, memo)| builder.memo(id, &memo)).collect();
    Ok((builder.memories(web, &found).await?, memos))
}

/// The fields of the forms on the page.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryForm {
    workspace: Option<String>,
    #[serde(default)]
    scope: String,
    channel: Option<String>,
    thread: Option<String>,
    #[serde(default)]
    term: String,
    #[serde(default)]
    version: i64,
    /// An order as in the API, or `memo`, `remove memo` and `revert memo`.
    order: String,
    entry: Option<String>,
    text: Option<String>,
    to: Option<i64>,
    memo: Option<i64>,
    priority: Option<i64>,
    tags: Option<String>,
    detail: Option<String>,
    /// The page to return to.
    #[serde(default, deserialize_with = "own_page::if_own")]
    back: Option<OwnPage>,
}

pub async fn order(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    form: Result<Form<MemoryForm>, FormRejection>,
) -> Result<Redirect, ApiProblem> {
    let Form(form) = form.map_err(|_| Refusal::IncompleteForm)?;
    let back = OwnPage::redirect(form.back.as_ref(), "/console/memory");
    web.apply(form.order(&web, &visitor.access).await?).await?;
    Ok(back)
}

impl MemoryForm {
    async fn order(self, web: &Web, access: &Access) -> Result<Order, ApiProblem> {
        let Self { workspace, scope, channel, thread, term, version, order, .. } = self;
        let (entry, text, to) = (self.entry, self.text, self.to);
        let memo = || self.memo.ok_or(Refusal::IncompleteForm);
        match order.as_str() {
            "revert memo" => {
                let to = to.ok_or(Refusal::IncompleteForm)?;
                MemoRevertBody { workspace, to }.order(web, access, memo()?).await
            }
            "memo" => {
                let tags = self.tags.unwrap_or_default();
                let tags = tags.split([',', '、']).map(str::to_owned).collect();
                let content = text.unwrap_or_default();
                let (id, detail) = (memo()?, self.detail);
                let priority = self.priority.ok_or(Refusal::IncompleteForm)?;
                let body = MemoBody { workspace, content, priority, tags, detail };
                body.order(web, access, id).await
            }
            "remove memo" => {
                memories::change_memo(web, access, (workspace.as_deref(), memo()?), None).await
            }
            _ => {
                let body = MemoryOrderBody {
                    workspace,
                    scope,
                    channel,
                    thread,
                    term,
                    version,
                    order,
                    entry,
                    text,
                    to,
                };
                body.order(web, access, NO_NUMBER).await
            }
        }
    }
}
