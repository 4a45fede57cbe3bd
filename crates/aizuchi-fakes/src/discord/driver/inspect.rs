//! What can be seen of the app: a test's eyes.

use serde_json::Value;

use crate::discord::FakeDiscord;
use crate::discord::api_error::ApiError;
use crate::discord::command::Interaction;
use crate::discord::id::{ChannelId, GuildId, InteractionId, UserId};
use crate::discord::journal::{ReceivedPayload, RecordedCall, RecordedPost};
use crate::discord::message::FakeMessage;
use crate::discord::method::Method;
use crate::discord::session::SessionStartQuota;

impl FakeDiscord {
    pub fn posts(&self) -> Vec<RecordedPost> {
        self.read(|state| state.journal.posts.clone())
    }

    pub fn calls(&self, method: Method) -> Vec<RecordedCall> {
        let calls = self.read(|state| state.journal.calls.clone());
        calls.into_iter().filter(|call| call.method == method).collect()
    }

    /// What it has told the gateway with an opcode: 1 a heartbeat, 2 IDENTIFY, 6 RESUME.
    pub fn payloads(&self, op: u64) -> Vec<ReceivedPayload> {
        let said = self.read(|state| state.journal.payloads.clone());
        said.into_iter().filter(|one| one.op == op).collect()
    }

    /// The codes that it has closed connections with; without one, they just ended.
    pub fn close_codes(&self) -> Vec<Option<u16>> {
        self.read(|state| state.journal.close_codes.clone())
    }

    /// How many connections carry words.
    pub fn connection_count(&self) -> usize {
        self.read(|state| state.gateway.open_connections())
    }

    /// How many connections have a session.
    pub fn session_count(&self) -> usize {
        self.read(|state| {
            let connections = state.gateway.connections.iter();
            connections.filter(|one| one.session.is_some() && !one.is_stalled).count()
        })
    }

    pub fn session_start_quota(&self) -> SessionStartQuota {
        self.read(|state| state.gateway.session_start_quota)
    }

    pub fn interaction(&self, id: InteractionId) -> Option<Interaction> {
        self.read(|state| state.world.commands.interactions.get(&id).cloned())
    }

    /// The commands for everywhere, or those of a guild.
    pub fn commands(&self, guild: Option<GuildId>) -> Vec<Value> {
        self.read(|state| state.world.commands.registered.get(&guild).cloned().unwrap_or_default())
    }

    /// The messages of a channel or a thread as they are now, oldest first.
    pub fn messages(&self, channel: ChannelId) -> Result<Vec<FakeMessage>, ApiError> {
        self.read(|state| Ok(state.world.channel(channel)?.messages.values().cloned().collect()))
    }

    /// Their texts.
    pub fn texts(&self, channel: ChannelId) -> Result<Vec<String>, ApiError> {
        Ok(self.messages(channel)?.into_iter().map(|message| message.content).collect())
    }

    /// The app's own user.
    pub fn bot_user(&self) -> UserId {
        self.read(|state| state.world.bot_user)
    }
}
