//! Channels: guild channels, forums, threads and direct messages.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use twilight_model::channel::ChannelType;
use twilight_model::channel::permission_overwrite::PermissionOverwrite;

use crate::discord::id::{ChannelId, GuildId, MessageId, UserId, format_timestamp};
use crate::discord::message::FakeMessage;

#[derive(Clone, Debug)]
pub struct FakeChannel {
    pub id: ChannelId,
    /// Absent in direct messages.
    pub guild: Option<GuildId>,
    pub kind: ChannelType,
    pub name: String,
    pub topic: Option<String>,
    /// The category of a channel, or the channel of a thread.
    pub parent: Option<ChannelId>,
    pub overwrites: Vec<PermissionOverwrite>,
    /// The other user of a direct message.
    pub recipient: Option<UserId>,
    pub thread: Option<FakeThread>,
    /// The tags that a forum's posts can have.
    pub tags: Vec<Value>,
    pub messages: BTreeMap<MessageId, FakeMessage>,
    pub last_message: Option<MessageId>,
}

/// The properties of a thread.
#[derive(Clone, Debug)]
pub struct FakeThread {
    pub owner: UserId,
    pub created_at: Timestamp,
    pub members: BTreeMap<UserId, Timestamp>,
    pub is_archived: bool,
    pub is_locked: bool,
    pub archived_at: Timestamp,
    pub auto_archive_minutes: u64,
    pub tags: Vec<Value>,
    /// The number of messages ever sent, excluding the one that starts the thread.
    pub message_count: u64,
}

/// A channel to add.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NewChannel {
    /// By default, the first guild.
    pub guild: Option<GuildId>,
    pub name: String,
    pub kind: NewChannelKind,
    pub topic: Option<String>,
    /// The only users who can see it; if empty, everyone can.
    pub members: Vec<UserId>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NewChannelKind {
    #[default]
    Text,
    Announcement,
    Voice,
    Forum,
    Category,
}

impl NewChannelKind {
    pub fn channel_type(self) -> ChannelType {
        match self {
            Self::Text => ChannelType::GuildText,
            Self::Announcement => ChannelType::GuildAnnouncement,
            Self::Voice => ChannelType::GuildVoice,
            Self::Forum => ChannelType::GuildForum,
            Self::Category => ChannelType::GuildCategory,
        }
    }
}

impl FakeChannel {
    pub fn new(id: ChannelId, kind: ChannelType, name: &str) -> Self {
        Self {
            id,
            guild: None,
            kind,
            name: name.to_owned(),
            topic: None,
            parent: None,
            overwrites: Vec::new(),
            recipient: None,
            thread: None,
            tags: Vec::new(),
            messages: BTreeMap::new(),
            last_message: None,
        }
    }

    pub fn is_forum(&self) -> bool {
        matches!(self.kind, ChannelType::GuildForum | ChannelType::GuildMedia)
    }

    /// Whether messages can be sent in the channel.
    pub fn is_text(&self) -> bool {
        !self.is_forum() && self.kind != ChannelType::GuildCategory
    }

    pub fn is_archived(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| thread.is_archived)
    }

    /// Returns the channel as `viewer` sees it, without the `recipients` of a direct message.
    pub fn to_json(&self, viewer: UserId) -> Value {
        let mut object = json!({
            "id": self.id,
            "type": u8::from(self.kind),
            "last_message_id": self.last_message,
            "flags": 0,
        });
        if let Some(guild) = self.guild {
            object["guild_id"] = json!(guild);
            object["name"] = json!(self.name);
            object["parent_id"] = json!(self.parent);
            object["rate_limit_per_user"] = json!(0);
            match &self.thread {
                Some(thread) => thread.add_thread_fields(self.id, viewer, &mut object),
                None => self.add_guild_fields(&mut object),
            }
        }
        object
    }

    fn add_guild_fields(&self, object: &mut Value) {
        object["topic"] = json!(self.topic);
        object["position"] = json!(0);
        object["nsfw"] = json!(false);
        object["permission_overwrites"] = json!(self.overwrites);
        if self.is_forum() {
            object["available_tags"] = json!(self.tags);
            object["default_reaction_emoji"] = Value::Null;
            object["default_sort_order"] = Value::Null;
            object["default_forum_layout"] = json!(0);
        }
        if self.kind == ChannelType::GuildVoice {
            object["bitrate"] = json!(64_000);
            object["user_limit"] = json!(0);
            object["rtc_region"] = Value::Null;
        }
    }
}

impl FakeThread {
    fn add_thread_fields(&self, id: ChannelId, viewer: UserId, object: &mut Value) {
        // Discord stops counting here.
        const MAX_MEMBER_COUNT: usize = 50;
        object["owner_id"] = json!(self.owner);
        object["message_count"] = json!(self.message_count);
        object["total_message_sent"] = json!(self.message_count);
        object["member_count"] = json!(self.members.len().min(MAX_MEMBER_COUNT));
        object["applied_tags"] = json!(self.tags);
        object["thread_metadata"] = json!({
            "archived": self.is_archived,
            "archive_timestamp": format_timestamp(self.archived_at),
            "auto_archive_duration": self.auto_archive_minutes,
            "locked": self.is_locked,
            "create_timestamp": format_timestamp(self.created_at),
        });
        if let Some(member) = self.member_json(id, viewer) {
            object["member"] = member;
        }
    }

    pub fn member_json(&self, id: ChannelId, user: UserId) -> Option<Value> {
        let joined_at = format_timestamp(*self.members.get(&user)?);
        Some(json!({ "id": id, "user_id": user, "join_timestamp": joined_at, "flags": 0 }))
    }
}
