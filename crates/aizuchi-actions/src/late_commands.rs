//! Commands that were heard but not carried out, because they arrived too late. The journal of orders lists those that
//! were carried out.

use aizuchi_model::memory::asker::sign;
use aizuchi_model::texts;
use aizuchi_store::StoreError;
use aizuchi_store::order_journal::{GivenOrder, OrderJournalQuery};
use jiff::{SignedDuration, Timestamp};

use crate::command::{Command, CommandRequest};
use crate::command_replies::CommandReplies;

/// How many orders are read at once.
const ORDERS_PAGE: usize = 100;
/// How much earlier than its message a command may have been recorded, since clocks differ.
const CLOCK_DIFFERENCE: SignedDuration = SignedDuration::from_hours(1);

impl CommandReplies {
    /// Puts a notice before the answer if the command was not carried out. Answers about standing orders and settings
    /// include such a notice themselves.
    pub(super) async fn with_what_was_left_out(
        &self,
        request: &CommandRequest,
        answer: String,
    ) -> Result<String, StoreError> {
        match self.is_left_out(request).await? {
            true => {
                let language = self.language_for(request).await?;
                Ok(format!("{}\n{answer}", texts::commands::not_carried_out(language)))
            }
            false => Ok(answer),
        }
    }

    async fn is_left_out(&self, request: &CommandRequest) -> Result<bool, StoreError> {
        let is_recorded = matches!(
            request.command,
            Command::Mute { .. }
                | Command::Unmute(_)
                | Command::Stop
                | Command::Mode(_)
                | Command::OptIn
        );
        let is_given = is_recorded && request.is_allowed();
        Ok(is_given && self.orders_of(request).await?.is_empty())
    }

    /// Returns the orders that this command gave, according to the journal.
    pub(super) async fn orders_of(
        &self,
        request: &CommandRequest,
    ) -> Result<Vec<GivenOrder>, StoreError> {
        let by = sign(&request.user, request.at);
        let workspace = Some(request.conversation.workspace.clone());
        let since = request.at.checked_sub(CLOCK_DIFFERENCE).unwrap_or(Timestamp::MIN);
        let mut query =
            OrderJournalQuery { workspace, kind: None, before: None, limit: ORDERS_PAGE };
        // However many orders were given since.
        loop {
            let orders = self.archive.order_journal(&query).await?;
            let last = orders.last().filter(|last| orders.len() >= ORDERS_PAGE && last.at >= since);
            query.before = last.map(|last| last.number);
            let own: Vec<GivenOrder> =
                orders.into_iter().filter(|given| *given.by == *by).collect();
            if !own.is_empty() || query.before.is_none() {
                return Ok(own);
            }
        }
    }
}
