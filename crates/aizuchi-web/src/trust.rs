//! Offers to speak without approval from some confidence on: shown to visitors who may read the channel, and answered
//! by those who may decide there.

use aizuchi_actions::access::Access;
use aizuchi_actions::question::QuestionSubject;
use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_model::decision::trust::{TrustChoice, TrustOffer, TrustOfferId, TrustState};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use schemars::JsonSchema;
use serde::Serialize;

use crate::actions::requests;
use crate::deciders::{self, ChannelReader};
use crate::{ApiProblem, Web, views};

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

requests! {
    /// `POST /api/trust-offers/ID`.
    in_any TrustBody { choice: TrustChoice }
    format_of_trust |it, web, access, id| {
        let (subject, chosen) = (QuestionSubject::Trust(TrustOfferId(id)), (it.choice.into(), None));
        deciders::decide(web, access, it.workspace.as_deref(), subject, chosen).await
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
        let offers = web.authorization().trust_offers(workspace).await?.into_iter();
        for offer in offers.filter(|offer| offer.state == TrustState::Open) {
            if reader.may_read(workspace, &offer.channel).await? {
                open.push(offer);
            }
        }
    }
    Ok(open)
}

/// An offer, and the form to answer it.
pub struct TrustCard {
    pub id: i64,
    /// The question.
    pub question: String,
    /// What agreeing does.
    pub means: String,
    pub rests_on: String,
}

impl TrustCard {
    /// `place` is the name of the channel, as shown.
    pub fn new(offer: &TrustOffer, place: &str, language: Language) -> Self {
        let least = offer.trusted.least.share();
        Self {
            id: offer.id.0,
            question: texts::trust::offer(language, least, offer.trusted.percent(), place),
            means: texts::trust::means(language, least),
            rests_on: texts::trust::rests_on(language, offer.clicks),
        }
    }
}
