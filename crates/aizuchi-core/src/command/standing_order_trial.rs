//! The port that tells what the draft of an order would have changed: the moments at which somebody judged lately are
//! judged again with it. Nothing is posted for that, and nothing follows the draft.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;

use crate::chat::ConversationId;
use crate::clock::Clock;
use crate::standing_order::{StandingOrder, StandingOrderEffect};
use crate::store::StoreError;

/// A trial that takes longer is given up, since the step that waits for it holds its conversation.
pub const LONGEST_TRIAL: SignedDuration = SignedDuration::from_secs(60);

#[async_trait]
pub trait StandingOrderTrial: Send + Sync {
    /// Tries a draft in the channel of a conversation. No model is asked any more once `stop` is cancelled. The same draft
    /// may be tried again, if the step that answers for it is done again.
    async fn try_draft(
        &self,
        conversation: &ConversationId,
        draft: &StandingOrder,
        stop: &CancellationToken,
    ) -> Result<StandingOrderTrialOutcome, StoreError>;

    /// The address of the page on which the drafts of a conversation's channel can be tried, if it is that for those who
    /// read there.
    fn page(&self, _: &ConversationId) -> Option<String> {
        None
    }
}

/// What one step may try: one draft, while nothing supersedes the step, and no longer than its lease allows for.
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

    /// Tries the first draft that it is asked about, and allows no other.
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

    /// The same address as [`StandingOrderTrial::page`].
    pub fn page(&self, conversation: &ConversationId) -> Option<String> {
        self.trial.page(conversation)
    }
}

/// What came of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StandingOrderTrialOutcome {
    Tried(StandingOrderEffect),
    /// The settings let the chat have no model asked, or this step has tried a draft already.
    NotAllowed,
    /// The built-in rules judge, and they read no orders.
    NoModel,
    /// Nobody knows what asking would cost.
    Unpriced,
    /// It would cost more than is left.
    OverBudget,
    /// The model answered nothing.
    Unanswered,
    /// In so many days no judge was asked here.
    NothingToTry(i64),
}
