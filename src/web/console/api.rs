//! What the console shows, as JSON.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::status::Status;
use crate::web::access::Visitor;
use crate::web::console::health::Health;
use crate::web::console::{health, snapshot};
use crate::web::models::ProblemView;
use crate::web::{ApiProblem, ApiResult, Web, models, views, workspaces};
use aizuchi_core::chat::{ChannelId, WorkspaceId};
use aizuchi_core::store::PrivateReads;

/// The most rows of the record of reads.
pub const MAX_READS: usize = 200;

#[derive(Deserialize, JsonSchema)]
pub struct StatusQuery {
    workspace: Option<String>,
}

/// How every workspace stands.
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
    query: Result<Query<StatusQuery>, QueryRejection>,
) -> ApiResult<StatusAnswer> {
    let only = match query.ok().and_then(|Query(query)| query.workspace) {
        Some(id) => Some(workspaces::find(&web, Some(&id)).await?),
        None => None,
    };
    let revision = *web.revisions.borrow();
    let status = snapshot::read(&web, &visitor.access, only.as_ref()).await?;
    Ok(Json(StatusAnswer { status, revision, currency: web.currency.clone() }))
}

/// How the program is.
#[derive(Serialize, JsonSchema)]
pub struct HealthAnswer {
    #[serde(flatten)]
    health: Health,
    problems: Vec<ProblemView>,
}

/// `GET /api/health`.
pub async fn health(State(web): State<Arc<Web>>) -> ApiResult<HealthAnswer> {
    let problems = models::problems(&web.models, web.persona.language);
    Ok(Json(HealthAnswer { health: health::read(&web).await?, problems }))
}

/// Who read the text of private channels.
#[derive(Serialize, JsonSchema)]
pub struct PrivateReadsAnswer {
    reads: Vec<PrivateReadView>,
}

#[derive(Serialize, JsonSchema)]
pub struct PrivateReadView {
    workspace: WorkspaceId,
    channel: ChannelId,
    reader: Arc<str>,
    what: &'static str,
    ts: f64,
    count: u64,
}

/// `GET /api/private-reads`: who read the text of private channels.
pub async fn private_reads(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
) -> ApiResult<PrivateReadsAnswer> {
    if !visitor.access.is_admin() {
        let sentence = "only an admin reads who read private channels";
        return Err(ApiProblem::new(StatusCode::FORBIDDEN, sentence));
    }
    let reads = web.archive.private_reads(MAX_READS).await?;
    Ok(Json(PrivateReadsAnswer { reads: reads.iter().map(view).collect() }))
}

fn view(reads: &PrivateReads) -> PrivateReadView {
    PrivateReadView {
        workspace: reads.read.workspace.clone(),
        channel: reads.read.channel.clone(),
        reader: reads.read.reader.clone(),
        what: reads.read.what.name(),
        ts: views::seconds(reads.at),
        count: reads.count,
    }
}
