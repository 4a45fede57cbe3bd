//! Commands that were heard and not carried out, because they were read too late. The journal of orders has those that were.

use jiff::Timestamp;

use crate::command::reply::CommandReplies;
use crate::command::{Command, CommandRequest};
use crate::memory::asker::sign;
use crate::store::StoreError;
use crate::store::order_journal::{GivenOrder, OrderJournalQuery};
use crate::texts;

/// How many of the newest orders of a workspace are searched for that of a command that is answered.
const MAX_ORDERS: usize = 100;

impl CommandReplies {
    /// The answer to a command, with a sentence before it if the command was left out. Answers about standing orders and
    /// settings say so themselves.
    pub(super) async fn with_what_was_left_out(
        &self,
        request: &CommandRequest,
        now: Timestamp,
        answer: String,
    ) -> Result<String, StoreError> {
        match self.is_left_out(request, now).await? {
            true => {
                let language = self.language_for(request).await?;
                Ok(format!("{}\n{answer}", texts::commands::not_carried_out(language)))
            }
            false => Ok(answer),
        }
    }

    async fn is_left_out(
        &self,
        request: &CommandRequest,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let is_recorded = matches!(
            request.command,
            Command::Mute { .. }
                | Command::Unmute(_)
                | Command::Stop
                | Command::Mode(_)
                | Command::OptIn
        );
        if !is_recorded || !request.is_allowed() || !self.orders_of(request).await?.is_empty() {
            return Ok(false);
        }
        // It shortens no mute, so it may have had nothing to do.
        let orders = self.store.orders(&request.conversation.workspace).await?;
        let is_muted = orders.channel_mute(&request.conversation.channel, now).is_some();
        Ok(request.command != Command::Stop || !is_muted)
    }

    /// What this command has ordered, as the journal has it.
    pub(super) async fn orders_of(
        &self,
        request: &CommandRequest,
    ) -> Result<Vec<GivenOrder>, StoreError> {
        let by = sign(&request.user, request.at);
        let workspace = Some(request.conversation.workspace.clone());
        let query = OrderJournalQuery { workspace, before: None, limit: MAX_ORDERS };
        let orders = self.archive.order_journal(&query).await?;
        Ok(orders.into_iter().filter(|given| *given.by == *by).collect())
    }
}
