//! Slash commands: the same commands as in plain words, answered only to the user who gave them. They are not
//! messages, so nothing is stored except what they order.

use std::sync::Arc;

use tracing::warn;

use crate::chat::ConversationId;
use crate::command::reply::CommandReplies;
use crate::command::{Command, CommandRequest};
use crate::inbox::Inbox;
use crate::store::StoreError;
use crate::texts;

/// Carries out slash commands and describes the resulting state. Without arguments they ask for the status.
pub struct SlashCommands {
    pub inbox: Arc<Inbox>,
    pub answers: Arc<CommandReplies>,
}

impl SlashCommands {
    /// Parses what follows the command's name. Anything unknown asks for help.
    pub fn parse(text: &str) -> Command {
        match text.trim() {
            "" => Command::Status,
            text => Command::parse(text).unwrap_or(Command::Help),
        }
    }

    pub async fn execute(&self, request: &CommandRequest) -> String {
        self.try_execute(request).await.unwrap_or_else(|error| {
            let ConversationId { workspace, channel, .. } = &request.conversation;
            warn!(%workspace, %channel, %error, "a slash command failed");
            self.failure_text().to_owned()
        })
    }

    pub fn failure_text(&self) -> &'static str {
        texts::commands::failed(self.answers.persona.language)
    }

    async fn try_execute(&self, request: &CommandRequest) -> Result<String, StoreError> {
        self.inbox.carry_out(request).await?;
        self.answers.reply_to(request, self.inbox.clock.now()).await
    }
}
