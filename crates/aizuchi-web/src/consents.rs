//! Calls of tools that may write: they are listed, and allowed or refused by visitors who may read the channel.

use std::collections::BTreeMap;
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, ConversationId, MessageId, WorkspaceId};
use aizuchi_model::decision::DecisionId;
use aizuchi_model::decision::consent::{
    Consent, ConsentChoice, ConsentId, ConsentState, ConsentStep,
};
use aizuchi_model::memory::asker::named;
use aizuchi_model::texts::refusals;
use aizuchi_store::StoreError;
use aizuchi_store::order::Order;
use aizuchi_store::query::ConsentQuery;
use aizuchi_store::refusal_reason::RefusalReason;
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Access, Visitor};
use crate::api::json;
use crate::deciders::{ChannelReader, hide_decider, require_decider};
use crate::workspaces::{self, FilterParameter, Shown};
use crate::{ApiProblem, ApiResult, Web, views};

/// The number of newest calls in a list.
const PAGE: usize = 100;

/// Calls of tools that may write and need permission, newest first.
#[derive(Serialize, JsonSchema)]
pub struct CallsAnswer {
    calls: Vec<CallView>,
}

#[derive(Serialize, JsonSchema)]
pub struct CallView {
    id: ConsentId,
    workspace: WorkspaceId,
    channel: ChannelId,
    thread: Option<MessageId>,
    decision: DecisionId,
    /// The messages for which the call is made.
    messages: Vec<MessageId>,
    state: ConsentState,
    /// The name under which the tool is offered to models.
    tool: Arc<str>,
    /// The arguments as JSON. Null if the visitor may not read them, and once the call can no longer be allowed.
    arguments: Option<Arc<str>>,
    ts: f64,
    /// When the call can no longer be allowed.
    expires: f64,
    /// Who decided; empty: somebody on this machine. Null for viewers.
    by: Option<Arc<str>>,
    decided: Option<f64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallBody {
    /// The id of the workspace to look in; all workspaces if omitted.
    workspace: Option<String>,
    choice: CallAction,
}

/// A choice about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallAction {
    AllowOnce,
    Refuse,
}

/// `GET /api/calls`: of all workspaces, or of one.
pub async fn list(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    filter: FilterParameter,
) -> ApiResult<CallsAnswer> {
    let workspace = workspaces::only(&web, filter).await?;
    let calls = read(&web, &visitor.access, workspace).await?;
    let view = |consent| match visitor.access.may_order() {
        true => view(consent),
        false => CallView { by: None, ..view(consent) },
    };
    Ok(Json(CallsAnswer { calls: calls.into_iter().map(view).collect() }))
}

/// `POST /api/calls/ID`.
pub async fn post(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    id: Result<Path<i64>, PathRejection>,
    body: Result<Json<CallBody>, JsonRejection>,
) -> Result<StatusCode, ApiProblem> {
    let gone = |_| StoreError::Refused(RefusalReason::ConsentGone);
    let Path(id) = id.map_err(gone)?;
    let body = json(body, refusals::format_of_call)?;
    let choice = match body.choice {
        CallAction::AllowOnce => ConsentChoice::AllowOnce,
        CallAction::Refuse => ConsentChoice::Refuse,
    };
    let workspace = workspaces::find_only(&web, body.workspace.as_deref()).await?;
    decide(&web, &visitor.access, workspace.as_ref(), ConsentId(id), choice).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn view(consent: Consent) -> CallView {
    let ConversationId { workspace, channel, thread } = consent.conversation;
    let (by, decided) = consent.decided.unzip();
    CallView {
        id: consent.id,
        workspace,
        channel,
        thread,
        decision: consent.decision,
        messages: consent.messages,
        state: consent.state,
        tool: consent.tool,
        arguments: consent.arguments,
        ts: views::seconds(consent.made),
        expires: views::seconds(consent.expires),
        by: by.map(|by| named(&by).into()),
        decided: decided.map(views::seconds),
    }
}

/// Parses a choice as it is written in forms.
pub fn parse_choice(name: &str) -> Option<ConsentChoice> {
    Some(match name {
        "allow_once" => ConsentChoice::AllowOnce,
        "refuse" => ConsentChoice::Refuse,
        _ => return None,
    })
}

/// Returns the newest calls, and older ones that can still be decided, newest first, without the arguments that the
/// visitor may not read. Reads of private ones are recorded. The result of a call is shown in the chat alone.
pub async fn read(
    web: &Web,
    access: &Access,
    workspace: Option<WorkspaceId>,
) -> Result<Vec<Consent>, ApiProblem> {
    let now = web.clock.now();
    let query = ConsentQuery { workspace, decision: None, before: None, limit: PAGE };
    let mut consents = web.archive.consents(&query, now).await?;
    // An open call must stay decidable, however many newer ones there are.
    if let Some(oldest) = consents.last().map(|consent| consent.id) {
        let older = web.archive.unsettled_consents().await?.into_iter().rev();
        let older = older.filter(|consent| {
            let workspace = &consent.conversation.workspace;
            consent.id < oldest && query.workspace.as_ref().is_none_or(|only| only == workspace)
        });
        let older = older.map(|consent| consent.at(now));
        consents.extend(older.filter(|consent| consent.state == ConsentState::Open));
    }
    let mut reader = ChannelReader::new(web, access);
    let mut shown: BTreeMap<WorkspaceId, Vec<Consent>> = BTreeMap::new();
    for consent in &mut consents {
        consent.answer = None;
        hide_decider(access, &mut consent.decided);
        let ConversationId { workspace, channel, .. } = &consent.conversation;
        let may_read = reader.may_read(workspace, channel).await?;
        if consent.state == ConsentState::Open && may_read {
            shown.entry(workspace.clone()).or_default().push(consent.clone());
        } else {
            consent.arguments = None;
        }
    }
    for (workspace, consents) in shown {
        workspaces::record_look(web, access, &workspace, Shown::Calls(&consents)).await?;
    }
    Ok(consents)
}

/// Allows or refuses a call.
pub async fn decide(
    web: &Web,
    access: &Access,
    workspace: Option<&WorkspaceId>,
    id: ConsentId,
    choice: ConsentChoice,
) -> Result<(), ApiProblem> {
    let found = web.archive.consent(workspace, id, web.clock.now()).await?;
    let found = found.ok_or(StoreError::Refused(RefusalReason::ConsentGone))?;
    require_decider(web, access, &found.conversation).await?;
    let (workspace, by) = (found.conversation.workspace, access.signature());
    let step = ConsentStep::Decide(choice, by.clone());
    let order = Order::TakeConsentStep { workspace, id, step };
    Ok(web.inbox.apply_order(order.signed(by)).await?)
}
