//! The channel of the local room in which the demo script runs. It is private, so its messages are in no other
//! channel's prompts or memories, and its users are in no list of users.

use std::sync::Arc;

use aizuchi_agent::inbox::Inbox;
use aizuchi_model::chat::local::{demo_channel_id, demo_id, workspace_id};
use aizuchi_model::chat::{
    Arrival, Author, AuthorKind, Channel, ConversationId, Heard, Message, MessageId, Role, User,
    UserId, Visibility,
};
use aizuchi_store::StoreError;
use aizuchi_store::order::Order;

use crate::local::mention::parse_mentions;
use crate::local::{LocalRoom, new_message_id};

const CHANNEL_NAME: &str = "demo";

/// The channel in which a script runs: its messages are heard like all others.
pub struct DemoChannel {
    pub room: Arc<LocalRoom>,
    /// The inbox for the script's messages. Its waits are short.
    pub inbox: Arc<Inbox>,
}

impl DemoChannel {
    /// Prepares the channel and the users for a run that is not influenced by earlier ones.
    pub async fn prepare(&self, cast: &[&str]) -> Result<Channel, StoreError> {
        let channel = channel();
        self.inbox.hear(Heard::Channel(channel.clone())).await?;
        for name in cast {
            let (kind, role) = (AuthorKind::Human, Role::Admin);
            let (workspace, id, name) = (workspace_id(), demo_user_id(name), Arc::from(*name));
            self.inbox
                .hear(Heard::User(User { workspace, id, name, kind, role, zone: None }))
                .await?;
        }
        let until = self.room.clock.now();
        self.inbox.apply_order(Order::Reset { conversation: conversation(), until }).await?;
        let (workspace, channel_of_mode) = (workspace_id(), demo_channel_id());
        let mode = Order::Mode { workspace, channel: channel_of_mode, mode: None };
        self.inbox.apply_order(mode).await?;
        self.unmute().await?;
        Ok(channel)
    }

    /// Hears a message of one of the cast. It is committed when this returns.
    pub async fn say(&self, name: &str, text: &str) -> Result<MessageId, StoreError> {
        let message = Message {
            conversation: conversation(),
            id: new_message_id(),
            at: self.room.clock.now(),
            author: Author { id: demo_user_id(name), kind: AuthorKind::Human },
            mentions: parse_mentions(text, &self.room.persona_name, &[]),
            text: text.into(),
            attachments: Vec::new(),
            edits: 0,
        };
        let id = message.id.clone();
        self.inbox.hear(Heard::Message(message, Arrival::Live)).await?;
        // The message may be a command, which changes how pages show the channel.
        self.room.changes.send_modify(|changes| *changes += 1);
        Ok(id)
    }

    /// Whether the persona is muted in the channel.
    pub async fn is_muted(&self) -> Result<bool, StoreError> {
        let orders = self.inbox.store.orders(&workspace_id()).await?;
        let now = self.room.clock.now();
        let here = orders.channel_mute(&demo_channel_id(), now);
        Ok(here.or(orders.workspace_mute(now)).is_some())
    }

    /// Lifts the mute that the script has ordered.
    pub async fn unmute(&self) -> Result<(), StoreError> {
        let (workspace, channel) = (workspace_id(), Some(demo_channel_id()));
        self.inbox.apply_order(Order::Unmute { workspace, channel, by: Role::Admin }).await?;
        self.room.changes.send_modify(|changes| *changes += 1);
        Ok(())
    }
}

/// Returns the channel as it is stored.
pub fn channel() -> Channel {
    Channel {
        workspace: workspace_id(),
        id: demo_channel_id(),
        name: CHANNEL_NAME.into(),
        visibility: Visibility::Private,
        topic: None,
    }
}

fn demo_user_id(name: &str) -> UserId {
    UserId::new(demo_id(name))
}

fn conversation() -> ConversationId {
    ConversationId { workspace: workspace_id(), channel: demo_channel_id(), thread: None }
}
