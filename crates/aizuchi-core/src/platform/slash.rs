//! Slash commands: the same commands as in plain words, answered to whoever gives them alone. They are no
//! lines of the talk, so nothing of them is kept but what they order.

use std::sync::Arc;

use tracing::warn;

use crate::command::answer::Answers;
use crate::command::{Command, Given};
use crate::hear::Ears;
use crate::store::StoreError;

/// Carries out what a slash command orders, and tells what holds then. Without a word it asks for the status.
pub struct Slash {
    pub ears: Arc<Ears>,
    pub answers: Arc<Answers>,
}

impl Slash {
    /// What stands behind the command's name; what is no command asks which there are.
    pub fn read(text: &str) -> Command {
        match text.trim() {
            "" => Command::Status,
            text => Command::of(text).unwrap_or(Command::Help),
        }
    }

    pub async fn obey(&self, given: &Given) -> String {
        self.told(given).await.unwrap_or_else(|error| {
            warn!("a slash command could not be carried out: {error}");
            self.sorry().to_owned()
        })
    }

    pub fn sorry(&self) -> &'static str {
        self.answers.persona.language.pick(
            "That did not work just now; please try again.",
            "いまはできませんでした。もう一度試してください。",
        )
    }

    async fn told(&self, given: &Given) -> Result<String, StoreError> {
        self.ears.carry_out(given).await?;
        self.answers.to(given, self.ears.clock.now()).await
    }
}
