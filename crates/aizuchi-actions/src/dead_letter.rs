//! What may be done about a step that was given up.

use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::flow::DeadLetterId;
use aizuchi_store::order::Order;
use aizuchi_store::query::DeadLetterQuery;

use crate::access::Access;
use crate::authorization::Authorization;
use crate::refusal::{ActionError, ActionRefusal};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LetterAction {
    Retry,
    /// Drop it, and the text that could not be posted.
    Drop,
}

impl Authorization<'_> {
    /// Returns the order to settle a letter of a workspace, or without one, of any.
    pub async fn settle(
        &self,
        access: &Access,
        (workspace, id): (Option<WorkspaceId>, DeadLetterId),
        action: LetterAction,
    ) -> Result<Order, ActionError> {
        access.require_orders()?;
        // The newest letter below the next id is this one, if it still exists.
        let before = Some(DeadLetterId(id.0.saturating_add(1)));
        let query = DeadLetterQuery { workspace, before, limit: 1 };
        let newest = self.archive.dead_letters(&query).await?.pop();
        let letter = newest.filter(|letter| letter.id == id).ok_or(ActionRefusal::NoDeadLetter)?;
        let workspace = letter.conversation.workspace;
        let order = match action {
            LetterAction::Retry => Order::RetryDeadLetter { workspace, id },
            LetterAction::Drop => Order::DropDeadLetter { workspace, id },
        };
        Ok(order.signed(access.signature()))
    }
}
