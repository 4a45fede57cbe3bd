//! Trust offers, to post without approval above some confidence, in memory.

use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, UserId, WorkspaceId};
use aizuchi_model::decision::proposal::{ProposalId, ProposalLabel};
use aizuchi_model::decision::trust::{MAX_CLICKS, TrustChoice, TrustOffer, TrustOfferId};
use aizuchi_model::memory::asker::signer;
use aizuchi_model::rules::Mode;
use aizuchi_model::rules::setting_override::Confidence;
use jiff::Timestamp;

use crate::refusal_reason::RefusalReason;
use crate::volatile::VolatileState;
use crate::{FORGOTTEN_USER_ID, StoreError};

impl VolatileState {
    /// Updates a channel's offer after a decided proposal, which is stored already.
    pub(super) fn offer_trust(
        &mut self,
        (workspace, channel, id): (WorkspaceId, ChannelId, ProposalId),
        now: Timestamp,
    ) {
        let labels: Vec<ProposalLabel> = self
            .proposal_labels(&workspace, usize::MAX)
            .into_iter()
            .filter(|(decided_in, _)| *decided_in == channel)
            .map(|(_, label)| label)
            .take(MAX_CLICKS)
            .collect();
        let key = (workspace.clone(), channel.clone());
        let last = self.trust_offers.get(&key).cloned();
        let changed = TrustOffer::after_click(last, &labels, (workspace, channel, id), now);
        self.trust_offers.extend(changed.map(|offer| (key, offer)));
    }

    /// Answers an open offer of this confidence. Accepting it also orders the mode.
    pub(super) fn answer_trust(
        &mut self,
        (workspace, channel, id): (WorkspaceId, ChannelId, TrustOfferId),
        least: Confidence,
        choice: TrustChoice,
        by: Arc<str>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let key = (workspace.clone(), channel.clone());
        let found = self.trust_offers.get(&key).cloned();
        let open = found.filter(|offer| offer.is_open_as(id, least));
        let offer = open.ok_or(StoreError::Refused(RefusalReason::TrustOfferGone))?;
        self.revision += 1;
        if choice == TrustChoice::ByItself {
            let orders = self.orders.entry(workspace).or_default();
            orders.modes.retain(|(ordered, _)| *ordered != channel);
            orders.modes.push((channel, Mode::Companion));
            orders.modes.sort_by(|(one, _), (other, _)| one.cmp(other));
        }
        self.trust_offers.insert(key, offer.answered(choice.state(), by, now));
        Ok(())
    }

    /// Withdraws a channel's open offer if a different mode is ordered there.
    pub(super) fn withdraw_trust(
        &mut self,
        (workspace, channel): (&WorkspaceId, &ChannelId),
        ordered: Option<Mode>,
        now: Timestamp,
    ) {
        let orders = self.orders.get(workspace);
        let mut modes = orders.iter().flat_map(|orders| &orders.modes);
        let before = modes.find(|(known, _)| known == channel).map(|(_, mode)| *mode);
        let key = (workspace.clone(), channel.clone());
        let last = self.trust_offers.get(&key).cloned();
        let changed = TrustOffer::after_mode(last, (before, ordered), now);
        self.trust_offers.extend(changed.map(|offer| (key, offer)));
    }

    pub(super) fn trust_offers_of(&self, workspace: &WorkspaceId) -> Vec<TrustOffer> {
        let offers = self.trust_offers.values();
        offers.filter(|offer| offer.workspace == *workspace).cloned().collect()
    }

    pub(super) fn forget_trust_answers_of(&mut self, workspace: &WorkspaceId, user: &UserId) {
        for offer in self.trust_offers.values_mut().filter(|it| it.workspace == *workspace) {
            let Some((by, _)) = &mut offer.decided else { continue };
            if signer(by) == Some(user.as_str()) {
                *by = FORGOTTEN_USER_ID.into();
            }
        }
    }
}
