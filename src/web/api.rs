//! The JSON API of the local room.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::web::{ApiProblem, MAX_BODY_BYTES, Web, views};
use aizuchi_core::chat::{ChannelId, MessageId, ReactionChange};
use aizuchi_core::event::DeadLetter;
use aizuchi_core::platform::local::controls::ChannelControls;
use aizuchi_core::platform::local::error::LocalRoomError;
use aizuchi_core::platform::local::reaction::ReactionRequest;
use aizuchi_core::platform::local::{LocalMessage, OwnMessage, workspace_id};
use aizuchi_core::store::{DecisionQuery, MessageQuery, MessageRange, StoredMessage};
use aizuchi_core::texts;

/// The number of messages or decisions in one response.
const PAGE: usize = 200;

// The formats of request bodies, for error messages.
const POST_FORMAT: &str =
    r#"{"channel": "…", "user": "…", "text": "…"} and, for a thread, "thread": "…""#;
const EDIT_FORMAT: &str = r#"{"channel": "…", "user": "…", "text": "…"}"#;
const REACT_FORMAT: &str = r#"{"channel": "…", "message": "…", "user": "…", "emoji": "…"} and, to take it back, "remove": true"#;
const NAME_FORMAT: &str = r#"{"name": "…"}"#;

pub(super) type ApiResult = Result<Json<Value>, ApiProblem>;

pub async fn channels(State(web): State<Arc<Web>>) -> ApiResult {
    let revision = *web.revisions.borrow();
    let (channels, muted_until) = views::participation(&web.room.controls().await?);
    Ok(Json(json!({
        "persona": { "name": web.persona.name },
        "channels": channels,
        "muted_until": muted_until,
        "revision": revision,
    })))
}

/// All that a page shows at first: the channels, and the newest messages of each with the decisions about them.
pub async fn room(State(web): State<Arc<Web>>) -> ApiResult {
    // Read the revision before everything else, so that this is at least as new.
    let revision = *web.revisions.borrow();
    let controls = web.room.controls().await?;
    let mut talks = Vec::new();
    for ChannelControls { channel, .. } in &controls.channels {
        talks.push(talk(&web, &channel.id).await?);
    }
    let (channels, muted_until) = views::participation(&controls);
    Ok(Json(json!({
        "channels": channels,
        "muted_until": muted_until,
        "talks": talks,
        "revision": revision,
    })))
}

async fn talk(web: &Web, channel: &ChannelId) -> Result<Value, ApiProblem> {
    let query = MessageQuery {
        workspace: workspace_id(),
        channel: channel.clone(),
        thread: None,
        range: MessageRange::Newest,
        limit: PAGE,
    };
    let stored = web.archive.messages(query).await?;
    let messages: Vec<Value> = stored.iter().map(views::message).collect();
    let decisions = decisions_about(web, channel, &stored).await?;
    Ok(json!({ "channel": channel, "messages": messages, "decisions": decisions }))
}

async fn decisions_about(
    web: &Web,
    channel: &ChannelId,
    messages: &[StoredMessage],
) -> Result<Vec<Value>, ApiProblem> {
    let messages = messages.iter().map(|message| message.message.id.clone()).collect();
    let channel = channel.clone();
    let query = DecisionQuery::Messages { workspace: workspace_id(), channel, messages };
    let decisions = web.archive.decisions(query).await?;
    Ok(decisions.iter().map(views::decision).collect())
}

#[derive(Deserialize)]
pub struct NameBody {
    name: String,
}

pub async fn add_channel(
    State(web): State<Arc<Web>>,
    body: Result<Json<NameBody>, JsonRejection>,
) -> Result<(StatusCode, Json<Value>), ApiProblem> {
    let Json(body) = body.map_err(|rejection| invalid_body(&web, &rejection, NAME_FORMAT))?;
    let added = web.room.add_channel(&body.name).await;
    let channel = added.map_err(|error| local_room_problem(&web, &error))?;
    Ok((StatusCode::CREATED, Json(views::channel(&channel))))
}

pub async fn users(State(web): State<Arc<Web>>) -> Json<Value> {
    Json(json!({ "people": views::users(&web.room.user_names()) }))
}

pub async fn add_user(
    State(web): State<Arc<Web>>,
    body: Result<Json<NameBody>, JsonRejection>,
) -> Result<(StatusCode, Json<Value>), ApiProblem> {
    let Json(body) = body.map_err(|rejection| invalid_body(&web, &rejection, NAME_FORMAT))?;
    let added = web.room.add_user(&body.name).await;
    let (name, is_new) = added.map_err(|error| local_room_problem(&web, &error))?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(json!({ "name": name }))))
}

#[derive(Deserialize)]
pub struct MessagesQuery {
    channel: String,
    thread: Option<String>,
    after: Option<String>,
    before: Option<String>,
    /// Also return the decisions on these messages.
    #[serde(default)]
    decisions: bool,
}

pub async fn messages(
    State(web): State<Arc<Web>>,
    query: Result<Query<MessagesQuery>, QueryRejection>,
) -> ApiResult {
    let Query(query) =
        query.map_err(|_| bad_request("say which channel: /api/messages?channel=…"))?;
    // Read the revision before the messages, so that these are at least as new.
    let revision = *web.revisions.borrow();
    let channel = known_channel(&web, query.channel).await?;
    let range = message_range(&web, &channel, query.after, query.before).await?;
    let thread = query.thread.filter(|thread| !thread.is_empty()).map(MessageId::new);
    let (parent, wants_decisions) = (thread.clone(), query.decisions);
    let query = MessageQuery {
        workspace: workspace_id(),
        channel: channel.clone(),
        thread,
        range,
        limit: PAGE,
    };
    let stored = web.archive.messages(query).await?;
    let messages: Vec<Value> = stored.iter().map(views::message).collect();
    let mut response = json!({ "messages": messages, "revision": revision });
    if let Some(parent) = parent {
        let parent = web.archive.message(&workspace_id(), &channel, &parent).await?;
        response["parent"] = json!(parent.as_ref().map(views::message));
    }
    if wants_decisions {
        response["decisions"] = decisions_about(&web, &channel, &stored).await?.into();
    }
    Ok(Json(response))
}

#[derive(Deserialize)]
pub struct PostBody {
    id: Option<String>,
    channel: String,
    thread: Option<String>,
    user: String,
    text: String,
}

pub async fn post_message(
    State(web): State<Arc<Web>>,
    body: Result<Json<PostBody>, JsonRejection>,
) -> Result<(StatusCode, Json<Value>), ApiProblem> {
    let Json(body) = body.map_err(|rejection| invalid_body(&web, &rejection, POST_FORMAT))?;
    let message = LocalMessage {
        id: body.id,
        channel: ChannelId::new(body.channel),
        thread: body.thread.filter(|thread| !thread.is_empty()).map(MessageId::new),
        user: body.user,
        text: body.text,
    };
    let sent = web.room.send_message(message).await;
    let (id, at) = sent.map_err(|error| local_room_problem(&web, &error))?;
    Ok((StatusCode::CREATED, Json(json!({ "id": id, "ts": views::seconds(at) }))))
}

#[derive(Deserialize)]
pub struct EditBody {
    channel: String,
    user: String,
    text: String,
}

pub async fn edit(
    State(web): State<Arc<Web>>,
    id: Result<Path<String>, PathRejection>,
    body: Result<Json<EditBody>, JsonRejection>,
) -> ApiResult {
    let Path(id) = id.map_err(|_| bad_request("the message's id cannot be read"))?;
    let Json(body) = body.map_err(|rejection| invalid_body(&web, &rejection, EDIT_FORMAT))?;
    let id = MessageId::new(id);
    let own = OwnMessage { channel: ChannelId::new(body.channel), id: id.clone(), user: body.user };
    let at = web
        .room
        .edit_message(own, &body.text)
        .await
        .map_err(|error| local_room_problem(&web, &error))?;
    Ok(Json(json!({ "id": id, "ts": views::seconds(at) })))
}

#[derive(Deserialize)]
pub struct DeleteQuery {
    channel: String,
    user: String,
}

pub async fn delete(
    State(web): State<Arc<Web>>,
    id: Result<Path<String>, PathRejection>,
    query: Result<Query<DeleteQuery>, QueryRejection>,
) -> ApiResult {
    let Path(id) = id.map_err(|_| bad_request("the message's id cannot be read"))?;
    let usage = "say where and whose it is: /api/messages/…?channel=…&user=…";
    let Query(query) = query.map_err(|_| bad_request(usage))?;
    let id = MessageId::new(id);
    let own =
        OwnMessage { channel: ChannelId::new(query.channel), id: id.clone(), user: query.user };
    web.room.delete_message(own).await.map_err(|error| local_room_problem(&web, &error))?;
    Ok(Json(json!({ "id": id })))
}

#[derive(Deserialize)]
pub struct ReactBody {
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
    let Json(body) = body.map_err(|rejection| invalid_body(&web, &rejection, REACT_FORMAT))?;
    let reaction = ReactionRequest {
        channel: ChannelId::new(body.channel),
        message: MessageId::new(body.message),
        user: body.user,
        emoji: body.emoji,
        change: if body.remove { ReactionChange::Removed } else { ReactionChange::Added },
    };
    web.room.change_reaction(reaction).await.map_err(|error| local_room_problem(&web, &error))?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
pub struct DecisionsQuery {
    channel: Option<String>,
    message: Option<String>,
}

pub async fn decisions(
    State(web): State<Arc<Web>>,
    query: Result<Query<DecisionsQuery>, QueryRejection>,
) -> ApiResult {
    let usage = "say of what: /api/decisions?message=… or ?channel=…";
    let Query(query) = query.map_err(|_| bad_request(usage))?;
    let revision = *web.revisions.borrow();
    let query = match (query.message, query.channel) {
        (Some(message), _) => {
            DecisionQuery::Message { workspace: workspace_id(), message: MessageId::new(message) }
        }
        (None, Some(channel)) => {
            let channel = known_channel(&web, channel).await?;
            DecisionQuery::Channel { workspace: workspace_id(), channel, limit: PAGE }
        }
        (None, None) => return Err(bad_request(usage)),
    };
    let decisions = web.archive.decisions(query).await?;
    let decisions: Vec<Value> = decisions.iter().map(views::decision).collect();
    Ok(Json(json!({ "decisions": decisions, "revision": revision })))
}

/// Without a token, anybody on this machine reads the pages, so they show what was said in the local room only.
pub async fn dead_letters(State(web): State<Arc<Web>>) -> ApiResult {
    let letters = web.archive.dead_letters().await?;
    let may_read = |letter: &DeadLetter| {
        web.authenticator.is_some() || letter.conversation.workspace == workspace_id()
    };
    let view = |letter: &DeadLetter| match may_read(letter) {
        true => views::dead_letter(letter),
        false => views::dead_letter_without_text(letter),
    };
    let letters: Vec<Value> = letters.iter().map(view).collect();
    Ok(Json(json!({ "dead_letters": letters })))
}

async fn known_channel(web: &Web, channel: String) -> Result<ChannelId, ApiProblem> {
    let channel = ChannelId::new(channel);
    web.room.require_channel(&channel).await.map_err(|error| local_room_problem(web, &error))?;
    Ok(channel)
}

/// The range of messages to return. `after` is the id of a message or a time in epoch seconds.
async fn message_range(
    web: &Web,
    channel: &ChannelId,
    after: Option<String>,
    before: Option<String>,
) -> Result<MessageRange, ApiProblem> {
    let unknown = |id: &str| {
        ApiProblem::new(
            StatusCode::NOT_FOUND,
            format!("there is no message {id:?} in this channel"),
        )
    };
    let after = match (after, before) {
        (None, None) => return Ok(MessageRange::Newest),
        (Some(_), Some(_)) => return Err(bad_request("give either after or before")),
        (None, Some(before)) => {
            let id = MessageId::new(before.as_str());
            let message = web.archive.message(&workspace_id(), channel, &id).await?;
            return message.map(|_| MessageRange::Before(id)).ok_or_else(|| unknown(&before));
        }
        (Some(after), None) => after,
    };
    let id = MessageId::new(after.as_str());
    if web.archive.message(&workspace_id(), channel, &id).await?.is_some() {
        return Ok(MessageRange::After(id));
    }
    let time = after.parse::<f64>().ok().filter(|seconds| seconds.is_finite());
    let time = time.and_then(|seconds| {
        jiff::Timestamp::from_millisecond((seconds * 1000.0).round() as i64).ok()
    });
    time.map(MessageRange::AfterTime).ok_or_else(|| unknown(&after))
}

pub(super) fn local_room_problem(web: &Web, error: &LocalRoomError) -> ApiProblem {
    let status = match error {
        LocalRoomError::UnknownChannel(_)
        | LocalRoomError::UnknownThread(_)
        | LocalRoomError::UnknownMessage(_) => StatusCode::NOT_FOUND,
        LocalRoomError::NotAuthor => StatusCode::FORBIDDEN,
        LocalRoomError::InvalidName
        | LocalRoomError::InvalidChannelName
        | LocalRoomError::InvalidId
        | LocalRoomError::InvalidEmoji
        | LocalRoomError::InvalidMinutes
        | LocalRoomError::EmptyText => StatusCode::UNPROCESSABLE_ENTITY,
        LocalRoomError::NameTaken(_)
        | LocalRoomError::ChannelTaken(_)
        | LocalRoomError::IdTaken => StatusCode::CONFLICT,
        LocalRoomError::TextTooLong(_) => StatusCode::PAYLOAD_TOO_LARGE,
        LocalRoomError::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    ApiProblem::new(status, error.describe(web.persona.language))
}

pub(super) fn invalid_body(web: &Web, rejection: &JsonRejection, format: &str) -> ApiProblem {
    let status = rejection.status();
    let sentence = match status {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let limit = MAX_BODY_BYTES / 1024 / 1024;
            texts::pages::body_too_large(web.persona.language, limit)
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            "send JSON, with the content type application/json".to_owned()
        }
        _ => format!("send {format}"),
    };
    ApiProblem::new(status, sentence)
}

fn bad_request(sentence: &str) -> ApiProblem {
    ApiProblem::new(StatusCode::BAD_REQUEST, sentence)
}
