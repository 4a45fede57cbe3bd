//! The room's own JSON API (DESIGN §7).

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::web::{LARGEST_BODY, Problem, Web, shapes};
use aizuchi_core::chat::{ChannelId, MessageId, ReactionChange};
use aizuchi_core::platform::local::reaction::Reacting;
use aizuchi_core::platform::local::refusal::SayError;
use aizuchi_core::platform::local::{OwnLine, Saying, workspace};
use aizuchi_core::store::{DecisionQuery, LineQuery, Span};

/// How many lines or decisions one answer holds.
const PAGE: usize = 200;

/// What bodies look like, for whoever sends something else.
const SAY_SHAPE: &str =
    r#"{"channel": "…", "user": "…", "text": "…"} and, for a thread, "thread": "…""#;
const EDIT_SHAPE: &str = r#"{"channel": "…", "user": "…", "text": "…"}"#;
const REACT_SHAPE: &str = r#"{"channel": "…", "message": "…", "user": "…", "emoji": "…"} and, to take it back, "remove": true"#;
const NAME_SHAPE: &str = r#"{"name": "…"}"#;

pub(super) type Answer = Result<Json<Value>, Problem>;

pub async fn channels(State(web): State<Arc<Web>>) -> Answer {
    let revision = *web.revisions.borrow();
    let (channels, muted_until) = shapes::manner(&web.room.manner().await?);
    Ok(Json(json!({
        "persona": { "name": web.persona.name },
        "channels": channels,
        "muted_until": muted_until,
        "revision": revision,
    })))
}

#[derive(Deserialize)]
pub struct NameBody {
    name: String,
}

pub async fn add_channel(
    State(web): State<Arc<Web>>,
    body: Result<Json<NameBody>, JsonRejection>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let Json(body) = body.map_err(|rejection| unreadable(&web, &rejection, NAME_SHAPE))?;
    let added = web.room.add_channel(&body.name).await;
    let channel = added.map_err(|error| refused(&web, &error))?;
    Ok((StatusCode::CREATED, Json(shapes::channel(&channel))))
}

pub async fn people(State(web): State<Arc<Web>>) -> Json<Value> {
    Json(json!({ "people": shapes::people(&web.room.names()) }))
}

pub async fn add_person(
    State(web): State<Arc<Web>>,
    body: Result<Json<NameBody>, JsonRejection>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let Json(body) = body.map_err(|rejection| unreadable(&web, &rejection, NAME_SHAPE))?;
    let added = web.room.add_person(&body.name).await;
    let (name, is_new) = added.map_err(|error| refused(&web, &error))?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(json!({ "name": name }))))
}

#[derive(Deserialize)]
pub struct MessagesQuery {
    channel: String,
    thread: Option<String>,
    after: Option<String>,
    before: Option<String>,
    /// Whether the decisions on these lines are wanted too.
    #[serde(default)]
    decisions: bool,
}

pub async fn messages(
    State(web): State<Arc<Web>>,
    query: Result<Query<MessagesQuery>, QueryRejection>,
) -> Answer {
    let Query(query) =
        query.map_err(|_| bad_request("say which channel: /api/messages?channel=…"))?;
    // Read first: what the page has is then at least as new as this.
    let revision = *web.revisions.borrow();
    let channel = known_channel(&web, query.channel).await?;
    let span = span(&web, &channel, query.after, query.before).await?;
    let thread = query.thread.filter(|thread| !thread.is_empty()).map(MessageId::new);
    let (parent, wants_decisions) = (thread.clone(), query.decisions);
    let query =
        LineQuery { workspace: workspace(), channel: channel.clone(), thread, span, limit: PAGE };
    let lines = web.archive.lines(query).await?;
    let messages: Vec<Value> = lines.iter().map(shapes::message).collect();
    let mut answer = json!({ "messages": messages, "revision": revision });
    if let Some(parent) = parent {
        let parent = web.archive.line(&workspace(), &channel, &parent).await?;
        answer["parent"] = json!(parent.as_ref().map(shapes::message));
    }
    if wants_decisions {
        let lines = lines.iter().map(|line| line.message.id.clone()).collect();
        let query = DecisionQuery::Lines { workspace: workspace(), channel, lines };
        let decisions = web.archive.decisions(query).await?;
        answer["decisions"] = decisions.iter().map(shapes::decision).collect();
    }
    Ok(Json(answer))
}

#[derive(Deserialize)]
pub struct SayBody {
    id: Option<String>,
    channel: String,
    thread: Option<String>,
    user: String,
    text: String,
}

pub async fn say(
    State(web): State<Arc<Web>>,
    body: Result<Json<SayBody>, JsonRejection>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let Json(body) = body.map_err(|rejection| unreadable(&web, &rejection, SAY_SHAPE))?;
    let saying = Saying {
        id: body.id,
        channel: ChannelId::new(body.channel),
        thread: body.thread.filter(|thread| !thread.is_empty()).map(MessageId::new),
        user: body.user,
        text: body.text,
    };
    let said = web.room.say(saying).await;
    let (id, at) = said.map_err(|error| refused(&web, &error))?;
    Ok((StatusCode::CREATED, Json(json!({ "id": id, "ts": shapes::seconds(at) }))))
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
) -> Answer {
    let Path(id) = id.map_err(|_| bad_request("the message's id cannot be read"))?;
    let Json(body) = body.map_err(|rejection| unreadable(&web, &rejection, EDIT_SHAPE))?;
    let id = MessageId::new(id);
    let own = OwnLine { channel: ChannelId::new(body.channel), id: id.clone(), user: body.user };
    let at = web.room.edit(own, &body.text).await.map_err(|error| refused(&web, &error))?;
    Ok(Json(json!({ "id": id, "ts": shapes::seconds(at) })))
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
) -> Answer {
    let Path(id) = id.map_err(|_| bad_request("the message's id cannot be read"))?;
    let ask = "say where and whose it is: /api/messages/…?channel=…&user=…";
    let Query(query) = query.map_err(|_| bad_request(ask))?;
    let id = MessageId::new(id);
    let own = OwnLine { channel: ChannelId::new(query.channel), id: id.clone(), user: query.user };
    web.room.delete(own).await.map_err(|error| refused(&web, &error))?;
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
) -> Result<StatusCode, Problem> {
    let Json(body) = body.map_err(|rejection| unreadable(&web, &rejection, REACT_SHAPE))?;
    let reacting = Reacting {
        channel: ChannelId::new(body.channel),
        message: MessageId::new(body.message),
        user: body.user,
        emoji: body.emoji,
        change: if body.remove { ReactionChange::Removed } else { ReactionChange::Added },
    };
    web.room.take_reaction(reacting).await.map_err(|error| refused(&web, &error))?;
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
) -> Answer {
    let ask = "say of what: /api/decisions?message=… or ?channel=…";
    let Query(query) = query.map_err(|_| bad_request(ask))?;
    let revision = *web.revisions.borrow();
    let query = match (query.message, query.channel) {
        (Some(message), _) => {
            DecisionQuery::Message { workspace: workspace(), message: MessageId::new(message) }
        }
        (None, Some(channel)) => {
            let channel = known_channel(&web, channel).await?;
            DecisionQuery::Channel { workspace: workspace(), channel, limit: PAGE }
        }
        (None, None) => return Err(bad_request(ask)),
    };
    let decisions = web.archive.decisions(query).await?;
    let decisions: Vec<Value> = decisions.iter().map(shapes::decision).collect();
    Ok(Json(json!({ "decisions": decisions, "revision": revision })))
}

pub async fn dead_letters(State(web): State<Arc<Web>>) -> Answer {
    let letters = web.archive.dead_letters().await?;
    let letters: Vec<Value> = letters.iter().map(shapes::dead_letter).collect();
    Ok(Json(json!({ "dead_letters": letters })))
}

async fn known_channel(web: &Web, channel: String) -> Result<ChannelId, Problem> {
    let channel = ChannelId::new(channel);
    web.room.known_channel(&channel).await.map_err(|error| refused(web, &error))?;
    Ok(channel)
}

/// `after` is a message's id or a time in epoch seconds.
async fn span(
    web: &Web,
    channel: &ChannelId,
    after: Option<String>,
    before: Option<String>,
) -> Result<Span, Problem> {
    let unknown = |id: &str| {
        Problem::new(StatusCode::NOT_FOUND, format!("there is no message {id:?} in this channel"))
    };
    let after = match (after, before) {
        (None, None) => return Ok(Span::Newest),
        (Some(_), Some(_)) => return Err(bad_request("give either after or before")),
        (None, Some(before)) => {
            let id = MessageId::new(before.as_str());
            let line = web.archive.line(&workspace(), channel, &id).await?;
            return line.map(|_| Span::Before(id)).ok_or_else(|| unknown(&before));
        }
        (Some(after), None) => after,
    };
    let id = MessageId::new(after.as_str());
    if web.archive.line(&workspace(), channel, &id).await?.is_some() {
        return Ok(Span::After(id));
    }
    let time = after.parse::<f64>().ok().filter(|seconds| seconds.is_finite());
    let time = time.and_then(|seconds| {
        jiff::Timestamp::from_millisecond((seconds * 1000.0).round() as i64).ok()
    });
    time.map(Span::AfterTime).ok_or_else(|| unknown(&after))
}

pub(super) fn refused(web: &Web, error: &SayError) -> Problem {
    let status = match error {
        SayError::UnknownChannel(_) | SayError::UnknownThread(_) | SayError::UnknownLine(_) => {
            StatusCode::NOT_FOUND
        }
        SayError::NotOwn => StatusCode::FORBIDDEN,
        SayError::BadName
        | SayError::BadChannelName
        | SayError::BadId
        | SayError::BadEmoji
        | SayError::BadMinutes
        | SayError::Empty => StatusCode::UNPROCESSABLE_ENTITY,
        SayError::NameTaken(_) | SayError::ChannelTaken(_) | SayError::IdTaken => {
            StatusCode::CONFLICT
        }
        SayError::TooLong(_) => StatusCode::PAYLOAD_TOO_LARGE,
        SayError::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    Problem::new(status, error.sentence(web.persona.language))
}

pub(super) fn unreadable(web: &Web, rejection: &JsonRejection, shape: &str) -> Problem {
    let status = rejection.status();
    let sentence = match status {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let limit = LARGEST_BODY / 1024 / 1024;
            let words = web
                .persona
                .language
                .pick("the message is larger than {} MB", "文章が {} MB を超えています");
            words.replace("{}", &limit.to_string())
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            "send JSON, with the content type application/json".to_owned()
        }
        _ => format!("send {shape}"),
    };
    Problem::new(status, sentence)
}

fn bad_request(sentence: &str) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, sentence)
}
