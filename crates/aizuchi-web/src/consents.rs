//! Calls of tools that may write: they are listed, and allowed or refused by visitors who may read the channel.

use std::collections::BTreeMap;
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_actions::question::QuestionSubject;
use aizuchi_model::chat::{ChannelId, ConversationId, MessageId, WorkspaceId};
use aizuchi_model::decision::DecisionId;
use aizuchi_model::decision::consent::{Consent, ConsentChoice, ConsentId, ConsentState};
use aizuchi_model::memory::asker::named;
use aizuchi_store::query::ConsentQuery;
use axum::Json;
use axum::extract::{Extension, State};
use schemars::JsonSchema;
use serde::Serialize;

use crate::access::Visitor;
use crate::actions::requests;
use crate::deciders::{self, ChannelReader, hide_decider};
use crate::workspaces::{self, FilterParameter, Shown};
use crate::{ApiProblem, JsonResult, Web, views};

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

/// `GET /api/calls`: of all workspaces, or of one.
pub async fn list(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    filter: FilterParameter,
) -> JsonResult<CallsAnswer> {
    let workspace = workspaces::only(&web, filter).await?;
    let calls = read(&web, &visitor.access, workspace).await?;
    let view = |consent| match visitor.access.may_order() {
        true => view(consent),
        false => CallView { by: None, ..view(consent) },
    };
    Ok(Json(CallsAnswer { calls: calls.into_iter().map(view).collect() }))
}

requests! {
    /// `POST /api/calls/ID`.
    in_any CallBody { choice: ConsentChoice }
    format_of_call |it, web, access, id| {
        let (subject, chosen) = (QuestionSubject::Call(ConsentId(id)), (it.choice.into(), None));
        deciders::decide(web, access, it.workspace.as_deref(), subject, chosen).await
    }
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
