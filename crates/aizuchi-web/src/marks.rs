//! The marks with which users rate afterwards whether a decision was right.

use std::sync::Arc;

use aizuchi_model::decision::DecisionId;
use aizuchi_model::decision::mark::Mark;
use aizuchi_model::texts::refusals;
use aizuchi_store::order::Order;
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::access::{Access, Visitor};
use crate::api::json;
use crate::refusal::Refusal;
use crate::{ApiProblem, Web, decision, workspaces};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MarkBody {
    /// The id of the workspace to look in; all workspaces if omitted.
    workspace: Option<String>,
    /// Required; `null` removes the mark.
    #[serde(deserialize_with = "Option::deserialize")]
    mark: Option<Mark>,
}

/// `POST /api/decisions/ID/mark`.
pub async fn mark(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    id: Result<Path<i64>, PathRejection>,
    body: Result<Json<MarkBody>, JsonRejection>,
) -> Result<StatusCode, ApiProblem> {
    let Path(id) = id.map_err(|_| decision::absent())?;
    let body = json(body, refusals::format_of_mark)?;
    put(&web, &visitor.access, body.workspace.as_deref(), DecisionId(id), body.mark).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Marks a decision, or removes its mark. Without a workspace, the decision may be of any.
pub async fn put(
    web: &Web,
    access: &Access,
    workspace: Option<&str>,
    id: DecisionId,
    mark: Option<Mark>,
) -> Result<(), ApiProblem> {
    if !access.may_order() {
        return Err(Refusal::NoOrders.into());
    }
    let found = decision::find(web, id).await?.ok_or_else(decision::absent)?;
    let workspace = match workspaces::find_only(web, workspace).await? {
        Some(workspace) => workspace,
        None => found.conversation.workspace.clone(),
    };
    if found.conversation.workspace != workspace {
        return Err(decision::absent());
    }
    let by = access.signature();
    Ok(web.inbox.apply_order(Order::MarkDecision { workspace, id, mark, by }).await?)
}
