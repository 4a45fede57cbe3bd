//! The JSON API of what the console shows.

use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_model::chat::WorkspaceId;
use axum::Json;
use axum::extract::{Extension, State};
use schemars::JsonSchema;
use serde::Serialize;

use crate::access::Visitor;
use crate::console::health;
use crate::console::health::Health;
use crate::console::running_status;
use crate::models::ProblemView;
use crate::status::Status;
use crate::workspaces::FilterParameter;
use crate::{ApiProblem, JsonResult, Web, models, workspaces};

/// The status of the workspaces.
#[derive(Serialize, JsonSchema)]
pub struct StatusAnswer {
    #[serde(flatten)]
    status: Status,
    revision: u64,
    currency: String,
}

/// `GET /api/status`: as `aizuchi status --json`, of all workspaces or of one.
pub async fn status(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    filter: FilterParameter,
) -> JsonResult<StatusAnswer> {
    let only = workspaces::only(&web, filter).await?;
    Ok(Json(read_status(&web, &visitor.access, only.as_ref()).await?))
}

/// Returns the status of all workspaces, or of one, as far as this visitor may know it.
pub async fn read_status(
    web: &Web,
    access: &Access,
    only: Option<&WorkspaceId>,
) -> Result<StatusAnswer, ApiProblem> {
    let revision = *web.revisions.borrow();
    let status = running_status::read(web, access, only).await?;
    Ok(StatusAnswer { status, revision, currency: web.currency.clone() })
}

/// The health of the program. If a workspace is named, only its steps and memories are listed.
#[derive(Serialize, JsonSchema)]
pub struct HealthAnswer {
    #[serde(flatten)]
    health: Health,
    problems: Vec<ProblemView>,
}

/// `GET /api/health`, with the steps of all workspaces or of one.
pub async fn health(
    State(web): State<Arc<Web>>,
    filter: FilterParameter,
) -> JsonResult<HealthAnswer> {
    let only = workspaces::only(&web, filter).await?;
    let problems = models::problems(&web, web.persona.language);
    Ok(Json(HealthAnswer { health: health::read(&web, only).await?, problems }))
}
