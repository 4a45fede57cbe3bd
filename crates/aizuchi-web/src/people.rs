//! What is known of a person, as a summary and as a text for them, and forgetting them while the program runs.

use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_actions::refusal::ActionRefusal;
use aizuchi_model::chat::{AuthorKind, ChannelId, User, UserId, Visibility, WorkspaceId};
use aizuchi_store::order::Order;
use aizuchi_store::order_journal::{GivenOrder, OrderJournalQuery, OrderKind, OrderRecord};
use aizuchi_store::people::{ForgetReport, PersonTraces, WrittenIn};
use aizuchi_store::private_reads::PrivateText;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Visitor;
use crate::order_journal::may_name_users;
use crate::refusal::Refusal;
use crate::{ApiProblem, JsonResult, Web, views, workspaces};

/// The number of forgettings that are listed.
const LISTED: usize = 20;
/// The number of a person's newest messages that are counted. Some write many, and counting all takes long.
pub const COUNTED: usize = 2000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PersonQuery {
    /// The id of a workspace; the local room if omitted.
    workspace: Option<String>,
    /// The person's id.
    user: String,
}

type PersonParameter = Result<Query<PersonQuery>, QueryRejection>;

/// What is known of a person, in numbers.
#[derive(Serialize, JsonSchema)]
pub struct PersonAnswer {
    id: UserId,
    name: Arc<str>,
    bot: bool,
    opted_out: bool,
    channels: Vec<WrittenView>,
    /// The number of memories that were made from their messages.
    memories: usize,
    memos: usize,
}

/// What a person wrote in a channel that the visitor may read, among their newest 2000 messages.
#[derive(Serialize, JsonSchema)]
pub struct WrittenView {
    pub channel: ChannelId,
    pub name: String,
    pub messages: u64,
    /// When the last one was sent.
    pub ts: f64,
    /// The number of decisions about their messages that led to a post.
    pub answers: u64,
}

/// People who are forgotten, the newest order first.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct ForgettingsAnswer {
    pub forgettings: Vec<ForgettingView>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub struct ForgettingView {
    /// The number of the order in the journal.
    pub number: i64,
    pub workspace: WorkspaceId,
    pub ts: f64,
    /// How many of the steps are done.
    pub step: usize,
    pub steps: usize,
    pub done: bool,
    /// What went so far. Null if it is not known: by an earlier version, or because a later order has taken over.
    pub gone: Option<ForgetReport>,
}

/// A person, and what is known of them.
pub struct KnownPerson {
    pub user: User,
    pub opted_out: bool,
    pub written: Vec<WrittenView>,
    /// Whether they wrote more than what is counted.
    pub has_older: bool,
    pub memories: usize,
    pub memos: usize,
}

impl KnownPerson {
    pub(crate) async fn read(
        web: &Web,
        access: &Access,
        workspace: &WorkspaceId,
        id: &str,
    ) -> Result<Self, ApiProblem> {
        if !may_name_users(access, workspace) {
            return Err(Refusal::PeopleWithheld.into());
        }
        let user = web.authorization().user(workspace, id).await?;
        let PersonTraces { written, memories, has_older } =
            web.archive.person(workspace, &user.id, COUNTED).await?;
        let channels = web.archive.channels(workspace).await?;
        let readable = |channel: &ChannelId| {
            let found = channels.iter().find(|known| known.id == *channel)?;
            access.may_read(workspace, found.visibility).then(|| access.name_of(found))
        };
        let mut shown: Vec<WrittenView> = Vec::new();
        for it in written.into_iter().filter(|it| access.may_read(workspace, it.visibility)) {
            let ts = views::seconds(it.last);
            if let Some(known) = shown.iter_mut().find(|known| known.channel == it.channel) {
                known.messages += it.messages;
                known.answers += it.answers;
                known.ts = known.ts.max(ts);
            } else if let Some(name) = readable(&it.channel) {
                let WrittenIn { channel, messages, answers, .. } = it;
                shown.push(WrittenView { name, channel, messages, ts, answers });
            }
        }
        let memories = memories.iter().filter(|key| match key.channel() {
            Some(channel) => readable(channel).is_some(),
            None => true,
        });
        let memos = web.archive.all_memos(workspace).await?.into_iter().filter(|(_, memo)| {
            memo.said_by.as_ref() == Some(&user.id) && access.may_read(workspace, memo.visibility)
        });
        Ok(Self {
            opted_out: web.store.orders(workspace).await?.opted_out.contains(&user.id),
            written: shown,
            has_older,
            memories: memories.count(),
            memos: memos.count(),
            user,
        })
    }
}

/// `GET /api/person`.
pub(crate) async fn person(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    query: PersonParameter,
) -> JsonResult<PersonAnswer> {
    let (workspace, id) = named(&web, query).await?;
    let person = KnownPerson::read(&web, &visitor.access, &workspace, &id).await?;
    Ok(Json(PersonAnswer {
        id: person.user.id,
        name: person.user.name,
        bot: person.user.kind != AuthorKind::Human,
        opted_out: person.opted_out,
        channels: person.written,
        memories: person.memories,
        memos: person.memos,
    }))
}

/// `GET /api/person/export`: what `aizuchi export --user` writes.
pub(crate) async fn export(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    query: PersonParameter,
) -> Result<Response, ApiProblem> {
    let (workspace, id) = named(&web, query).await?;
    let access = &visitor.access;
    let text = web.authorization().export_user(access, &workspace, &id).await?;
    let traces = web.archive.person(&workspace, &UserId::new(&*id), usize::MAX).await?;
    let private = traces.written.into_iter().filter(|it| it.visibility != Visibility::Public);
    let private = private.map(|it| it.channel).collect();
    workspaces::note_reads(&web, access, &workspace, PrivateText::Messages, &private).await?;
    let user = Some(UserId::new(id));
    let record = OrderRecord { user, ..OrderRecord::new(OrderKind::Export) };
    let note = Order::Note { workspace, record }.signed(visitor.access.signature());
    web.apply(note).await?;
    let headers = [
        (header::CONTENT_TYPE, "text/markdown; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"person.md\""),
    ];
    Ok((headers, text).into_response())
}

/// `DELETE /api/person`: begins to forget a person. The answer lists the forgettings, with this one first.
pub(crate) async fn forget(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    query: PersonParameter,
) -> Result<(StatusCode, Json<ForgettingsAnswer>), ApiProblem> {
    let (workspace, id) = named(&web, query).await?;
    web.apply(web.authorization().forget(&visitor.access, &workspace, &id).await?).await?;
    let forgettings = read_forgettings(&web, &visitor.access, Some(workspace)).await?;
    Ok((StatusCode::ACCEPTED, Json(ForgettingsAnswer { forgettings })))
}

#[derive(Deserialize, JsonSchema)]
pub struct ForgettingsQuery {
    /// Only this workspace, by its id; all workspaces if omitted.
    workspace: Option<String>,
}

/// `GET /api/forgettings`.
pub(crate) async fn forgettings(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    filter: Result<Query<ForgettingsQuery>, QueryRejection>,
) -> JsonResult<ForgettingsAnswer> {
    let Query(filter) = filter.map_err(workspaces::unclear)?;
    let workspace = workspaces::find_only(&web, filter.workspace.as_deref()).await?;
    let forgettings = read_forgettings(&web, &visitor.access, workspace).await?;
    Ok(Json(ForgettingsAnswer { forgettings }))
}

async fn named(web: &Web, query: PersonParameter) -> Result<(WorkspaceId, String), ApiProblem> {
    let Query(query) = query.map_err(workspaces::unclear)?;
    Ok((workspaces::find(web, query.workspace.as_deref()).await?, query.user))
}

/// Returns the newest forgettings, in progress and done.
pub(crate) async fn read_forgettings(
    web: &Web,
    access: &Access,
    workspace: Option<WorkspaceId>,
) -> Result<Vec<ForgettingView>, ApiProblem> {
    if !access.may_administer() {
        return Err(ActionRefusal::OnlyAdminForgets.into());
    }
    // Read first: one that ends in between is listed as done.
    let running = web.archive.forgettings().await?;
    let kind = Some(OrderKind::Forget);
    let query = OrderJournalQuery { workspace, kind, before: None, limit: LISTED };
    let orders = web.archive.order_journal(&query).await?;
    let view = |given: GivenOrder| {
        let counted = given.record.value.and_then(|value| serde_json::from_str(&value).ok());
        let current = running
            .iter()
            .find(|it| it.workspace == given.workspace && it.begun == given.at)
            .filter(|_| counted.is_none());
        let done = current.map_or(1, |it| it.done);
        let steps = current.map_or(1, |it| it.phases);
        ForgettingView {
            number: given.number,
            workspace: given.workspace,
            ts: views::seconds(given.at),
            step: done,
            steps,
            done: current.is_none(),
            gone: counted.or(current.map(|it| it.report)),
        }
    };
    Ok(orders.into_iter().map(view).collect())
}
