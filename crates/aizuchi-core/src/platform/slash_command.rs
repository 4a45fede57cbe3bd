//! Slash commands: the same commands as in plain words, answered to whoever gives them alone. They are no
//! lines of the talk, so nothing of them is kept but what they order.

use std::sync::Arc;

use tracing::warn;

use crate::command::reply::CommandReplies;
use crate::command::{Command, CommandRequest};
use crate::inbox::Inbox;
use crate::store::StoreError;

/// Carries out what a slash command orders, and tells what holds then. Without a word it asks for the status.
pub struct SlashCommands {
    pub inbox: Arc<Inbox>,
    pub answers: Arc<CommandReplies>,
}

impl SlashCommands {
    /// What stands behind the command's name; what is no command asks which there are.
    pub fn parse(text: &str) -> Command {
        match text.trim() {
            "" => Command::Status,
            text => Command::parse(text).unwrap_or(Command::Help),
        }
    }

    pub async fn execute(&self, given: &CommandRequest) -> String {
        self.try_execute(given).await.unwrap_or_else(|error| {
            warn!("a slash command could not be carried out: {error}");
            self.failure_text().to_owned()
        })
    }

    pub fn failure_text(&self) -> &'static str {
        self.answers.persona.language.pick(
            "That did not work just now; please try again.",
            "いまはできませんでした。もう一度試してください。",
        )
    }

    async fn try_execute(&self, given: &CommandRequest) -> Result<String, StoreError> {
        self.inbox.carry_out(given).await?;
        self.answers.reply_to(given, self.inbox.clock.now()).await
    }
}
