//! Messages, their authors and reactions.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use twilight_model::channel::message::MessageFlags;

use crate::discord::id::{ChannelId, MessageId, RoleId, UserId, WebhookId};

#[derive(Clone, Debug)]
pub struct FakeMessage {
    pub id: MessageId,
    pub author: FakeAuthor,
    pub kind: MessageKind,
    pub content: String,
    pub reference: Option<MessageReference>,
    pub edited: Option<Timestamp>,
    pub nonce: Option<Value>,
    pub flags: MessageFlags,
    /// The users that it pings.
    pub mentions: Vec<UserId>,
    pub mention_roles: Vec<RoleId>,
    pub mention_everyone: bool,
    pub attachments: Vec<Value>,
    pub embeds: Vec<Value>,
    pub stickers: Vec<Value>,
    pub components: Vec<Value>,
    pub reactions: Vec<FakeReaction>,
    /// The interaction that it responds to.
    pub interaction: Option<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FakeAuthor {
    User(UserId),
    Webhook { id: WebhookId, name: String },
}

impl FakeAuthor {
    pub fn user(&self) -> Option<UserId> {
        match self {
            Self::User(user) => Some(*user),
            Self::Webhook { .. } => None,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MessageKind {
    #[default]
    Regular,
    /// Announces a new member.
    Join,
    /// Announces, in the parent channel, a thread that was not started from a message.
    ThreadCreated,
    Reply,
    /// A response to a slash command.
    Command,
    /// The first message of a thread that was started from a message.
    ThreadStarter,
}

impl MessageKind {
    pub fn number(self) -> u8 {
        match self {
            Self::Regular => 0,
            Self::Join => 7,
            Self::ThreadCreated => 18,
            Self::Reply => 19,
            Self::Command => 20,
            Self::ThreadStarter => 21,
        }
    }

    /// Whether Discord itself posted it.
    pub fn is_system(self) -> bool {
        matches!(self, Self::Join | Self::ThreadCreated | Self::ThreadStarter)
    }
}

/// A reference to another message, which may have been deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageReference {
    pub channel: ChannelId,
    pub message: Option<MessageId>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FakeReaction {
    pub emoji: FakeEmoji,
    pub users: Vec<UserId>,
}

/// A standard emoji, or a guild's own with its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeEmoji {
    pub id: Option<String>,
    pub name: String,
}

impl FakeEmoji {
    /// Parses `🎉` or `name:id`.
    pub fn parse(text: &str) -> Self {
        match text.split_once(':') {
            Some((name, id)) => Self { id: Some(id.to_owned()), name: name.to_owned() },
            None => Self { id: None, name: text.to_owned() },
        }
    }

    pub fn to_json(&self) -> Value {
        json!({ "id": self.id, "name": self.name, "animated": false })
    }
}

/// A message to send.
#[derive(Clone, Debug, Deserialize)]
pub struct NewFakeMessage {
    pub channel: ChannelId,
    pub user: UserId,
    #[serde(default)]
    pub text: String,
    /// The message that this one replies to.
    #[serde(default)]
    pub reply_to: Option<MessageId>,
    /// Whether the reply pings the author of that message.
    #[serde(default)]
    pub ping: ReplyPing,
    /// The name of a webhook, which replaces `user` as the author.
    #[serde(default)]
    pub webhook: Option<String>,
    #[serde(default)]
    pub attachments: Vec<Value>,
    #[serde(default)]
    pub embeds: Vec<Value>,
    #[serde(default)]
    pub stickers: Vec<Value>,
    /// The time of sending, by default now.
    #[serde(default)]
    pub at: Option<Timestamp>,
    /// Whether the app gets an event for it.
    #[serde(rename = "telling", default)]
    pub delivery: EventDelivery,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyPing {
    #[default]
    Author,
    Nobody,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventDelivery {
    #[default]
    #[serde(rename = "told")]
    Delivered,
    /// The gateway loses the event; only the history shows the message.
    Lost,
}

impl NewFakeMessage {
    pub fn new(channel: ChannelId, user: UserId, text: &str) -> Self {
        Self {
            channel,
            user,
            text: text.to_owned(),
            reply_to: None,
            ping: ReplyPing::default(),
            webhook: None,
            attachments: Vec::new(),
            embeds: Vec::new(),
            stickers: Vec::new(),
            at: None,
            delivery: EventDelivery::default(),
        }
    }
}

impl FakeMessage {
    pub fn new(id: MessageId, author: FakeAuthor, content: &str) -> Self {
        Self {
            id,
            author,
            kind: MessageKind::default(),
            content: content.to_owned(),
            reference: None,
            edited: None,
            nonce: None,
            flags: MessageFlags::empty(),
            mentions: Vec::new(),
            mention_roles: Vec::new(),
            mention_everyone: false,
            attachments: Vec::new(),
            embeds: Vec::new(),
            stickers: Vec::new(),
            components: Vec::new(),
            reactions: Vec::new(),
            interaction: None,
        }
    }

    pub fn is_by(&self, user: UserId) -> bool {
        self.author.user() == Some(user)
    }
}
