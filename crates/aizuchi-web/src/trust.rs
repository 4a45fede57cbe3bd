//! Offers to speak without approval from some confidence on: shown to visitors who may read the channel, and answered
//! by those who may decide there.

use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, ConversationId, WorkspaceId};
use aizuchi_model::decision::trust::{TrustChoice, TrustOffer, TrustOfferId, TrustState};
use aizuchi_model::rules::Mode;
use aizuchi_model::texts::refusals;
use aizuchi_store::StoreError;
use aizuchi_store::order::Order;
use aizuchi_store::refusal_reason::RefusalReason;
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Access, Visitor};
use crate::api::json;
use crate::deciders::{ChannelReader, require_decider};
use crate::{ApiProblem, Web, orders, views, workspaces};

/// An offer of the persona to speak by itself in a channel from a confidence on.
#[derive(Serialize, JsonSchema)]
pub struct TrustOfferView {
    id: TrustOfferId,
    workspace: WorkspaceId,
    channel: ChannelId,
    /// The confidence from which on nearly all proposals were approved.
    confidence: f64,
    /// The share of these proposals that was approved.
    share: f64,
    /// The number of decisions that the offer is based on.
    decided: usize,
    ts: f64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustBody {
    /// The id of the workspace to look in; all workspaces if omitted.
    workspace: Option<String>,
    choice: TrustChoice,
}

impl TrustOfferView {
    pub fn new(offer: TrustOffer) -> Self {
        Self {
            id: offer.id,
            workspace: offer.workspace,
            channel: offer.channel,
            confidence: offer.trusted.least.share(),
            share: offer.trusted.share,
            decided: offer.clicks,
            ts: views::seconds(offer.made),
        }
    }
}

/// Returns the open offers in these workspaces, as far as the visitor may read the channels.
pub async fn open(
    web: &Web,
    access: &Access,
    known: &[WorkspaceId],
) -> Result<Vec<TrustOffer>, ApiProblem> {
    let (mut open, mut reader) = (Vec::new(), ChannelReader::new(web, access));
    for workspace in known {
        let offers = web.archive.trust_offers(workspace).await?.into_iter();
        for offer in offers.filter(|offer| is_open(web, offer)) {
            if reader.may_read(workspace, &offer.channel).await? {
                open.push(offer);
            }
        }
    }
    Ok(open)
}

/// Whether an offer awaits an answer. Where the persona does not propose any more, nobody is asked.
fn is_open(web: &Web, offer: &TrustOffer) -> bool {
    let mode = || web.inbox.channel_cache.mode(&offer.workspace, &offer.channel);
    offer.state == TrustState::Open && mode() == Mode::Propose
}

/// `POST /api/trust-offers/ID`.
pub async fn post(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    id: Result<Path<i64>, PathRejection>,
    body: Result<Json<TrustBody>, JsonRejection>,
) -> Result<StatusCode, ApiProblem> {
    let Path(id) = id.map_err(|_| gone())?;
    let body = json(body, refusals::format_of_trust)?;
    let workspace = workspaces::find_only(&web, body.workspace.as_deref()).await?;
    answer(&web, &visitor.access, workspace, TrustOfferId(id), body.choice).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Answers an offer of the given workspace, or without one, of any.
pub async fn answer(
    web: &Web,
    access: &Access,
    workspace: Option<WorkspaceId>,
    id: TrustOfferId,
    choice: TrustChoice,
) -> Result<(), ApiProblem> {
    let known = match workspace {
        Some(workspace) => vec![workspace],
        None => workspaces::all(web).await?,
    };
    let mut found = None;
    for workspace in &known {
        let offers = web.archive.trust_offers(workspace).await?;
        found = found.or(offers.into_iter().find(|offer| offer.id == id));
    }
    let offer = found.ok_or_else(gone)?;
    let (workspace, channel) = (offer.workspace.clone(), offer.channel.clone());
    let place = ConversationId { workspace, channel, thread: None };
    require_decider(web, access, &place).await?;
    if !is_open(web, &offer) {
        return Err(gone().into());
    }
    let by = access.signature();
    let order = Order::answer_trust(&offer, choice, by.clone());
    Ok(orders::apply(web, &offer.workspace, order, by).await?)
}

fn gone() -> StoreError {
    StoreError::Refused(RefusalReason::TrustOfferGone)
}
