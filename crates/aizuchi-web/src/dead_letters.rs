//! Dead letters: listed, retried, or dropped.

use std::collections::BTreeMap;
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_actions::refusal::ActionRefusal;
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
use crate::actions::ActionRequest;
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

/// A page of letters, oldest first.
pub struct DeadLetterPage {
    pub letters: Vec<DeadLetter>,
    /// The cursor of the next older page, if there is one.
    pub older: Option<DeadLetterId>,
}

/// `GET /api/dead-letters`: of all workspaces, or of one.
pub async fn list(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    query: Result<Query<DeadLetterParameters>, QueryRejection>,
) -> JsonResult<DeadLettersAnswer> {
    let Query(query) = query.map_err(|_| Refusal::LetterNumberNeeded)?;
    let workspace = workspaces::find_only(&web, query.workspace.as_deref()).await?;
    let before = query.before.map(DeadLetterId);
    let DeadLetterPage { letters, older } = read(&web, &visitor.access, workspace, before).await?;
    let view = |letter: &DeadLetter| match may_read(&visitor.access, letter) {
        true => views::dead_letter(letter),
        false => views::dead_letter_without_text(letter),
    };
    let dead_letters = letters.iter().map(view).collect();
    Ok(Json(DeadLettersAnswer { dead_letters, older: older.map(|DeadLetterId(id)| id) }))
}

/// Returns the newest letters before one of them. Reads of private ones are recorded.
pub async fn read(
    web: &Web,
    access: &Access,
    workspace: Option<WorkspaceId>,
    before: Option<DeadLetterId>,
) -> Result<DeadLetterPage, ApiProblem> {
    // Fetch one more, to learn whether there is a page before this one.
    let query = DeadLetterQuery { workspace, before, limit: PAGE + 1 };
    let mut letters = web.archive.dead_letters(&query).await?;
    let surplus = letters.len().saturating_sub(PAGE);
    letters.drain(..surplus);
    let older = letters.first().filter(|_| surplus > 0).map(|letter| letter.id);
    let mut shown: BTreeMap<&WorkspaceId, Vec<DeadLetter>> = BTreeMap::new();
    for letter in &letters {
        shown.entry(&letter.conversation.workspace).or_default().push(letter.clone());
    }
    for (workspace, letters) in shown {
        workspaces::record_look(web, access, workspace, Shown::DeadLetters(&letters)).await?;
    }
    Ok(DeadLetterPage { letters, older })
}

/// Whether the visitor may read the text of a letter, which a model wrote.
pub fn may_read(access: &Access, letter: &DeadLetter) -> bool {
    access.may_read_models(&letter.conversation.workspace)
}

/// `POST /api/dead-letters/ID/retry`: of the given workspace, or without one, of any.
#[derive(Deserialize)]
pub struct LetterRetry {
    pub workspace: Option<String>,
}

/// `DELETE /api/dead-letters/ID`.
#[derive(Deserialize)]
pub struct LetterDrop {
    pub workspace: Option<String>,
}

impl ActionRequest for LetterRetry {
    async fn order(self, web: &Web, access: &Access, id: i64) -> Result<Order, ApiProblem> {
        let (workspace, id) = find(web, access, self.workspace.as_deref(), id).await?;
        Ok(Order::RetryDeadLetter { workspace, id }.signed(access.signature()))
    }
}

impl ActionRequest for LetterDrop {
    async fn order(self, web: &Web, access: &Access, id: i64) -> Result<Order, ApiProblem> {
        let (workspace, id) = find(web, access, self.workspace.as_deref(), id).await?;
        Ok(Order::DropDeadLetter { workspace, id }.signed(access.signature()))
    }
}

/// Finds a letter that the visitor may settle, and returns its workspace.
async fn find(
    web: &Web,
    access: &Access,
    workspace: Option<&str>,
    id: i64,
) -> Result<(WorkspaceId, DeadLetterId), ApiProblem> {
    access.require_orders()?;
    let workspace = workspaces::find_only(web, workspace).await?;
    let (id, before) = (DeadLetterId(id), Some(DeadLetterId(id.saturating_add(1))));
    let query = DeadLetterQuery { workspace, before, limit: 1 };
    let newest = web.archive.dead_letters(&query).await?.pop();
    let letter = newest.filter(|letter| letter.id == id).ok_or(ActionRefusal::NoDeadLetter)?;
    Ok((letter.conversation.workspace, id))
}
