//! Why the store refuses a write, in words for the user who requested it.

use std::fmt;

use aizuchi_model::decision::consent::ConsentProblem;
use aizuchi_model::persona::Language;
use aizuchi_model::refusal::RefusalKind;
use aizuchi_model::standing_order::MAX_PER_SCOPE;
use aizuchi_model::texts::refusals;

aizuchi_model::refusals! {
    /// Why a write is refused. Retrying does not help until the state changes.
    #[derive(Clone, PartialEq, Eq)]
    RefusalReason: RefusalKind |language|
    DeadLetterGone [Conflict "dead_letter_gone"] refusals::dead_letter_gone(language);
    /// Something else is pending in the letter's conversation.
    DeadLetterBlocked [Conflict "dead_letter_blocked"] refusals::dead_letter_blocked(language);
    /// The rest of an answer that was posted in part is lost.
    DeadLetterIncomplete [Conflict "dead_letter_incomplete"] refusals::dead_letter_incomplete(language);
    /// A memory or memo has changed since the user saw it.
    MemoryChanged [Conflict "memory_changed"] refusals::memory_changed(language);
    /// The decision is still open, or does not exist.
    NotDecided [Conflict "not_decided"] refusals::not_decided(language);
    /// The scope has the maximum number of standing orders.
    TooManyStandingOrders [Conflict "too_many_standing_orders"]
        refusals::too_many_standing_orders(language, MAX_PER_SCOPE);
    /// No standing order with this number is in force.
    NoStandingOrder [Conflict "no_standing_order"] refusals::no_standing_order(language);
    /// There is no draft with this number.
    NoOrderDraft [Conflict "no_order_draft"] refusals::no_order_draft(language);
    /// The user or the channel has the maximum number of plans.
    TooManyPlans [Conflict "too_many_plans"] refusals::too_many_plans(language);
    /// There is no pending plan of this number.
    NoPlan [Conflict "no_plan"] refusals::no_plan(language);
    /// The config plans a first word, and nobody else.
    PlannedByConfig [Conflict "planned_by_config"] refusals::planned_by_config(language);
    /// There is no such proposal, or its decision is gone.
    ProposalGone [Conflict "proposal_gone"] refusals::proposal_gone(language);
    /// The proposal is decided already.
    ProposalDecided [Conflict "proposal_decided"] refusals::proposal_decided(language);
    /// The proposal has lapsed.
    ProposalLapsed [Conflict "proposal_lapsed"] refusals::proposal_lapsed(language);
    /// Something else is pending in the proposal's conversation.
    ProposalBlocked [Conflict "proposal_blocked"] refusals::proposal_blocked(language);
    /// The trust offer was answered already, or is no longer open.
    TrustOfferGone [Conflict "trust_offer_gone"] refusals::trust_offer_gone(language);
    /// There is no such call.
    ConsentGone [Conflict "consent_gone"] refusals::consent_gone(language);
    /// The call is decided already.
    ConsentDecided [Conflict "consent_decided"] refusals::consent_decided(language);
    /// The call cannot be allowed any more.
    ConsentLapsed [Conflict "consent_lapsed"] refusals::consent_lapsed(language);
    /// The database's error about a value, or that this store does not keep such data.
    Unstorable(why: String) [Conflict "unstorable"] refusals::unstorable(language, why);
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
