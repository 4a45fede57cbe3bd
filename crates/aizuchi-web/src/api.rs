//! The JSON API of channels, messages and decisions, in every workspace. Messages are written in the local room only.

pub mod messages;
pub mod reference_page;
pub mod routes;
pub mod openapi;

use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_model::chat::local::workspace_id;
use aizuchi_model::chat::{AuthorKind, Channel, ChannelId, MessageId, User, WorkspaceId};
use aizuchi_model::decision::{Decision, DecisionId};
use aizuchi_model::texts::refusals;
use aizuchi_platform::local::controls::ChannelControls;
use aizuchi_store::query::{
    DecisionFilter, DecisionQuery, MessageFilter, MessageQuery, MessageRange,
};
use aizuchi_store::stored_message::StoredMessage;
use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Extension, Query, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Visitor;
use crate::refusal::{BodyFormat, Refusal};
use crate::views::{AddedChannelView, ChannelView, ListedUser, MarkedDecisionView, MessageView};
use crate::workspaces::{Shown, WorkspaceParameter};
use crate::{ApiProblem, JsonResult, Web, views, workspaces};

/// The maximum number of messages or decisions in one response.
const PAGE: usize = 200;

/// The maximum number of talks in one response about another workspace.
const MAX_TALKS: usize = 50;

/// The channels of a workspace.
#[derive(Serialize, JsonSchema)]
pub struct ChannelsAnswer {
    persona: PersonaView,
    channels: Vec<ChannelView>,
    /// When a mute of the whole workspace ends; null if it is not muted.
    muted_until: Option<f64>,
    revision: u64,
}

#[derive(Serialize, JsonSchema)]
pub struct PersonaView {
    name: String,
}

/// The initial content of a page: channels, messages and decisions.
#[derive(Serialize, JsonSchema)]
pub struct RoomAnswer {
    channels: Vec<ChannelView>,
    muted_until: Option<f64>,
    talks: Vec<TalkView>,
    /// Whether `talks` leaves out channels that the visitor may read: it has at most 50, except in the local room.
    truncated: bool,
    revision: u64,
}

/// The newest messages of a channel, and the decisions about them.
#[derive(Serialize, JsonSchema)]
pub struct TalkView {
    channel: ChannelId,
    messages: Vec<MessageView>,
    /// The value of `before` for the next older page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    older: Option<MessageId>,
    decisions: Vec<MarkedDecisionView>,
}

pub async fn channels(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    query: WorkspaceParameter,
) -> JsonResult<ChannelsAnswer> {
    let workspace = workspaces::named(&web, query).await?;
    let revision = *web.revisions.borrow();
    let (channels, muted_until) = participation(&web, &visitor.access, &workspace).await?;
    let persona = PersonaView { name: web.persona.name.clone() };
    Ok(Json(ChannelsAnswer { persona, channels, muted_until, revision }))
}

/// The mode and mute of each channel, and the end of a mute of the whole workspace.
async fn participation(
    web: &Web,
    access: &Access,
    workspace: &WorkspaceId,
) -> Result<(Vec<ChannelView>, Option<f64>), ApiProblem> {
    if *workspace == workspace_id() {
        return Ok(views::participation(&web.room.controls().await?));
    }
    let (orders, now) = (web.store.orders(workspace).await?, web.clock.now());
    let cache = &web.inbox.channel_cache;
    let view = |channel: &Channel| {
        let mute = orders.channel_mute(&channel.id, now);
        ChannelView {
            id: channel.id.clone(),
            name: access.may_name(channel.visibility).then(|| channel.name.clone()),
            visibility: Some(channel.visibility),
            mode: cache.mode(workspace, &channel.id),
            ordered: cache.ordered_mode(workspace, &channel.id).is_some(),
            muted_until: mute.map(|mute| views::seconds(mute.until)),
        }
    };
    let channels = web.archive.channels(workspace).await?.iter().map(view).collect();
    Ok((channels, orders.workspace_mute(now).map(|mute| views::seconds(mute.until))))
}

/// Returns all that a page shows at first: the channels, and the newest messages of each with the decisions about
/// them. For another workspace, these are only the first channels that the visitor may read.
pub async fn room(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    query: WorkspaceParameter,
) -> JsonResult<RoomAnswer> {
    let workspace = workspaces::named(&web, query).await?;
    if workspace != workspace_id() {
        return other_room(&web, &visitor.access, &workspace).await;
    }
    // Read the revision before everything else, so that this is at least as new.
    let revision = *web.revisions.borrow();
    let controls = web.room.controls().await?;
    let mut talks = Vec::new();
    for ChannelControls { channel, .. } in &controls.channels {
        talks.push(talk(&web, &visitor.access, channel).await?);
    }
    let (channels, muted_until) = views::participation(&controls);
    Ok(Json(RoomAnswer { channels, muted_until, talks, truncated: false, revision }))
}

async fn other_room(web: &Web, access: &Access, workspace: &WorkspaceId) -> JsonResult<RoomAnswer> {
    let revision = *web.revisions.borrow();
    let readable = web.archive.channels(workspace).await?.into_iter();
    let readable = readable.filter(|channel| access.may_read(workspace, channel.visibility));
    let readable: Vec<Channel> = readable.collect();
    let mut talks = Vec::new();
    for channel in readable.iter().take(MAX_TALKS) {
        talks.push(talk(web, access, channel).await?);
    }
    let truncated = readable.len() > MAX_TALKS;
    let (channels, muted_until) = participation(web, access, workspace).await?;
    Ok(Json(RoomAnswer { channels, muted_until, talks, truncated, revision }))
}

async fn talk(web: &Web, access: &Access, channel: &Channel) -> Result<TalkView, ApiProblem> {
    let query = MessageQuery {
        workspace: channel.workspace.clone(),
        channel: channel.id.clone(),
        thread: None,
        range: MessageRange::Newest,
        limit: PAGE,
    };
    let MessagePage { stored, older, .. } = message_page(web, query).await?;
    let messages = message_views(web, access, &stored).await?;
    let decisions = decisions_about(web, access, channel, &stored).await?;
    Ok(TalkView { channel: channel.id.clone(), messages, older, decisions })
}

/// A page of a channel's messages, and the cursors of the adjacent pages.
struct MessagePage {
    stored: Vec<StoredMessage>,
    /// The first message, if older ones precede it.
    older: Option<MessageId>,
    /// The last message, if newer ones follow it.
    newer: Option<MessageId>,
}

async fn message_page(web: &Web, query: MessageQuery) -> Result<MessagePage, ApiProblem> {
    let (most, range) = (query.limit, query.range.clone());
    // Fetch one more, to learn whether there is another page.
    let query = MessageQuery { limit: most + 1, ..query };
    let mut stored = web.archive.messages(query).await?;
    let is_cut = stored.len() > most;
    let id = |stored: &StoredMessage| stored.message.id.clone();
    let (older, newer) = match range {
        MessageRange::Newest | MessageRange::Before(_) | MessageRange::BeforeTime(_) => {
            stored.drain(..stored.len().saturating_sub(most));
            (stored.first().filter(|_| is_cut).map(id), None)
        }
        MessageRange::After(_) | MessageRange::AfterTime(_) => {
            stored.truncate(most);
            (None, stored.last().filter(|_| is_cut).map(id))
        }
    };
    Ok(MessagePage { stored, older, newer })
}

/// Returns the messages as this visitor may read them. Reads of private ones are recorded.
pub async fn message_views(
    web: &Web,
    access: &Access,
    stored: &[StoredMessage],
) -> Result<Vec<MessageView>, ApiProblem> {
    if let Some(first) = stored.first() {
        let workspace = &first.message.conversation.workspace;
        workspaces::record_look(web, access, workspace, Shown::Messages(stored)).await?;
    }
    let view = |stored| match access.may_read_message(stored) {
        true => views::message(stored),
        false => views::message_without_text(stored),
    };
    Ok(stored.iter().map(view).collect())
}

async fn decisions_about(
    web: &Web,
    access: &Access,
    channel: &Channel,
    messages: &[StoredMessage],
) -> Result<Vec<MarkedDecisionView>, ApiProblem> {
    let messages = messages.iter().map(|message| message.message.id.clone()).collect();
    let (workspace, id) = (channel.workspace.clone(), channel.id.clone());
    let query = DecisionQuery::Messages { workspace, channel: id, messages };
    let decisions = web.archive.decisions(query).await?;
    decision_views(web, access, &channel.workspace, decisions).await
}

/// Returns the decisions as this visitor may read them. Reads of those in private channels are recorded.
pub async fn decision_views(
    web: &Web,
    access: &Access,
    workspace: &WorkspaceId,
    decisions: Vec<Decision>,
) -> Result<Vec<MarkedDecisionView>, ApiProblem> {
    let ids: Vec<DecisionId> = decisions.iter().map(|decision| decision.id).collect();
    let marks = web.archive.marks(workspace, &ids).await?;
    let view = |decision: &Decision| {
        let mark = marks.iter().find(|mark| mark.decision == decision.id);
        views::marked_decision(decision, mark, access.may_order())
    };
    if !access.may_read_models(workspace) {
        let stripped = decisions.into_iter().map(Decision::without_texts);
        return Ok(stripped.map(|decision| view(&decision)).collect());
    }
    workspaces::record_look(web, access, workspace, Shown::Decisions(&decisions)).await?;
    Ok(decisions.iter().map(view).collect())
}

#[derive(Deserialize, JsonSchema)]
pub struct NameBody {
    name: String,
    /// The id of the local room, which is the default. No other workspace accepts this request.
    workspace: Option<String>,
}

pub async fn add_channel(
    State(web): State<Arc<Web>>,
    body: Result<Json<NameBody>, JsonRejection>,
) -> Result<(StatusCode, Json<AddedChannelView>), ApiProblem> {
    let body = json(body, refusals::format_of_name)?;
    workspaces::require_local(&web, body.workspace.as_deref()).await?;
    let added = web.room.add_channel(&body.name).await;
    let channel = added.map_err(Refusal::Room)?;
    Ok((StatusCode::CREATED, Json(views::channel(&channel))))
}

/// The people of a workspace.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PeopleAnswer")]
pub struct UsersAnswer {
    #[serde(rename = "people")]
    users: Vec<ListedUser>,
}

pub async fn users(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    query: WorkspaceParameter,
) -> JsonResult<UsersAnswer> {
    let workspace = workspaces::named(&web, query).await?;
    if workspace == workspace_id() {
        let users = views::users(&web.room.user_names());
        return Ok(Json(UsersAnswer { users }));
    }
    if visitor.access.role().is_none() {
        return Err(Refusal::PeopleWithheld.into());
    }
    let users = web.archive.users(&workspace).await?;
    let view = |user: &User| ListedUser {
        id: Some(user.id.to_string()),
        name: user.name.clone(),
        bot: Some(user.kind != AuthorKind::Human),
    };
    Ok(Json(UsersAnswer { users: users.iter().map(view).collect() }))
}

pub async fn add_user(
    State(web): State<Arc<Web>>,
    body: Result<Json<NameBody>, JsonRejection>,
) -> Result<(StatusCode, Json<ListedUser>), ApiProblem> {
    let body = json(body, refusals::format_of_name)?;
    workspaces::require_local(&web, body.workspace.as_deref()).await?;
    let added = web.room.add_user(&body.name).await;
    let (name, is_new) = added.map_err(Refusal::Room)?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(ListedUser { id: None, name, bot: None })))
}

#[derive(Deserialize, JsonSchema)]
pub struct DecisionsQuery {
    /// The id of a workspace; the local room if omitted.
    workspace: Option<String>,
    channel: Option<String>,
    message: Option<String>,
    /// With `channel`: only decisions that ended this way, are still `open`, or had a `superseded` attempt.
    outcome: Option<String>,
    /// With `channel`: the `older` value of a page, to get the next older one.
    before: Option<i64>,
}

/// Rows of the ledger, oldest first.
#[derive(Serialize, JsonSchema)]
pub struct DecisionsAnswer {
    decisions: Vec<MarkedDecisionView>,
    /// With `channel`: the value of `before` for the next older page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    older: Option<DecisionId>,
    revision: u64,
}

pub async fn decisions(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    query: Result<Query<DecisionsQuery>, QueryRejection>,
) -> JsonResult<DecisionsAnswer> {
    let Query(query) = query.map_err(|_| Refusal::OfWhat)?;
    let revision = *web.revisions.borrow();
    let workspace = workspaces::find(&web, query.workspace.as_deref()).await?;
    let before = query.before.map(DecisionId);
    let (decisions, older) = match (query.message, query.channel) {
        (Some(message), Some(channel)) => {
            let channel = known_channel(&web, &workspace, channel).await?.id;
            let messages = vec![MessageId::new(message)];
            let query = DecisionQuery::Messages { workspace: workspace.clone(), channel, messages };
            (web.archive.decisions(query).await?, None)
        }
        (Some(message), None) => {
            let message = MessageId::new(message);
            let query = DecisionQuery::Message { workspace: workspace.clone(), message };
            (web.archive.decisions(query).await?, None)
        }
        (None, Some(channel)) => {
            let channel = known_channel(&web, &workspace, channel).await?;
            let ended = match query.outcome.as_deref().filter(|name| !name.is_empty()) {
                None => None,
                Some(name) => Some(DecisionFilter::parse(name).ok_or(Refusal::UnclearOutcome)?),
            };
            decision_page(&web, channel, ended, before, PAGE).await?
        }
        (None, None) => return Err(Refusal::OfWhat.into()),
    };
    let decisions = decision_views(&web, &visitor.access, &workspace, decisions).await?;
    Ok(Json(DecisionsAnswer { decisions, older, revision }))
}

/// Returns the `most` newest decisions of a channel before `before`, and the first of them if older ones precede it.
pub async fn decision_page(
    web: &Web,
    channel: Channel,
    ended: Option<DecisionFilter>,
    before: Option<DecisionId>,
    most: usize,
) -> Result<(Vec<Decision>, Option<DecisionId>), ApiProblem> {
    // Fetch one more, to learn whether there is a page before this one.
    let query = DecisionQuery::Filtered {
        workspace: channel.workspace,
        channel: channel.id,
        ended,
        gate: None,
        messages: MessageFilter::default(),
        before,
        limit: most + 1,
    };
    let mut decisions = web.archive.decisions(query).await?;
    let surplus = decisions.len().saturating_sub(most);
    decisions.drain(..surplus);
    let older = decisions.first().filter(|_| surplus > 0).map(|decision| decision.id);
    Ok((decisions, older))
}

/// Returns a channel, which has to exist.
pub(super) async fn known_channel(
    web: &Web,
    workspace: &WorkspaceId,
    channel: String,
) -> Result<Channel, ApiProblem> {
    if *workspace == workspace_id() {
        let id = ChannelId::new(channel.as_str());
        web.room.require_channel(&id).await.map_err(Refusal::Room)?;
    }
    workspaces::channel(web, workspace, &channel).await
}

/// Returns the body of a request, or says which format it should have.
pub(super) fn json<T>(
    sent: Result<Json<T>, JsonRejection>,
    format: BodyFormat,
) -> Result<T, ApiProblem> {
    let refusal = |rejection: JsonRejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Refusal::TooLarge,
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Refusal::NotJson,
        StatusCode::BAD_REQUEST => Refusal::BrokenBody(format),
        _ => Refusal::WrongBody(format),
    };
    let Json(body) = sent.map_err(refusal)?;
    Ok(body)
}
