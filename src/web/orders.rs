//! What people order through the API, and what was used up.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use serde::Deserialize;

use crate::web::api::{Answer, refused, unreadable};
use crate::web::{Problem, Web, shapes};
use aizuchi_core::chat::ChannelId;
use aizuchi_core::platform::local::orders::Listening;
use aizuchi_core::platform::local::workspace;
use aizuchi_core::rules::Mode;

const MUTE_SHAPE: &str =
    r#"{"channel": "…", "minutes": 60}; without a channel: everywhere, without minutes: for good"#;
const UNMUTE_SHAPE: &str = r#"{"channel": "…"}; without a channel: everywhere"#;
const MODE_SHAPE: &str = r#"{"channel": "…", "mode": "companion", "facilitator", "mention_only", "observe", "off" or null}"#;
const OPT_OUT_SHAPE: &str = r#"{"user": "…"} and, to be listened to again, "undo": true"#;

type Body<T> = Result<Json<T>, JsonRejection>;
type Done = Result<StatusCode, Problem>;

/// A misspelled key must not silence every channel.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MuteBody {
    channel: Option<String>,
    minutes: Option<u64>,
}

pub async fn mute(State(web): State<Arc<Web>>, body: Body<MuteBody>) -> Done {
    let Json(body) = body.map_err(|rejection| unreadable(&web, &rejection, MUTE_SHAPE))?;
    let muted = web.room.mute(body.channel.map(ChannelId::new), body.minutes).await;
    muted.map(|()| StatusCode::NO_CONTENT).map_err(|error| refused(&web, &error))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnmuteBody {
    channel: Option<String>,
}

pub async fn unmute(State(web): State<Arc<Web>>, body: Body<UnmuteBody>) -> Done {
    let Json(body) = body.map_err(|rejection| unreadable(&web, &rejection, UNMUTE_SHAPE))?;
    let unmuted = web.room.unmute(body.channel.map(ChannelId::new)).await;
    unmuted.map(|()| StatusCode::NO_CONTENT).map_err(|error| refused(&web, &error))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModeBody {
    channel: String,
    /// Null is a word of its own here, so it must be said.
    #[serde(deserialize_with = "Option::deserialize")]
    mode: Option<Mode>,
}

pub async fn mode(State(web): State<Arc<Web>>, body: Body<ModeBody>) -> Done {
    let Json(body) = body.map_err(|rejection| unreadable(&web, &rejection, MODE_SHAPE))?;
    let ordered = web.room.take_part(ChannelId::new(body.channel), body.mode).await;
    ordered.map(|()| StatusCode::NO_CONTENT).map_err(|error| refused(&web, &error))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptOutBody {
    user: String,
    #[serde(default)]
    undo: bool,
}

pub async fn opt_out(State(web): State<Arc<Web>>, body: Body<OptOutBody>) -> Done {
    let Json(body) = body.map_err(|rejection| unreadable(&web, &rejection, OPT_OUT_SHAPE))?;
    let listening = if body.undo { Listening::OptIn } else { Listening::OptOut };
    let ordered = web.room.listen(&body.user, listening).await;
    ordered.map(|()| StatusCode::NO_CONTENT).map_err(|error| refused(&web, &error))
}

pub async fn spending(State(web): State<Arc<Web>>) -> Answer {
    let spendings = web.archive.spending(&workspace(), web.clock.now()).await?;
    let channels = web.room.channels().await?;
    Ok(Json(shapes::spending(&spendings, &channels, web.room.rulebook(), &web.currency)))
}
