//! The port for trying a drafted order: moments that users recently judged are judged again with it, to see what it
//! would have changed. Nothing is posted, and the draft does not take effect.

use std::sync::atomic::{AtomicBool, Ordering};

use aizuchi_model::chat::ConversationId;
use aizuchi_model::clock::Clock;
use aizuchi_model::standing_order::{StandingOrder, StandingOrderEffect};
use aizuchi_store::StoreError;
use async_trait::async_trait;
use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;

/// The maximum duration of a trial, since the step that waits for it holds its conversation.
pub const LONGEST_TRIAL: SignedDuration = SignedDuration::from_secs(60);

#[async_trait]
pub trait StandingOrderTrial: Send + Sync {
    /// Tries a draft in the channel of a conversation. No further model calls are made once `stop` is cancelled. The
    /// same draft may be tried again, if the step that answers the command is repeated.
    async fn try_draft(
        &self,
        conversation: &ConversationId,
        draft: &StandingOrder,
        stop: &CancellationToken,
    ) -> Result<StandingOrderTrialOutcome, StoreError>;

    /// Returns the URL of the page for trying the drafts of a conversation's channel, if the users who read there may
    /// open it.
    fn page(&self, _: &ConversationId) -> Option<String> {
        None
    }
}

/// The trial that one step may make: one draft, while nothing supersedes the step, and within its lease.
pub struct StepTrial<'a> {
    trial: &'a dyn StandingOrderTrial,
    clock: &'a Clock,
    /// Cancelled when a new message makes the step obsolete.
    superseded: &'a CancellationToken,
    is_used: AtomicBool,
}

impl<'a> StepTrial<'a> {
    pub fn new(
        trial: &'a dyn StandingOrderTrial,
        clock: &'a Clock,
        superseded: &'a CancellationToken,
    ) -> Self {
        Self { trial, clock, superseded, is_used: AtomicBool::new(false) }
    }

    /// Tries the first draft that is passed to it, and refuses any other.
    pub async fn try_draft(
        &self,
        conversation: &ConversationId,
        draft: &StandingOrder,
    ) -> Result<StandingOrderTrialOutcome, StoreError> {
        if self.is_used.swap(true, Ordering::Relaxed) {
            return Ok(StandingOrderTrialOutcome::NotAllowed);
        }
        let trying = self.trial.try_draft(conversation, draft, self.superseded);
        let tried = self.clock.timeout(LONGEST_TRIAL, trying).await;
        tried.unwrap_or(Ok(StandingOrderTrialOutcome::Unanswered))
    }

    /// Returns the same URL as [`StandingOrderTrial::page`].
    pub fn page(&self, conversation: &ConversationId) -> Option<String> {
        self.trial.page(conversation)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StandingOrderTrialOutcome {
    Tried(StandingOrderEffect),
    /// The settings forbid model calls from the chat, or this step has already tried a draft.
    NotAllowed,
    /// The built-in rules judge, and they do not read orders.
    NoModel,
    /// The cost of the calls is unknown.
    Unpriced,
    /// The calls would cost more than is left of the budget.
    OverBudget,
    /// The model did not answer.
    Unanswered,
    /// No judge was asked here within this many days.
    NothingToTry(i64),
}
