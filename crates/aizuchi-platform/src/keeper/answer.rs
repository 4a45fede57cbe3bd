//! Handles the keepers' clicks: only a keeper's choice counts, and only the first one. Keepers are answered in the
//! language of the channel.

use aizuchi_actions::authorization::Actor;
use aizuchi_actions::question::{Choice, QuestionSubject, StoredQuestion};
use aizuchi_actions::refusal::{ActionError, ActionRefusal};
use aizuchi_model::chat::{UserId, WorkspaceId};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_store::refusal_reason::RefusalReason;
use tracing::{info, warn};

use crate::keeper::{Click, ClickAnswer, Keepers};

impl Keepers {
    /// Decides as the user clicked, or lets them edit the text.
    pub async fn answer(&self, click: Click) -> ClickAnswer {
        let Click { workspace, subject, user, button } = click;
        let answer = async {
            let question = self.authorization().question(Some(&workspace), subject).await?;
            if button == Choice::Edit
                && let StoredQuestion::Proposal(proposal) = &question
            {
                self.authorization().require_decider(Actor::User(&user), question.place()).await?;
                return self.edit_form(proposal).await;
            }
            self.decide(&question, &user, (button, Vec::new())).await?;
            Ok(ClickAnswer::Settles)
        };
        match answer.await {
            Ok(answer) => answer,
            Err(error) => ClickAnswer::Tell(self.told(&workspace, subject, error).await),
        }
    }

    /// Decides as the user chose, if they are the channel's keeper.
    pub(super) async fn decide(
        &self,
        question: &StoredQuestion,
        user: &UserId,
        chosen: (Choice, Vec<String>),
    ) -> Result<(), ActionError> {
        let order = self.authorization().decide(Actor::User(user), question, chosen).await?;
        Ok(self.inbox.apply_order(order).await?)
    }

    /// Returns what to tell a user whose choice does not count.
    pub(super) async fn told(
        &self,
        workspace: &WorkspaceId,
        subject: QuestionSubject,
        error: ActionError,
    ) -> &'static str {
        let refusal = match error {
            ActionError::Refused(refusal) => refusal,
            ActionError::Store(error) => {
                let key = subject.key();
                warn!(platform = workspace.platform(), %workspace, key, %error, "the answer of a keeper could not be stored");
                return texts::commands::failed(self.language);
            }
        };
        let language = self.language_of(workspace, subject).await.unwrap_or(self.language);
        match refusal {
            ActionRefusal::NotKeeper => texts::keeper::not_keeper(language),
            ActionRefusal::OfferAnswered
            | ActionRefusal::Order(
                RefusalReason::ProposalDecided | RefusalReason::ConsentDecided,
            ) => texts::keeper::already_decided(language),
            ActionRefusal::Order(RefusalReason::ProposalBlocked) => texts::keeper::busy(language),
            ActionRefusal::Order(
                RefusalReason::ProposalLapsed
                | RefusalReason::ProposalGone
                | RefusalReason::ConsentLapsed
                | RefusalReason::ConsentGone
                | RefusalReason::TrustOfferGone,
            )
            | ActionRefusal::NoProposal => {
                let reason = refusal.kind().1;
                info!(platform = workspace.platform(), %workspace, reason, "a keeper's choice came too late");
                subject.too_late(language)
            }
            refusal => {
                let (key, error) = (subject.key(), refusal.describe(Language::En));
                warn!(platform = workspace.platform(), %workspace, key, error, "the answer of a keeper could not be stored");
                texts::commands::failed(language)
            }
        }
    }

    /// Returns the language of the channel that a question is about, if it still exists.
    async fn language_of(
        &self,
        workspace: &WorkspaceId,
        subject: QuestionSubject,
    ) -> Result<Language, ActionError> {
        let question = self.authorization().question(Some(workspace), subject).await?;
        let (workspace, channel) = question.place();
        Ok(self.language_in(workspace, channel).await?)
    }
}
