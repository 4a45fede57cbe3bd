//! Handles the keepers' clicks: only a keeper's choice counts, and only the first one. Keepers are answered in the
//! language of the channel.

use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, UserId, WorkspaceId};
use aizuchi_model::decision::consent::{ConsentChoice, ConsentId, ConsentStep};
use aizuchi_model::decision::proposal::{Proposal, ProposalChoice, ProposalId};
use aizuchi_model::decision::trust::{TrustChoice, TrustOfferId, TrustState};
use aizuchi_model::memory::asker;
use aizuchi_model::persona::Language;
use aizuchi_model::rules::Mode;
use aizuchi_model::texts;
use aizuchi_store::StoreError;
use aizuchi_store::order::Order;
use aizuchi_store::query::ProposalQuery;
use aizuchi_store::refusal_reason::RefusalReason;
use tracing::warn;

use crate::keeper::{ButtonChoice, Click, ClickAnswer, Keepers, QuestionSubject};

impl Keepers {
    /// Decides as the user clicked, or lets them edit the text.
    pub async fn answer(&self, click: Click) -> ClickAnswer {
        let (workspace, subject) = (click.workspace.clone(), click.subject);
        match self.try_answer(click).await {
            Ok(answer) => answer,
            Err(error) => {
                let key = subject.key();
                warn!(platform = workspace.platform(), %workspace, key, %error, "the answer of a keeper could not be stored");
                ClickAnswer::Tell(texts::commands::failed(self.language))
            }
        }
    }

    async fn try_answer(&self, click: Click) -> Result<ClickAnswer, StoreError> {
        let Click { workspace, subject, user, button } = click;
        let told = match (subject, button.choice()) {
            (QuestionSubject::Proposal(id), ButtonChoice::Form) => {
                return Ok(match self.kept_by(&workspace, id, &user).await? {
                    Ok(found) => self.edit_form(&found).await?,
                    Err(told) => ClickAnswer::Tell(told),
                });
            }
            (QuestionSubject::Proposal(id), ButtonChoice::Proposal(choice)) => {
                match self.kept_by(&workspace, id, &user).await? {
                    Ok(found) => self.decide(&found, &user, choice).await?,
                    Err(told) => Some(told),
                }
            }
            (QuestionSubject::Call(id), ButtonChoice::Call(choice)) => {
                self.decide_call(&workspace, id, &user, choice).await?
            }
            (QuestionSubject::Trust(id), ButtonChoice::Trust(choice)) => {
                self.answer_trust(&workspace, id, &user, choice).await?
            }
            (QuestionSubject::Proposal(_), ButtonChoice::Call(_) | ButtonChoice::Trust(_))
            | (
                QuestionSubject::Call(_),
                ButtonChoice::Proposal(_) | ButtonChoice::Form | ButtonChoice::Trust(_),
            )
            | (
                QuestionSubject::Trust(_),
                ButtonChoice::Proposal(_) | ButtonChoice::Form | ButtonChoice::Call(_),
            ) => Some(too_late(subject, self.language)),
        };
        Ok(told.map_or(ClickAnswer::Settles, ClickAnswer::Tell))
    }

    /// Returns a proposal that this user may decide, or what to tell them otherwise.
    pub(super) async fn kept_by(
        &self,
        workspace: &WorkspaceId,
        id: ProposalId,
        user: &UserId,
    ) -> Result<Result<Proposal, &'static str>, StoreError> {
        let Some(found) = self.proposal(workspace, id).await? else {
            return Ok(Err(texts::keeper::too_late(self.language)));
        };
        Ok(match self.not_kept_by(workspace, &found.conversation.channel, user).await? {
            Some(told) => Err(told),
            None => Ok(found),
        })
    }

    /// Returns the proposal with this number, if it still exists.
    pub(super) async fn proposal(
        &self,
        workspace: &WorkspaceId,
        id: ProposalId,
    ) -> Result<Option<Proposal>, StoreError> {
        // The newest proposal below the next id is this one, if it is there.
        let before = Some(ProposalId(id.0.saturating_add(1)));
        let query =
            ProposalQuery { workspace: Some(workspace.clone()), decision: None, before, limit: 1 };
        let newest = self.archive.proposals(&query, self.inbox.clock.now()).await?.pop();
        Ok(newest.filter(|proposal| proposal.id == id))
    }

    /// Returns what to tell a user who is not the channel's keeper.
    async fn not_kept_by(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        user: &UserId,
    ) -> Result<Option<&'static str>, StoreError> {
        if self.inbox.channel_cache.keeper(workspace, channel).as_ref() == Some(user) {
            return Ok(None);
        }
        Ok(Some(texts::keeper::not_keeper(self.language_in(workspace, channel).await?)))
    }

    /// Decides a proposal. Returns what to tell the user if their choice does not count.
    pub(super) async fn decide(
        &self,
        proposal: &Proposal,
        user: &UserId,
        choice: ProposalChoice,
    ) -> Result<Option<&'static str>, StoreError> {
        let conversation = &proposal.conversation;
        let language = self.language_in(&conversation.workspace, &conversation.channel).await?;
        let (workspace, by) = (conversation.workspace.clone(), self.sign(user));
        let order = Order::DecideProposal { workspace, id: proposal.id, choice, by };
        self.apply(order, QuestionSubject::Proposal(proposal.id), language).await
    }

    async fn decide_call(
        &self,
        workspace: &WorkspaceId,
        id: ConsentId,
        user: &UserId,
        choice: ConsentChoice,
    ) -> Result<Option<&'static str>, StoreError> {
        let (subject, now) = (QuestionSubject::Call(id), self.inbox.clock.now());
        let Some(found) = self.archive.consent(Some(workspace), id, now).await? else {
            return Ok(Some(too_late(subject, self.language)));
        };
        let channel = &found.conversation.channel;
        if let Some(told) = self.not_kept_by(workspace, channel, user).await? {
            return Ok(Some(told));
        }
        let by = self.sign(user);
        let step = ConsentStep::Decide(choice, by.clone());
        let order = Order::TakeConsentStep { workspace: workspace.clone(), id, step }.signed(by);
        self.apply(order, subject, self.language_in(workspace, channel).await?).await
    }

    async fn answer_trust(
        &self,
        workspace: &WorkspaceId,
        id: TrustOfferId,
        user: &UserId,
        choice: TrustChoice,
    ) -> Result<Option<&'static str>, StoreError> {
        let subject = QuestionSubject::Trust(id);
        let offers = self.archive.trust_offers(workspace).await?;
        let Some(found) = offers.into_iter().find(|offer| offer.id == id) else {
            return Ok(Some(too_late(subject, self.language)));
        };
        if let Some(told) = self.not_kept_by(workspace, &found.channel, user).await? {
            return Ok(Some(told));
        }
        let language = self.language_in(workspace, &found.channel).await?;
        match found.state {
            TrustState::Open => {}
            TrustState::Accepted | TrustState::Declined => {
                return Ok(Some(texts::keeper::already_decided(language)));
            }
            TrustState::Withdrawn => return Ok(Some(too_late(subject, language))),
        }
        // A user may have chosen another mode in the meantime.
        if self.inbox.channel_cache.mode(workspace, &found.channel) != Mode::Propose {
            return Ok(Some(too_late(subject, language)));
        }
        let by = self.sign(user);
        let order = Order::answer_trust(&found, choice, by.clone());
        self.apply(order.signed(by), subject, language).await
    }

    fn sign(&self, user: &UserId) -> Arc<str> {
        asker::sign(user, self.inbox.clock.now()).into()
    }

    /// Applies a keeper's order. Returns what to tell them if it does not count.
    async fn apply(
        &self,
        order: Order,
        subject: QuestionSubject,
        language: Language,
    ) -> Result<Option<&'static str>, StoreError> {
        match self.inbox.apply_order(order).await {
            Ok(()) => Ok(None),
            Err(StoreError::Refused(
                RefusalReason::ProposalDecided | RefusalReason::ConsentDecided,
            )) => Ok(Some(texts::keeper::already_decided(language))),
            Err(StoreError::Refused(RefusalReason::ProposalBlocked)) => {
                Ok(Some(texts::keeper::busy(language)))
            }
            Err(StoreError::Refused(
                RefusalReason::ProposalLapsed
                | RefusalReason::ProposalGone
                | RefusalReason::ConsentLapsed
                | RefusalReason::ConsentGone
                | RefusalReason::TrustOfferGone,
            )) => Ok(Some(too_late(subject, language))),
            Err(error) => Err(error),
        }
    }
}

fn too_late(subject: QuestionSubject, language: Language) -> &'static str {
    match subject {
        QuestionSubject::Proposal(_) => texts::keeper::too_late(language),
        QuestionSubject::Call(_) => texts::consents::too_late(language),
        QuestionSubject::Trust(_) => texts::trust::too_late(language),
    }
}
