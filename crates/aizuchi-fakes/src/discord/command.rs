//! Slash commands that the app has registered, and interactions with their responses.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::Value;
use twilight_model::channel::message::MessageFlags;

use crate::discord::api_error::{ApiResult, ErrorCode};
use crate::discord::id::{ChannelId, GuildId, InteractionId, UserId};
use crate::discord::message::FakeMessage;

/// How long an interaction's token is valid.
const INTERACTION_TOKEN_TTL: SignedDuration = SignedDuration::from_mins(15);

#[derive(Default)]
pub struct CommandRegistry {
    /// The commands of each guild. Global commands are under `None`.
    pub registered: BTreeMap<Option<GuildId>, Vec<Value>>,
    pub interactions: BTreeMap<InteractionId, Interaction>,
}

/// The use of a command or a button by a user.
#[derive(Clone, Debug)]
pub struct Interaction {
    pub id: InteractionId,
    pub token: String,
    pub kind: u8,
    pub name: String,
    pub channel: ChannelId,
    pub user: UserId,
    pub created_at: Timestamp,
    pub status: InteractionStatus,
    /// The app's responses, oldest first; the first is the original.
    pub responses: Vec<InteractionResponse>,
    /// The choices that the app has offered for an autocompletion.
    pub choices: Option<Value>,
    /// The form that the app has shown.
    pub form: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InteractionStatus {
    Pending,
    /// The user sees that the app is thinking. The response will have these flags, so it may be ephemeral.
    Deferred(MessageFlags),
    Responded,
}

#[derive(Clone, Debug)]
pub struct InteractionResponse {
    pub message: FakeMessage,
    /// Whether only the user sees it.
    pub is_ephemeral: bool,
}

/// An interaction to start.
#[derive(Clone, Debug, Deserialize)]
pub struct NewInteraction {
    pub channel: ChannelId,
    pub user: UserId,
    /// Discord's number: 2 a command, 3 a button, 4 an autocompletion, 5 a submitted form.
    #[serde(default = "default_interaction_kind")]
    pub kind: u8,
    pub name: String,
    #[serde(default)]
    pub options: Value,
    /// The start time, by default now.
    #[serde(default)]
    pub at: Option<Timestamp>,
}

fn default_interaction_kind() -> u8 {
    2
}

impl CommandRegistry {
    /// Finds a registered command. The commands of the guild take precedence.
    pub fn find(&self, guild: Option<GuildId>, name: &str) -> Option<&Value> {
        let scopes = [guild, None];
        let mut lists = scopes.iter().filter_map(|scope| self.registered.get(scope));
        lists.find_map(|list| list.iter().find(|command| command["name"] == name))
    }

    /// Finds an interaction by its token, while the token is valid.
    pub fn by_token(&mut self, token: &str, now: Timestamp) -> ApiResult<&mut Interaction> {
        let found = self.interactions.values_mut().find(|interaction| interaction.token == token);
        let is_valid = |interaction: &&mut Interaction| {
            now.duration_since(interaction.created_at) <= INTERACTION_TOKEN_TTL
        };
        found.filter(is_valid).ok_or(ErrorCode::UnknownWebhook.into())
    }
}
