//! What awaits a person's decision: posts that the persona proposes, calls of tools that may write, and offers to post
//! without approval. Each has its choices, and the order that a choice gives.

use std::sync::Arc;

use aizuchi_model::chat::local::workspace_id;
use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_model::decision::consent::{
    Consent, ConsentChoice, ConsentId, ConsentState, ConsentStep,
};
use aizuchi_model::decision::proposal::{Proposal, ProposalChoice, ProposalId, ProposalState};
use aizuchi_model::decision::trust::{TrustChoice, TrustOffer, TrustOfferId, TrustState};
use aizuchi_model::persona::Language;
use aizuchi_model::rules::Mode;
use aizuchi_model::texts;
use aizuchi_store::StoreError;
use aizuchi_store::order::Order;
use aizuchi_store::query::ProposalQuery;
use aizuchi_store::refusal_reason::RefusalReason;
use jiff::Timestamp;

use crate::authorization::{Actor, Authorization};
use crate::refusal::{ActionError, ActionRefusal};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionSubject {
    Proposal(ProposalId),
    Call(ConsentId),
    Trust(TrustOfferId),
}

/// A question, with its current state.
#[derive(Clone, Debug)]
pub enum StoredQuestion {
    Proposal(Proposal),
    Call(Consent),
    Trust(TrustOffer),
}

/// What can be chosen. Its name stands in the API, in the console's forms, and behind the buttons of chats.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr, strum::VariantArray,
)]
#[strum(serialize_all = "snake_case")]
pub enum Choice {
    Say,
    /// Post another text instead.
    Edit,
    NotNow,
    Never,
    AllowOnce,
    Refuse,
    /// Post without approval from now on.
    ByItself,
    NotYet,
}

impl QuestionSubject {
    /// Returns the key by which platforms identify the question.
    pub fn key(self) -> String {
        match self {
            QuestionSubject::Proposal(id) => id.to_string(),
            QuestionSubject::Call(id) => format!("call-{id}"),
            QuestionSubject::Trust(id) => format!("trust-{id}"),
        }
    }

    pub fn parse(key: &str) -> Option<Self> {
        Some(match key.split_once('-') {
            Some(("call", id)) => QuestionSubject::Call(ConsentId(id.parse().ok()?)),
            Some(("trust", id)) => QuestionSubject::Trust(TrustOfferId(id.parse().ok()?)),
            Some(_) | None => QuestionSubject::Proposal(ProposalId(key.parse().ok()?)),
        })
    }

    /// Returns the number of the proposal, the call or the offer.
    pub fn number(self) -> i64 {
        match self {
            QuestionSubject::Proposal(id) => id.0,
            QuestionSubject::Call(id) => id.0,
            QuestionSubject::Trust(id) => id.0,
        }
    }

    pub fn choices(self) -> &'static [Choice] {
        match self {
            QuestionSubject::Proposal(_) => {
                &[Choice::Say, Choice::Edit, Choice::NotNow, Choice::Never]
            }
            QuestionSubject::Call(_) => &[Choice::AllowOnce, Choice::Refuse],
            QuestionSubject::Trust(_) => &[Choice::ByItself, Choice::NotYet],
        }
    }

    /// Parses the name of one of the choices.
    pub fn parse_choice(self, name: &str) -> Option<Choice> {
        self.choices().iter().copied().find(|choice| choice.name() == name)
    }

    /// The refusal if it does not exist.
    pub fn absent(self) -> ActionRefusal {
        match self {
            QuestionSubject::Proposal(_) => ActionRefusal::NoProposal,
            QuestionSubject::Call(_) => ActionRefusal::Order(RefusalReason::ConsentGone),
            QuestionSubject::Trust(_) => ActionRefusal::Order(RefusalReason::TrustOfferGone),
        }
    }

    /// Says in a chat that it can no longer be decided.
    pub fn too_late(self, language: Language) -> &'static str {
        match self {
            QuestionSubject::Proposal(_) => texts::keeper::too_late(language),
            QuestionSubject::Call(_) => texts::consents::too_late(language),
            QuestionSubject::Trust(_) => texts::trust::too_late(language),
        }
    }
}

impl Choice {
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn label(self, language: Language) -> &'static str {
        match self {
            Choice::Say => texts::console::say_it(language),
            Choice::Edit => texts::keeper::edit(language),
            Choice::NotNow => texts::console::not_now(language),
            Choice::Never => texts::console::never_like_this(language),
            Choice::AllowOnce => texts::consents::allow_once(language),
            Choice::Refuse => texts::consents::refuse(language),
            Choice::ByItself => texts::trust::by_itself(language),
            Choice::NotYet => texts::trust::not_yet(language),
        }
    }
}

impl StoredQuestion {
    pub fn subject(&self) -> QuestionSubject {
        match self {
            StoredQuestion::Proposal(proposal) => QuestionSubject::Proposal(proposal.id),
            StoredQuestion::Call(consent) => QuestionSubject::Call(consent.id),
            StoredQuestion::Trust(offer) => QuestionSubject::Trust(offer.id),
        }
    }

    /// Returns the channel that it is about.
    pub fn place(&self) -> (&WorkspaceId, &ChannelId) {
        let conversation = match self {
            StoredQuestion::Proposal(proposal) => &proposal.conversation,
            StoredQuestion::Call(consent) => &consent.conversation,
            StoredQuestion::Trust(offer) => return (&offer.workspace, &offer.channel),
        };
        (&conversation.workspace, &conversation.channel)
    }

    /// Returns the name of its state, and the state in words.
    pub fn state(&self, language: Language) -> (&'static str, &'static str) {
        match self {
            StoredQuestion::Proposal(Proposal { state, .. }) => {
                (state.name(), texts::console::proposal_state(language, *state))
            }
            StoredQuestion::Call(Consent { state, .. }) => {
                (state.name(), texts::consents::state(language, *state))
            }
            StoredQuestion::Trust(TrustOffer { state, .. }) => {
                (state.name(), texts::trust::state(language, *state))
            }
        }
    }

    /// Whether it can be decided.
    pub fn is_open(&self) -> bool {
        match self {
            StoredQuestion::Proposal(proposal) => proposal.text.is_some(),
            StoredQuestion::Call(Consent { state, arguments, .. }) => {
                *state == ConsentState::Open && arguments.is_some()
            }
            StoredQuestion::Trust(offer) => offer.state == TrustState::Open,
        }
    }

    /// Whether its state may change. An approved proposal may lapse before it is posted.
    pub fn may_change(&self, now: Timestamp) -> bool {
        match self {
            StoredQuestion::Proposal(Proposal { state, expires, .. }) => {
                *state == ProposalState::Open || (state.is_approved() && now < *expires)
            }
            StoredQuestion::Call(consent) => !consent.state.is_final(),
            StoredQuestion::Trust(offer) => offer.state == TrustState::Open,
        }
    }

    /// Returns the order of a choice. `posts` is what is posted instead, if the text is edited.
    fn order(
        &self,
        choice: Choice,
        posts: Vec<String>,
        by: Arc<str>,
    ) -> Result<Order, ActionRefusal> {
        let (workspace, absent) = (self.place().0.clone(), || self.subject().absent());
        Ok(match self {
            StoredQuestion::Proposal(Proposal { id, .. }) => {
                let choice = match choice {
                    Choice::Say => ProposalChoice::SayIt,
                    Choice::Edit => ProposalChoice::Edit(posts),
                    Choice::NotNow => ProposalChoice::NotNow,
                    Choice::Never => ProposalChoice::NeverLikeThis,
                    Choice::AllowOnce | Choice::Refuse | Choice::ByItself | Choice::NotYet => {
                        return Err(absent());
                    }
                };
                Order::DecideProposal { workspace, id: *id, choice, by }
            }
            StoredQuestion::Call(Consent { id, .. }) => {
                let choice = match choice {
                    Choice::AllowOnce => ConsentChoice::AllowOnce,
                    Choice::Refuse => ConsentChoice::Refuse,
                    Choice::Say
                    | Choice::Edit
                    | Choice::NotNow
                    | Choice::Never
                    | Choice::ByItself
                    | Choice::NotYet => return Err(absent()),
                };
                let step = ConsentStep::Decide(choice, by.clone());
                Order::TakeConsentStep { workspace, id: *id, step }.signed(by)
            }
            StoredQuestion::Trust(offer) => {
                let choice = match choice {
                    Choice::ByItself => TrustChoice::ByItself,
                    Choice::NotYet => TrustChoice::NotYet,
                    Choice::Say
                    | Choice::Edit
                    | Choice::NotNow
                    | Choice::Never
                    | Choice::AllowOnce
                    | Choice::Refuse => return Err(absent()),
                };
                match offer.state {
                    TrustState::Open => {}
                    TrustState::Accepted | TrustState::Declined => {
                        return Err(ActionRefusal::OfferAnswered);
                    }
                    TrustState::Withdrawn => return Err(absent()),
                }
                Order::answer_trust(offer, choice, by.clone()).signed(by)
            }
        })
    }
}

impl Authorization<'_> {
    /// Finds a question in a workspace, or without one, in any.
    pub async fn question(
        &self,
        workspace: Option<&WorkspaceId>,
        subject: QuestionSubject,
    ) -> Result<StoredQuestion, ActionError> {
        let found = self.find_question(workspace, subject).await?;
        found.ok_or_else(|| subject.absent().into())
    }

    /// Like [`question`](Self::question), if it exists.
    pub async fn find_question(
        &self,
        workspace: Option<&WorkspaceId>,
        subject: QuestionSubject,
    ) -> Result<Option<StoredQuestion>, StoreError> {
        Ok(match subject {
            QuestionSubject::Proposal(id) => {
                self.proposal(workspace, id).await?.map(StoredQuestion::Proposal)
            }
            QuestionSubject::Call(id) => {
                self.archive.consent(workspace, id, self.now).await?.map(StoredQuestion::Call)
            }
            QuestionSubject::Trust(id) => {
                let known = match workspace {
                    Some(workspace) => vec![workspace.clone()],
                    None => [workspace_id()]
                        .into_iter()
                        .chain(self.archive.workspaces().await?)
                        .collect(),
                };
                let mut found = None;
                for workspace in known {
                    let offers = self.trust_offers(&workspace).await?.into_iter();
                    found = found.or(offers.into_iter().find(|offer| offer.id == id));
                }
                found.map(StoredQuestion::Trust)
            }
        })
    }

    async fn proposal(
        &self,
        workspace: Option<&WorkspaceId>,
        id: ProposalId,
    ) -> Result<Option<Proposal>, StoreError> {
        // The newest proposal below the next id is this one, if it still exists.
        let (workspace, before) = (workspace.cloned(), Some(ProposalId(id.0.saturating_add(1))));
        let query = ProposalQuery { workspace, decision: None, before, limit: 1 };
        let newest = self.archive.proposals(&query, self.now).await?.pop();
        Ok(newest.filter(|proposal| proposal.id == id))
    }

    /// Returns the offers of a workspace. Where the persona does not propose any more, an open one counts as withdrawn.
    pub async fn trust_offers(
        &self,
        workspace: &WorkspaceId,
    ) -> Result<Vec<TrustOffer>, StoreError> {
        let mut offers = self.archive.trust_offers(workspace).await?;
        for offer in offers.iter_mut().filter(|offer| offer.state == TrustState::Open) {
            if self.mode(workspace, &offer.channel).await? != Mode::Propose {
                offer.state = TrustState::Withdrawn;
            }
        }
        Ok(offers)
    }

    /// Returns the order of a choice, for those who may decide about the channel.
    pub async fn decide(
        &self,
        actor: Actor<'_>,
        question: &StoredQuestion,
        (choice, posts): (Choice, Vec<String>),
    ) -> Result<Order, ActionError> {
        self.require_decider(actor, question.place()).await?;
        Ok(question.order(choice, posts, actor.signature(self.now))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_choice_belongs_to_one_kind_of_question() {
        let subjects = [
            QuestionSubject::Proposal(ProposalId(7)),
            QuestionSubject::Call(ConsentId(7)),
            QuestionSubject::Trust(TrustOfferId(7)),
        ];
        let all: Vec<Choice> = subjects.iter().flat_map(|it| it.choices()).copied().collect();
        assert_eq!(all, Choice::ALL);
        for subject in subjects {
            for choice in Choice::ALL {
                let own = subject.choices().contains(choice).then_some(*choice);
                assert_eq!(subject.parse_choice(choice.name()), own);
            }
            assert_eq!(subject.parse_choice("words"), None);
        }
    }

    #[test]
    fn subjects_have_keys_of_their_own() {
        let (proposal, call) =
            (QuestionSubject::Proposal(ProposalId(7)), QuestionSubject::Call(ConsentId(7)));
        assert_eq!((proposal.key().as_str(), call.key().as_str()), ("7", "call-7"));
        let trust = QuestionSubject::Trust(TrustOfferId(7));
        assert_eq!(trust.key(), "trust-7");
        for subject in [proposal, call, trust] {
            assert_eq!(QuestionSubject::parse(&subject.key()), Some(subject));
        }
        for key in ["", "call-", "call-x", "seven", "call-7-8", "trust-", "other-7"] {
            assert_eq!(QuestionSubject::parse(key), None, "{key}");
        }
    }
}
