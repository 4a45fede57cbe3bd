//! The JSON API of messages. They are read in every workspace, and written, changed and reacted to in the local room only.

use std::sync::Arc;

use aizuchi_model::chat::{Channel, ChannelId, MessageId, ReactionChange};
use aizuchi_model::texts::refusals;
use aizuchi_platform::local::error::LocalRoomError;
use aizuchi_platform::local::reaction::ReactionRequest;
use aizuchi_platform::local::{LocalMessage, OwnMessage};
use aizuchi_store::query::{MessageQuery, MessageRange};
use aizuchi_store::stored_message::StoredMessage;
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{Extension, Path, Query, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Visitor;
use crate::api::{
    MessagePage, PAGE, decisions_about, json, known_channel, message_page, message_views,
};
use crate::refusal::{BodyFormat, Refusal};
use crate::views::{MarkedDecisionView, MessageView};
use crate::{ApiProblem, JsonResult, Web, views, workspaces};

#[derive(Deserialize, JsonSchema)]
pub struct MessagesQuery {
    /// The id of a workspace; the local room if omitted.
    workspace: Option<String>,
    channel: String,
    thread: Option<String>,
    /// Only messages after this one, by its id, or after this time in epoch seconds.
    after: Option<String>,
    /// Only messages before this one, by its id.
    before: Option<String>,
    /// Whether to also return the decisions about these messages.
    #[serde(default)]
    decisions: bool,
}

/// Messages, oldest first.
#[derive(Serialize, JsonSchema)]
pub struct MessagesAnswer {
    messages: Vec<MessageView>,
    /// Without `after`: the value of `before` for the next older page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    older: Option<MessageId>,
    /// With `after`: the value of `after` for the next newer page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    newer: Option<MessageId>,
    revision: u64,
    /// With `thread`: the first message of the thread; null if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<Option<MessageView>>,
    /// With `decisions`: the decisions about these messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    decisions: Option<Vec<MarkedDecisionView>>,
}

pub async fn messages(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    query: Result<Query<MessagesQuery>, QueryRejection>,
) -> JsonResult<MessagesAnswer> {
    let Query(query) = query.map_err(|_| Refusal::WhichChannel)?;
    // Read the revision before the messages, so that these are at least as new.
    let revision = *web.revisions.borrow();
    let workspace = workspaces::find(&web, query.workspace.as_deref()).await?;
    let channel = known_channel(&web, &workspace, query.channel).await?;
    visitor.access.require_readable(&channel.workspace, channel.visibility)?;
    let range = message_range(&web, &channel, query.after, query.before).await?;
    let thread = query.thread.filter(|thread| !thread.is_empty()).map(MessageId::new);
    let (parent, wants_decisions) = (thread.clone(), query.decisions);
    let query = MessageQuery {
        workspace: workspace.clone(),
        channel: channel.id.clone(),
        thread,
        range,
        limit: PAGE,
    };
    let MessagePage { stored, older, newer } = message_page(&web, query).await?;
    let messages = message_views(&web, &visitor.access, &stored).await?;
    let parent = match parent {
        Some(parent) => {
            let parent = web.archive.message(&workspace, &channel.id, &parent).await?;
            let parent: Vec<StoredMessage> = parent.into_iter().collect();
            Some(message_views(&web, &visitor.access, &parent).await?.pop())
        }
        None => None,
    };
    let decisions = match wants_decisions {
        true => Some(decisions_about(&web, &visitor.access, &channel, &stored).await?),
        false => None,
    };
    Ok(Json(MessagesAnswer { messages, older, newer, revision, parent, decisions }))
}

/// A message that was written or changed.
#[derive(Serialize, JsonSchema)]
pub struct WrittenAnswer {
    id: MessageId,
    ts: f64,
}

/// A message that was deleted.
#[derive(Serialize, JsonSchema)]
pub struct DeletedAnswer {
    id: MessageId,
}

#[derive(Deserialize, JsonSchema)]
pub struct PostBody {
    /// The id of the local room, which is the default. No other workspace accepts this request.
    workspace: Option<String>,
    id: Option<String>,
    channel: String,
    thread: Option<String>,
    user: String,
    /// The text of the message. It may be blank if there are files.
    text: String,
    /// The ids of files that were uploaded for this message.
    #[serde(default)]
    files: Vec<String>,
}

pub async fn post_message(
    State(web): State<Arc<Web>>,
    body: Result<Json<PostBody>, JsonRejection>,
) -> Result<(StatusCode, Json<WrittenAnswer>), ApiProblem> {
    let body = message_json(body, refusals::format_of_message)?;
    workspaces::require_local(&web, body.workspace.as_deref()).await?;
    let message = LocalMessage {
        id: body.id,
        channel: ChannelId::new(body.channel),
        thread: body.thread.filter(|thread| !thread.is_empty()).map(MessageId::new),
        user: body.user,
        text: body.text,
        files: body.files,
    };
    let sent = web.room.send_message(message).await;
    let (id, at) = sent.map_err(Refusal::Room)?;
    Ok((StatusCode::CREATED, Json(WrittenAnswer { id, ts: views::seconds(at) })))
}

#[derive(Deserialize, JsonSchema)]
pub struct EditBody {
    /// The id of the local room, which is the default. No other workspace accepts this request.
    workspace: Option<String>,
    channel: String,
    user: String,
    text: String,
}

pub async fn edit(
    State(web): State<Arc<Web>>,
    id: Result<Path<String>, PathRejection>,
    body: Result<Json<EditBody>, JsonRejection>,
) -> JsonResult<WrittenAnswer> {
    let Path(id) = id.map_err(|_| Refusal::UnreadableId)?;
    let body = message_json(body, refusals::format_of_edit)?;
    workspaces::require_local(&web, body.workspace.as_deref()).await?;
    let id = MessageId::new(id);
    let own = OwnMessage { channel: ChannelId::new(body.channel), id: id.clone(), user: body.user };
    let at = web.room.edit_message(own, &body.text).await.map_err(Refusal::Room)?;
    Ok(Json(WrittenAnswer { id, ts: views::seconds(at) }))
}

#[derive(Deserialize, JsonSchema)]
pub struct DeleteQuery {
    /// The id of the local room, which is the default. No other workspace accepts this request.
    workspace: Option<String>,
    channel: String,
    user: String,
}

pub async fn delete(
    State(web): State<Arc<Web>>,
    id: Result<Path<String>, PathRejection>,
    query: Result<Query<DeleteQuery>, QueryRejection>,
) -> JsonResult<DeletedAnswer> {
    let Path(id) = id.map_err(|_| Refusal::UnreadableId)?;
    let Query(query) = query.map_err(|_| Refusal::WhereAndWhose)?;
    workspaces::require_local(&web, query.workspace.as_deref()).await?;
    let id = MessageId::new(id);
    let own =
        OwnMessage { channel: ChannelId::new(query.channel), id: id.clone(), user: query.user };
    web.room.delete_message(own).await.map_err(Refusal::Room)?;
    Ok(Json(DeletedAnswer { id }))
}

#[derive(Deserialize, JsonSchema)]
pub struct ReactBody {
    /// The id of the local room, which is the default. No other workspace accepts this request.
    workspace: Option<String>,
    channel: String,
    message: String,
    user: String,
    emoji: String,
    #[serde(default)]
    remove: bool,
}

pub async fn react(
    State(web): State<Arc<Web>>,
    body: Result<Json<ReactBody>, JsonRejection>,
) -> Result<StatusCode, ApiProblem> {
    let body = json(body, refusals::format_of_reaction)?;
    workspaces::require_local(&web, body.workspace.as_deref()).await?;
    let reaction = ReactionRequest {
        channel: ChannelId::new(body.channel),
        message: MessageId::new(body.message),
        user: body.user,
        emoji: body.emoji,
        change: if body.remove { ReactionChange::Removed } else { ReactionChange::Added },
    };
    web.room.change_reaction(reaction).await.map_err(Refusal::Room)?;
    Ok(StatusCode::NO_CONTENT)
}

/// The range of messages to return. `after` is the id of a message or a time in epoch seconds.
async fn message_range(
    web: &Web,
    channel: &Channel,
    after: Option<String>,
    before: Option<String>,
) -> Result<MessageRange, ApiProblem> {
    let unknown = |id: String| ApiProblem::from(Refusal::Room(LocalRoomError::UnknownMessage(id)));
    let after = match (after, before) {
        (None, None) => return Ok(MessageRange::Newest),
        (Some(_), Some(_)) => return Err(Refusal::AfterOrBefore.into()),
        (None, Some(before)) => {
            let id = MessageId::new(before.as_str());
            let message = web.archive.message(&channel.workspace, &channel.id, &id).await?;
            return message.map(|_| MessageRange::Before(id)).ok_or_else(|| unknown(before));
        }
        (Some(after), None) => after,
    };
    let id = MessageId::new(after.as_str());
    if web.archive.message(&channel.workspace, &channel.id, &id).await?.is_some() {
        return Ok(MessageRange::After(id));
    }
    let time = after.parse::<f64>().ok().filter(|seconds| seconds.is_finite());
    let time = time.and_then(|seconds| {
        jiff::Timestamp::from_millisecond((seconds * 1000.0).round() as i64).ok()
    });
    time.map(MessageRange::AfterTime).ok_or_else(|| unknown(after))
}

/// Only a message says how large it may be.
fn message_json<T>(
    sent: Result<Json<T>, JsonRejection>,
    format: BodyFormat,
) -> Result<T, ApiProblem> {
    match sent {
        Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            Err(Refusal::MessageTooLarge.into())
        }
        sent => json(sent, format),
    }
}
