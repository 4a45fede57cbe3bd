//! Inspection of the app's actions and the resulting state.

use serde_json::Value;

use crate::discord::FakeDiscord;
use crate::discord::api_error::ApiResult;
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

    /// Returns the payloads that the app has sent to the gateway with an opcode: 1 heartbeat, 2 IDENTIFY, 6 RESUME.
    pub fn payloads(&self, op: u64) -> Vec<ReceivedPayload> {
        let payloads = self.read(|state| state.journal.payloads.clone());
        payloads.into_iter().filter(|payload| payload.op == op).collect()
    }

    /// Returns the close codes of the app's connections, or `None` for a connection that ended without a close frame.
    pub fn close_codes(&self) -> Vec<Option<u16>> {
        self.read(|state| state.journal.close_codes.clone())
    }

    /// Returns the number of connections that are not stalled.
    pub fn connection_count(&self) -> usize {
        self.read(|state| state.gateway.open_connections())
    }

    /// Returns the number of connections that have a session and are not stalled.
    pub fn session_count(&self) -> usize {
        self.read(|state| {
            let connections = state.gateway.connections.iter();
            connections
                .filter(|connection| connection.session.is_some() && !connection.is_stalled)
                .count()
        })
    }

    pub fn session_start_quota(&self) -> SessionStartQuota {
        self.read(|state| state.gateway.session_start_quota)
    }

    pub fn interaction(&self, id: InteractionId) -> Option<Interaction> {
        self.read(|state| state.world.commands.interactions.get(&id).cloned())
    }

    /// Returns the global commands, or those of a guild.
    pub fn commands(&self, guild: Option<GuildId>) -> Vec<Value> {
        self.read(|state| state.world.commands.registered.get(&guild).cloned().unwrap_or_default())
    }

    /// Returns the existing messages of a channel or a thread, oldest first.
    pub fn messages(&self, channel: ChannelId) -> ApiResult<Vec<FakeMessage>> {
        self.read(|state| Ok(state.world.channel(channel)?.messages.values().cloned().collect()))
    }

    /// Returns the texts of [`Self::messages`].
    pub fn texts(&self, channel: ChannelId) -> ApiResult<Vec<String>> {
        Ok(self.messages(channel)?.into_iter().map(|message| message.content).collect())
    }

    /// Returns the id of the app's user.
    pub fn bot_user(&self) -> UserId {
        self.read(|state| state.world.bot_user)
    }
}
