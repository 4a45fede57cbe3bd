//! What the console shows, as JSON.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::web::access::Visitor;
use crate::web::console::{health, snapshot};
use crate::web::{ApiProblem, ApiResult, Web, models, views, workspaces};
use aizuchi_core::store::PrivateReads;

/// The most rows of the record of reads.
pub const MAX_READS: usize = 200;

#[derive(Deserialize)]
pub struct StatusQuery {
    workspace: Option<String>,
}

/// `GET /api/status`: as `aizuchi status --json`, of all workspaces or of one.
pub async fn status(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    query: Result<Query<StatusQuery>, QueryRejection>,
) -> ApiResult {
    let only = match query.ok().and_then(|Query(query)| query.workspace) {
        Some(id) => Some(workspaces::find(&web, Some(&id)).await?),
        None => None,
    };
    let revision = *web.revisions.borrow();
    let status = snapshot::read(&web, &visitor.access, only.as_ref()).await?;
    let mut view = json!(status);
    view["revision"] = json!(revision);
    view["currency"] = json!(web.currency);
    Ok(Json(view))
}

/// `GET /api/health`.
pub async fn health(State(web): State<Arc<Web>>) -> ApiResult {
    let mut view = json!(health::read(&web).await?);
    view["problems"] = json!(models::problems(&web.models, web.persona.language));
    Ok(Json(view))
}

/// `GET /api/private-reads`: who read the text of private channels.
pub async fn private_reads(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
) -> ApiResult {
    if !visitor.access.is_admin() {
        let sentence = "only an admin reads who read private channels";
        return Err(ApiProblem::new(StatusCode::FORBIDDEN, sentence));
    }
    let reads = web.archive.private_reads(MAX_READS).await?;
    Ok(Json(json!({ "reads": reads.iter().map(view).collect::<Vec<_>>() })))
}

fn view(reads: &PrivateReads) -> Value {
    json!({
        "workspace": reads.read.workspace,
        "channel": reads.read.channel,
        "reader": reads.read.reader,
        "what": reads.read.what.name(),
        "ts": views::seconds(reads.at),
        "count": reads.count,
    })
}
