//! Slash commands: the same commands as in plain words. The answer is for the user who gave the command, unless it
//! concerns everyone in the channel and the adapter can show it there. They are not messages, so only their orders are
//! stored.

use std::sync::Arc;

use aizuchi_actions::command::{Command, CommandRequest};
use aizuchi_actions::command_replies::CommandReplies;
use aizuchi_agent::inbox::Inbox;
use aizuchi_model::chat::ConversationId;
use aizuchi_model::texts;
use aizuchi_store::StoreError;
use tracing::warn;

/// The answer to a slash command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlashAnswer {
    pub text: String,
    /// Whether everyone in the channel sees it, or only the user who gave the command.
    pub is_public: bool,
}

/// Carries out slash commands and describes the resulting state. A command without arguments asks for the status.
pub struct SlashCommands {
    pub inbox: Arc<Inbox>,
    pub answers: Arc<CommandReplies>,
}

impl SlashCommands {
    /// Parses the arguments after the command's name. Anything unknown asks for help.
    pub fn parse(text: &str) -> Command {
        match text.trim() {
            "" => Command::Status,
            text => Command::parse(text).unwrap_or(Command::Help),
        }
    }

    pub async fn execute(&self, request: &CommandRequest) -> SlashAnswer {
        match self.try_execute(request).await {
            Ok(text) => SlashAnswer { text, is_public: request.concerns_everybody() },
            Err(error) => {
                let ConversationId { workspace, channel, .. } = &request.conversation;
                warn!(%workspace, %channel, %error, "a slash command failed");
                SlashAnswer::private(self.failure_text())
            }
        }
    }

    pub fn failure_text(&self) -> &'static str {
        texts::commands::failed(self.answers.persona.language)
    }

    async fn try_execute(&self, request: &CommandRequest) -> Result<String, StoreError> {
        self.inbox.carry_out(request).await?;
        self.answers.reply_to(request, self.inbox.clock.now()).await
    }
}

impl SlashAnswer {
    /// Returns an answer for the user who gave the command.
    pub fn private(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_public: false }
    }
}
