//! Dead letters: listed, retried, or dropped.

use std::collections::BTreeMap;
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_actions::dead_letter::LetterAction;
use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::flow::{DeadLetter, DeadLetterId};
use aizuchi_store::order::Order;
use aizuchi_store::query::DeadLetterQuery;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Visitor;
use crate::actions::requests;
use crate::refusal::Refusal;
use crate::views::DeadLetterView;
use crate::workspaces::Shown;
use crate::{ApiProblem, JsonResult, Web, views, workspaces};

#[derive(Deserialize, JsonSchema)]
pub struct DeadLetterParameters {
    /// Only this workspace, by its id; all workspaces if omitted.
    workspace: Option<String>,
    /// The `older` value of a page, to get the next older one.
    before: Option<i64>,
}

/// Dead letters, oldest first.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LettersAnswer")]
pub struct DeadLettersAnswer {
    dead_letters: Vec<DeadLetterView>,
    /// The value of `before` for the next older page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    older: Option<i64>,
}

/// The number of letters on one page.
const PAGE: usize = 100;

/// `GET /api/dead-letters`: of all workspaces, or of one.
pub async fn list(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    query: Result<Query<DeadLetterParameters>, QueryRejection>,
) -> JsonResult<DeadLettersAnswer> {
    let Query(query) = query.map_err(|_| Refusal::LetterNumberNeeded)?;
    let workspace = workspaces::find_only(&web, query.workspace.as_deref()).await?;
    let before = query.before.map(DeadLetterId);
    // Fetch one more, to learn whether there is a page before this one.
    let query = DeadLetterQuery { workspace, before, limit: PAGE + 1 };
    let mut letters = web.archive.dead_letters(&query).await?;
    let surplus = letters.len().saturating_sub(PAGE);
    letters.drain(..surplus);
    let older = letters.first().filter(|_| surplus > 0).map(|letter| letter.id);
    record(&web, &visitor.access, &letters).await?;
    let view = |letter: &DeadLetter| match may_read(&visitor.access, letter) {
        true => views::dead_letter(letter),
        false => views::dead_letter_without_text(letter),
    };
    Ok(Json(DeadLettersAnswer {
        dead_letters: letters.iter().map(view).collect(),
        older: older.map(|DeadLetterId(id)| id),
    }))
}

/// Records that private ones of these letters are read.
pub async fn record(web: &Web, access: &Access, letters: &[DeadLetter]) -> Result<(), ApiProblem> {
    let mut shown: BTreeMap<&WorkspaceId, Vec<DeadLetter>> = BTreeMap::new();
    for letter in letters {
        shown.entry(&letter.conversation.workspace).or_default().push(letter.clone());
    }
    for (workspace, letters) in shown {
        workspaces::record_look(web, access, workspace, Shown::DeadLetters(&letters)).await?;
    }
    Ok(())
}

/// Whether the visitor may read the text of a letter, which a model wrote.
pub fn may_read(access: &Access, letter: &DeadLetter) -> bool {
    access.may_read_models(&letter.conversation.workspace)
}

requests! {
    /// `POST /api/dead-letters/ID/retry`.
    in_any LetterRetry {}
    malformed_order |it, web, access, id| { settle(web, access, (it.workspace, id), LetterAction::Retry).await }

    /// `DELETE /api/dead-letters/ID`.
    in_any LetterDrop {}
    malformed_order |it, web, access, id| { settle(web, access, (it.workspace, id), LetterAction::Drop).await }
}

async fn settle(
    web: &Web,
    access: &Access,
    (workspace, id): (Option<String>, i64),
    action: LetterAction,
) -> Result<Order, ApiProblem> {
    let workspace = workspaces::find_only(web, workspace.as_deref()).await?;
    Ok(web.authorization().settle(access, (workspace, DeadLetterId(id)), action).await?)
}
