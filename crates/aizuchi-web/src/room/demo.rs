//! The API of the demo: a page starts and skips it, and follows it through the server-sent events.

use std::sync::Arc;

use aizuchi_model::chat::local;
use aizuchi_platform::demo::script::SCENES;
use aizuchi_platform::demo::{DemoStatus, Phase};
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::room::feed::event;
use crate::views::AddedChannelView;
use crate::workspaces::WorkspaceParameter;
use crate::{ApiProblem, JsonResult, Web, views, workspaces};

/// A play of the demo, and the channel that it is played in.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DemoView {
    #[serde(flatten)]
    channel: AddedChannelView,
    /// The number of the play. Events about the demo have it, too; a later play has a higher one.
    play: i64,
}

/// Starts a play, or joins the running one.
pub async fn start(State(web): State<Arc<Web>>, query: WorkspaceParameter) -> JsonResult<DemoView> {
    require_local(&web, query).await?;
    let (channel, play) = web.demo.start().await?;
    Ok(Json(DemoView { channel: views::channel(&channel), play }))
}

/// Ends the play, if one is running.
pub async fn skip(
    State(web): State<Arc<Web>>,
    query: WorkspaceParameter,
) -> Result<StatusCode, ApiProblem> {
    require_local(&web, query).await?;
    web.demo.skip();
    Ok(StatusCode::NO_CONTENT)
}

async fn require_local(web: &Web, query: WorkspaceParameter) -> Result<(), ApiProblem> {
    let Query(query) = query.map_err(workspaces::unclear)?;
    workspaces::require_local(web, query.workspace.as_deref()).await
}

/// The event with what pages show of a play.
pub fn status_event(status: &DemoStatus) -> Bytes {
    event("demo", &view(status), None)
}

fn view(status: &DemoStatus) -> Value {
    let play = status.play;
    match &status.phase {
        Phase::Idle => json!({ "phase": "idle", "play": play }),
        Phase::Over => json!({ "phase": "over", "play": play }),
        Phase::Playing(progress) => json!({
            "phase": "playing",
            "play": play,
            "channel": local::demo_channel_id(),
            "scene": progress.scene,
            "scenes": SCENES,
            "caption": { "en": progress.caption.english, "ja": progress.caption.japanese },
            "decision": progress.caption.decision,
        }),
    }
}
