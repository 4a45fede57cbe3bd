//! Proposals: what the persona would say unasked, where a person has to approve it first. They are listed, and decided
//! by visitors who may read the channel.

use std::collections::BTreeMap;
use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_actions::question::QuestionSubject;
use aizuchi_model::chat::{ChannelId, ConversationId, MessageId, WorkspaceId};
use aizuchi_model::decision::DecisionId;
use aizuchi_model::decision::proposal::{
    Proposal, ProposalId, ProposalLabel, ProposalState, TrustedConfidence,
};
use aizuchi_model::memory::asker::named;
use aizuchi_store::query::ProposalQuery;
use axum::Json;
use axum::extract::{Extension, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Visitor;
use crate::actions::requests;
use crate::deciders::{self, ChannelReader, hide_decider};
use crate::trust::TrustOfferView;
use crate::workspaces::{FilterParameter, Shown};
use crate::{ApiProblem, JsonResult, Web, trust, views, workspaces};

/// Proposals, newest first, and what was learned from the decisions about them.
#[derive(Serialize, JsonSchema)]
pub struct ProposalsAnswer {
    proposals: Vec<ProposalView>,
    /// What was learned from decisions about proposals, for each channel with any.
    learned: Vec<LearnedView>,
    /// Unanswered offers of the persona to speak by itself.
    offers: Vec<TrustOfferView>,
}

#[derive(Serialize, JsonSchema)]
pub struct ProposalView {
    id: ProposalId,
    workspace: WorkspaceId,
    channel: ChannelId,
    thread: Option<MessageId>,
    decision: DecisionId,
    state: ProposalState,
    /// Null if the text is no longer kept, or if the visitor may not read it.
    text: Option<Arc<str>>,
    /// The proposed text, if another one was posted in its place. Null if it is no longer kept, or if the visitor may
    /// not read it.
    original: Option<Arc<str>>,
    /// The message that the proposal answers.
    about: Option<MessageId>,
    /// Why the persona would say it. Null, too, if the visitor may not read what models wrote.
    why: Option<Arc<str>>,
    /// The confidence of the judge.
    confidence: Option<f64>,
    ts: f64,
    /// When the proposal can no longer be approved.
    expires: f64,
    /// Who decided; empty: somebody on this machine. Null for viewers.
    by: Option<Arc<str>>,
    decided: Option<f64>,
}

/// What was learned from the decisions about a channel's proposals.
#[derive(Serialize, JsonSchema)]
pub struct LearnedView {
    workspace: WorkspaceId,
    channel: ChannelId,
    decided: usize,
    /// The confidence from which on nearly all proposals were approved. Null while too little is known.
    confidence: Option<f64>,
    /// The share of these proposals that was approved.
    share: Option<f64>,
}

/// A choice about a proposal.
#[derive(Deserialize, JsonSchema, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum ProposalAction {
    Say,
    Edit,
    NotNow,
    Never,
}

/// The number of newest proposals in a list.
const PAGE: usize = 100;
/// The number of newest labels of a workspace that count.
const LABELS: usize = 2000;

/// The key of a channel among all workspaces.
type WorkspaceChannel = (WorkspaceId, ChannelId);

/// `GET /api/proposals`: of all workspaces, or of one.
pub async fn list(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    filter: FilterParameter,
) -> JsonResult<ProposalsAnswer> {
    let workspace = workspaces::only(&web, filter).await?;
    let proposals = read(&web, &visitor.access, workspace.clone()).await?;
    let known = workspaces::wanted(&web, workspace).await?;
    let learned = labels(&web, &known).await?.into_iter().map(learned).collect();
    let offers = trust::open(&web, &visitor.access, &known).await?;
    let view = |proposal| match visitor.access.may_order() {
        true => view(proposal),
        false => ProposalView { by: None, ..view(proposal) },
    };
    Ok(Json(ProposalsAnswer {
        proposals: proposals.into_iter().map(view).collect(),
        learned,
        offers: offers.into_iter().map(TrustOfferView::new).collect(),
    }))
}

requests! {
    /// `POST /api/proposals/ID`.
    in_any ProposalBody {
        choice: ProposalAction,
        /// The text to post instead, if the choice is `edit`.
        text: Option<String>,
    }
    format_of_proposal |it, web, access, id| {
        let subject = QuestionSubject::Proposal(ProposalId(id));
        deciders::decide(web, access, it.workspace.as_deref(), subject, (it.choice.into(), it.text)).await
    }
}

/// Returns the newest proposals, and older ones that can still be decided, newest first, without the text that the visitor may not read. Reads of private ones
/// are recorded.
pub async fn read(
    web: &Web,
    access: &Access,
    workspace: Option<WorkspaceId>,
) -> Result<Vec<Proposal>, ApiProblem> {
    let now = web.clock.now();
    let query = ProposalQuery { workspace, decision: None, before: None, limit: PAGE };
    let mut proposals = web.archive.proposals(&query, now).await?;
    // An open proposal must stay decidable, however many newer ones there are.
    if let Some(oldest) = proposals.last().map(|proposal| proposal.id) {
        let older = web.archive.open_proposals(now).await?.into_iter();
        proposals.extend(older.filter(|proposal| {
            let workspace = &proposal.conversation.workspace;
            proposal.id < oldest && query.workspace.as_ref().is_none_or(|only| only == workspace)
        }));
    }
    let mut reader = ChannelReader::new(web, access);
    let mut shown: BTreeMap<WorkspaceId, Vec<Proposal>> = BTreeMap::new();
    for proposal in &mut proposals {
        hide_decider(access, &mut proposal.decided);
        let ConversationId { workspace, channel, .. } = &proposal.conversation;
        if !access.may_read_models(workspace) {
            // The reason is not part of what would be posted.
            proposal.why = None;
        }
        if reader.may_read(workspace, channel).await? {
            shown.entry(workspace.clone()).or_default().push(proposal.clone());
        } else {
            proposal.text = None;
            proposal.original = None;
        }
    }
    for (workspace, proposals) in shown {
        workspaces::record_look(web, access, &workspace, Shown::Proposals(&proposals)).await?;
    }
    Ok(proposals)
}

/// Returns the decisions on proposals in these workspaces, by channel.
async fn labels(
    web: &Web,
    known: &[WorkspaceId],
) -> Result<BTreeMap<WorkspaceChannel, Vec<ProposalLabel>>, ApiProblem> {
    let mut by_channel: BTreeMap<WorkspaceChannel, Vec<ProposalLabel>> = BTreeMap::new();
    for workspace in known {
        for (channel, label) in web.archive.proposal_labels(workspace, LABELS).await? {
            by_channel.entry((workspace.clone(), channel)).or_default().push(label);
        }
    }
    Ok(by_channel)
}

fn learned(((workspace, channel), labels): (WorkspaceChannel, Vec<ProposalLabel>)) -> LearnedView {
    let trusted = TrustedConfidence::from_labels(&labels);
    LearnedView {
        workspace,
        channel,
        decided: labels.len(),
        confidence: trusted.map(|trusted| trusted.least.share()),
        share: trusted.map(|trusted| trusted.share),
    }
}

fn view(proposal: Proposal) -> ProposalView {
    let ConversationId { workspace, channel, thread } = proposal.conversation;
    let (by, decided) = proposal.decided.unzip();
    ProposalView {
        id: proposal.id,
        workspace,
        channel,
        thread,
        decision: proposal.decision,
        state: proposal.state,
        text: proposal.text,
        original: proposal.original,
        about: proposal.about,
        why: proposal.why,
        confidence: proposal.confidence,
        ts: views::seconds(proposal.made),
        expires: views::seconds(proposal.expires),
        by: by.map(|by| named(&by).into()),
        decided: decided.map(views::seconds),
    }
}
