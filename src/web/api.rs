//! The room's own JSON API (DESIGN §7).

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::chat::{ChannelId, MessageId};
use crate::platform::local::{SayError, Saying, workspace};
use crate::store::{DecisionQuery, LineQuery, Span};
use crate::web::{LARGEST_BODY, Problem, Web, shapes};

/// How many lines or decisions one answer holds.
const PAGE: usize = 200;

type Answer = Result<Json<Value>, Problem>;

pub async fn channels(State(web): State<Arc<Web>>) -> Answer {
    let channels = web.archive.channels(&workspace()).await?;
    let channels: Vec<Value> =
        channels.iter().map(|channel| json!({ "id": channel.id, "name": channel.name })).collect();
    Ok(Json(json!({ "persona": { "name": web.persona.name }, "channels": channels })))
}

#[derive(Deserialize)]
pub struct MessagesQuery {
    channel: String,
    thread: Option<String>,
    after: Option<String>,
    before: Option<String>,
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
    let query = LineQuery { workspace: workspace(), channel, thread, span, limit: PAGE };
    let lines = web.archive.lines(query).await?;
    let messages: Vec<Value> = lines.iter().map(shapes::message).collect();
    Ok(Json(json!({ "messages": messages, "revision": revision })))
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
    let Json(body) = body.map_err(|rejection| unreadable(&web, &rejection))?;
    let saying = Saying {
        id: body.id,
        channel: ChannelId::new(body.channel),
        thread: body.thread.filter(|thread| !thread.is_empty()).map(MessageId::new),
        user: body.user,
        text: body.text,
    };
    let said = web.room.say(saying).await;
    let (id, at) = said.map_err(|error| not_said(&web, &error))?;
    Ok((StatusCode::CREATED, Json(json!({ "id": id, "ts": shapes::seconds(at) }))))
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

/// The process runs and answers.
pub async fn live() -> Json<Value> {
    Json(json!({ "status": "live" }))
}

/// The store can be read and, as far as was tried last, written.
pub async fn ready(State(web): State<Arc<Web>>) -> Answer {
    web.archive.health().await?;
    if web.shutdown.is_cancelled() {
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "it is shutting down"));
    }
    Ok(Json(json!({ "status": "ready" })))
}

async fn known_channel(web: &Web, channel: String) -> Result<ChannelId, Problem> {
    let channels = web.archive.channels(&workspace()).await?;
    let known = channels.into_iter().find(|known| known.id.as_str() == channel);
    known.map(|known| known.id).ok_or_else(|| not_said(web, &SayError::UnknownChannel(channel)))
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

fn not_said(web: &Web, error: &SayError) -> Problem {
    let status = match error {
        SayError::UnknownChannel(_) | SayError::UnknownThread(_) => StatusCode::NOT_FOUND,
        SayError::BadName | SayError::BadId | SayError::Empty => StatusCode::UNPROCESSABLE_ENTITY,
        SayError::NameTaken(_) | SayError::IdTaken => StatusCode::CONFLICT,
        SayError::TooLong(_) => StatusCode::PAYLOAD_TOO_LARGE,
        SayError::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    Problem::new(status, error.sentence(web.persona.language))
}

fn unreadable(web: &Web, rejection: &JsonRejection) -> Problem {
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
        _ => r#"send {"channel": "…", "user": "…", "text": "…"} and, for a thread, "thread": "…""#
            .to_owned(),
    };
    Problem::new(status, sentence)
}

fn bad_request(sentence: &str) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, sentence)
}
