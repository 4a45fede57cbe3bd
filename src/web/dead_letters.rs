//! What was given up: listed, tried again, or dropped.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Extension, Path, Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::web::access::{Access, Visitor};
use crate::web::{ApiProblem, ApiResult, Web, views, workspaces};
use aizuchi_core::chat::{ChannelId, Visibility, WorkspaceId};
use aizuchi_core::event::{DeadLetter, DeadLetterId};
use aizuchi_core::platform::local::workspace_id;
use aizuchi_core::store::{Order, PrivateText, StoreError};

#[derive(Deserialize)]
pub struct LettersQuery {
    workspace: Option<String>,
}

/// What becomes of a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Retry,
    Drop,
}

/// `GET /api/dead-letters`: of all workspaces, or of one.
pub async fn list(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    query: Result<Query<LettersQuery>, QueryRejection>,
) -> ApiResult {
    let workspace = match query.ok().and_then(|Query(query)| query.workspace) {
        Some(id) => Some(workspaces::find(&web, Some(&id)).await?),
        None => None,
    };
    let letters = read(&web, &visitor.access, workspace.as_ref()).await?;
    let view = |letter: &DeadLetter| match may_read(&visitor.access, letter) {
        true => views::dead_letter(letter),
        false => views::dead_letter_without_text(letter),
    };
    let letters: Vec<Value> = letters.iter().map(view).collect();
    Ok(Json(json!({ "dead_letters": letters })))
}

/// The letters, oldest first. Reads of private ones are recorded.
pub async fn read(
    web: &Web,
    access: &Access,
    workspace: Option<&WorkspaceId>,
) -> Result<Vec<DeadLetter>, ApiProblem> {
    let mut letters = web.archive.dead_letters().await?;
    letters.retain(|letter| {
        workspace.is_none_or(|workspace| letter.conversation.workspace == *workspace)
    });
    let shown = letters.iter().filter(|letter| letter.text.is_some() && may_read(access, letter));
    let places: BTreeSet<(&WorkspaceId, &ChannelId)> = shown
        .map(|letter| (&letter.conversation.workspace, &letter.conversation.channel))
        .filter(|(workspace, _)| **workspace != workspace_id())
        .collect();
    for (workspace, channel) in places {
        let found = web.archive.channels(workspace).await?.into_iter();
        let mut found = found.filter(|known| known.id == *channel);
        if found.next().is_none_or(|known| known.visibility != Visibility::Public) {
            workspaces::record_read(web, access, (workspace, channel), PrivateText::DeadLetters)
                .await?;
        }
    }
    Ok(letters)
}

/// Whether somebody may read the text of a letter, which a model wrote.
pub fn may_read(access: &Access, letter: &DeadLetter) -> bool {
    access.may_read_models(&letter.conversation.workspace)
}

/// `POST /api/dead-letters/ID/retry`.
pub async fn retry(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    id: Result<Path<i64>, PathRejection>,
) -> Result<StatusCode, ApiProblem> {
    let Path(id) = id.map_err(|_| absent())?;
    settle(&web, &visitor.access, DeadLetterId(id), Fate::Retry).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE /api/dead-letters/ID`.
pub async fn drop(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    id: Result<Path<i64>, PathRejection>,
) -> Result<StatusCode, ApiProblem> {
    let Path(id) = id.map_err(|_| absent())?;
    settle(&web, &visitor.access, DeadLetterId(id), Fate::Drop).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub async fn settle(
    web: &Web,
    access: &Access,
    id: DeadLetterId,
    fate: Fate,
) -> Result<(), ApiProblem> {
    if !access.may_order() {
        return Err(ApiProblem::new(StatusCode::FORBIDDEN, "your role gives no orders"));
    }
    let letters = web.archive.dead_letters().await?;
    let letter = letters.into_iter().find(|letter| letter.id == id).ok_or_else(absent)?;
    let workspace = letter.conversation.workspace;
    let order = match fate {
        Fate::Retry => Order::RetryDeadLetter { workspace, id },
        Fate::Drop => Order::DropDeadLetter { workspace, id },
    };
    match web.inbox.apply_order(order).await {
        Err(StoreError::Refused(why)) => Err(ApiProblem::new(StatusCode::CONFLICT, why)),
        ordered => Ok(ordered?),
    }
}

fn absent() -> ApiProblem {
    ApiProblem::new(StatusCode::NOT_FOUND, "there is no such dead letter")
}
