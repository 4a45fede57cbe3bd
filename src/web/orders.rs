//! Orders through the API (mute, mode, opt-out), and the spending report.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use serde::Deserialize;

use crate::web::api::{ApiResult, invalid_body, local_room_problem};
use crate::web::{ApiProblem, Web, views};
use aizuchi_core::chat::ChannelId;
use aizuchi_core::platform::local::controls::ConsentChange;
use aizuchi_core::platform::local::workspace_id;
use aizuchi_core::rules::Mode;

const MUTE_FORMAT: &str =
    r#"{"channel": "…", "minutes": 60}; without a channel: everywhere, without minutes: for good"#;
const UNMUTE_FORMAT: &str = r#"{"channel": "…"}; without a channel: everywhere"#;
const MODE_FORMAT: &str = r#"{"channel": "…", "mode": "companion", "facilitator", "mention_only", "observe", "off" or null}"#;
const OPT_OUT_FORMAT: &str = r#"{"user": "…"} and, to be listened to again, "undo": true"#;

type Body<T> = Result<Json<T>, JsonRejection>;
type OrderResult = Result<StatusCode, ApiProblem>;

/// Unknown fields are rejected: a misspelled `channel` must not mute every channel.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MuteBody {
    channel: Option<String>,
    minutes: Option<u64>,
}

pub async fn mute(State(web): State<Arc<Web>>, body: Body<MuteBody>) -> OrderResult {
    let Json(body) = body.map_err(|rejection| invalid_body(&web, &rejection, MUTE_FORMAT))?;
    let muted = web.room.mute(body.channel.map(ChannelId::new), body.minutes).await;
    muted.map(|()| StatusCode::NO_CONTENT).map_err(|error| local_room_problem(&web, &error))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnmuteBody {
    channel: Option<String>,
}

pub async fn unmute(State(web): State<Arc<Web>>, body: Body<UnmuteBody>) -> OrderResult {
    let Json(body) = body.map_err(|rejection| invalid_body(&web, &rejection, UNMUTE_FORMAT))?;
    let unmuted = web.room.unmute(body.channel.map(ChannelId::new)).await;
    unmuted.map(|()| StatusCode::NO_CONTENT).map_err(|error| local_room_problem(&web, &error))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModeBody {
    channel: String,
    /// Required, because `null` has a meaning of its own: back to the configured mode.
    #[serde(deserialize_with = "Option::deserialize")]
    mode: Option<Mode>,
}

pub async fn set_mode(State(web): State<Arc<Web>>, body: Body<ModeBody>) -> OrderResult {
    let Json(body) = body.map_err(|rejection| invalid_body(&web, &rejection, MODE_FORMAT))?;
    let ordered = web.room.set_mode(ChannelId::new(body.channel), body.mode).await;
    ordered.map(|()| StatusCode::NO_CONTENT).map_err(|error| local_room_problem(&web, &error))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptOutBody {
    user: String,
    #[serde(default)]
    undo: bool,
}

pub async fn opt_out(State(web): State<Arc<Web>>, body: Body<OptOutBody>) -> OrderResult {
    let Json(body) = body.map_err(|rejection| invalid_body(&web, &rejection, OPT_OUT_FORMAT))?;
    let change = if body.undo { ConsentChange::OptIn } else { ConsentChange::OptOut };
    let ordered = web.room.change_consent(&body.user, change).await;
    ordered.map(|()| StatusCode::NO_CONTENT).map_err(|error| local_room_problem(&web, &error))
}

pub async fn spending(State(web): State<Arc<Web>>) -> ApiResult {
    let spendings = web.archive.spending(&workspace_id(), web.clock.now()).await?;
    let channels = web.room.channels().await?;
    Ok(Json(views::spending(&spendings, &channels, &web.room.rulebook(), &web.currency)))
}
