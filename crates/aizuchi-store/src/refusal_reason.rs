//! Why the store refuses a write, in words for the user who requested it.

use std::fmt;

use aizuchi_model::decision::consent::ConsentProblem;
use aizuchi_model::persona::Language;
use aizuchi_model::standing_order::MAX_PER_SCOPE;
use aizuchi_model::texts;

/// Why a write is refused. Retrying does not help until the state changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    DeadLetterGone,
    /// Something else is pending in the letter's conversation.
    DeadLetterBlocked,
    /// The rest of an answer that was posted in part is lost.
    DeadLetterIncomplete,
    /// A memory or memo has changed since the user saw it.
    MemoryChanged,
    /// The decision is still open, or does not exist.
    NotDecided,
    /// The scope has the maximum number of standing orders.
    TooManyStandingOrders,
    /// No standing order with this number is in force.
    NoStandingOrder,
    /// There is no draft with this number.
    NoOrderDraft,
    /// There is no such proposal, or its decision is gone.
    ProposalGone,
    /// The proposal is decided already.
    ProposalDecided,
    /// The proposal has lapsed.
    ProposalLapsed,
    /// Something else is pending in the proposal's conversation.
    ProposalBlocked,
    /// The trust offer was answered already, or is no longer open.
    TrustOfferGone,
    /// There is no such call.
    ConsentGone,
    /// The call is decided already.
    ConsentDecided,
    /// The call cannot be allowed any more.
    ConsentLapsed,
    /// The database's error about a value, or that this store does not keep such data.
    Unstorable(String),
}

impl RefusalReason {
    /// The text for the user whose order was refused.
    pub fn describe(&self, language: Language) -> String {
        let text: fn(Language) -> &'static str = match self {
            Self::DeadLetterGone => texts::refusals::dead_letter_gone,
            Self::DeadLetterBlocked => texts::refusals::dead_letter_blocked,
            Self::DeadLetterIncomplete => texts::refusals::dead_letter_incomplete,
            Self::MemoryChanged => texts::refusals::memory_changed,
            Self::NotDecided => texts::refusals::not_decided,
            Self::TooManyStandingOrders => {
                return texts::refusals::too_many_standing_orders(language, MAX_PER_SCOPE);
            }
            Self::NoStandingOrder => texts::refusals::no_standing_order,
            Self::NoOrderDraft => texts::refusals::no_order_draft,
            Self::ProposalGone => texts::refusals::proposal_gone,
            Self::ProposalDecided => texts::refusals::proposal_decided,
            Self::ProposalLapsed => texts::refusals::proposal_lapsed,
            Self::ProposalBlocked => texts::refusals::proposal_blocked,
            Self::TrustOfferGone => texts::refusals::trust_offer_gone,
            Self::ConsentGone => texts::refusals::consent_gone,
            Self::ConsentDecided => texts::refusals::consent_decided,
            Self::ConsentLapsed => texts::refusals::consent_lapsed,
            Self::Unstorable(why) => return texts::refusals::unstorable(language, why),
        };
        text(language).to_owned()
    }
}

impl From<ConsentProblem> for RefusalReason {
    fn from(problem: ConsentProblem) -> Self {
        match problem {
            ConsentProblem::Decided => Self::ConsentDecided,
            ConsentProblem::Lapsed => Self::ConsentLapsed,
            ConsentProblem::NotAsked => Self::ConsentGone,
        }
    }
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(Language::En))
    }
}
