//! Why the store refuses what it is asked to write, in words for the person who asked.

use std::fmt;

use crate::decision::consent::ConsentProblem;
use crate::persona::Language;
use crate::standing_order::MAX_PER_SCOPE;
use crate::texts;

/// Why a write is refused: it would be refused again, as long as things are as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    DeadLetterGone,
    /// Something else is pending in its conversation.
    DeadLetterBlocked,
    /// The rest of an answer that was posted in part is lost.
    DeadLetterIncomplete,
    /// A memory or a memo is not as it was when somebody looked at it.
    MemoryChanged,
    /// A decision is still open, or there is none.
    NotDecided,
    /// As many standing orders as there may be are in force in this scope.
    TooManyStandingOrders,
    /// There is no standing order of this number in force.
    NoStandingOrder,
    /// There is no draft of this number.
    NoOrderDraft,
    /// There is no such proposal, or its decision is gone.
    ProposalGone,
    /// Somebody has decided before.
    ProposalDecided,
    /// Its moment has passed.
    ProposalLapsed,
    /// Something else is under way in its conversation.
    ProposalBlocked,
    /// An offer to speak by itself was answered before, or does not hold any more.
    TrustOfferGone,
    /// There is no such call to allow.
    ConsentGone,
    /// Somebody has decided about the call before.
    ConsentDecided,
    /// The call cannot be allowed any more.
    ConsentLapsed,
    /// What the database says of a value, or that this store does not keep such things.
    Unstorable(String),
}

impl RefusalReason {
    /// The text for the person whose order was refused.
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
