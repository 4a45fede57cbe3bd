//! The port that tells what the draft of an order would have changed: the moments at which somebody judged lately are
//! judged again with it. Nothing is posted for that, and nothing follows the draft.

use async_trait::async_trait;

use crate::chat::ConversationId;
use crate::standing_order::{OrderEffect, StandingOrder};
use crate::store::StoreError;

#[async_trait]
pub trait OrderTrial: Send + Sync {
    /// Tries a draft in the channel of a conversation.
    async fn try_draft(
        &self,
        conversation: &ConversationId,
        draft: &StandingOrder,
    ) -> Result<OrderTrialOutcome, StoreError>;
}

/// What came of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderTrialOutcome {
    Tried(OrderEffect),
    /// The settings let the chat have no model asked.
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
