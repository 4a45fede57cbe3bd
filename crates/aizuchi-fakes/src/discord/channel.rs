//! Places to talk: a guild's channels and forums, their threads, and direct messages.

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
    /// Not there in direct messages.
    pub guild: Option<GuildId>,
    pub kind: ChannelType,
    pub name: String,
    pub topic: Option<String>,
    /// The category, or what the thread belongs to.
    pub parent: Option<ChannelId>,
    pub overwrites: Vec<PermissionOverwrite>,
    /// With whom the bot talks in a direct message.
    pub recipient: Option<UserId>,
    pub thread: Option<FakeThread>,
    /// What posts of a forum can be marked with.
    pub tags: Vec<Value>,
    pub messages: BTreeMap<MessageId, FakeMessage>,
    pub last_message: Option<MessageId>,
}

/// What only threads have.
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
    /// How many lines were ever said, without the one at the top.
    pub message_count: u64,
}

/// A channel that is to be there.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NewChannel {
    /// The guild that comes first, if not said.
    pub guild: Option<GuildId>,
    pub name: String,
    pub kind: NewChannelKind,
    pub topic: Option<String>,
    /// Only these can see it; everybody, if empty.
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

    /// Lines can be said here.
    pub fn is_text(&self) -> bool {
        !self.is_forum() && self.kind != ChannelType::GuildCategory
    }

    pub fn is_archived(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| thread.is_archived)
    }

    /// What is told of it to `me`; a direct message needs its `recipients` told, too.
    pub fn to_json(&self, me: UserId) -> Value {
        let mut shape = json!({
            "id": self.id,
            "type": u8::from(self.kind),
            "last_message_id": self.last_message,
            "flags": 0,
        });
        if let Some(guild) = self.guild {
            shape["guild_id"] = json!(guild);
            shape["name"] = json!(self.name);
            shape["parent_id"] = json!(self.parent);
            shape["rate_limit_per_user"] = json!(0);
            match &self.thread {
                Some(thread) => thread.add_thread_fields(self.id, me, &mut shape),
                None => self.add_guild_fields(&mut shape),
            }
        }
        shape
    }

    fn add_guild_fields(&self, shape: &mut Value) {
        shape["topic"] = json!(self.topic);
        shape["position"] = json!(0);
        shape["nsfw"] = json!(false);
        shape["permission_overwrites"] = json!(self.overwrites);
        if self.is_forum() {
            shape["available_tags"] = json!(self.tags);
            shape["default_reaction_emoji"] = Value::Null;
            shape["default_sort_order"] = Value::Null;
            shape["default_forum_layout"] = json!(0);
        }
        if self.kind == ChannelType::GuildVoice {
            shape["bitrate"] = json!(64_000);
            shape["user_limit"] = json!(0);
            shape["rtc_region"] = Value::Null;
        }
    }
}

impl FakeThread {
    fn add_thread_fields(&self, id: ChannelId, me: UserId, shape: &mut Value) {
        // Discord counts no further than this.
        const MAX_MEMBER_COUNT: usize = 50;
        shape["owner_id"] = json!(self.owner);
        shape["message_count"] = json!(self.message_count);
        shape["total_message_sent"] = json!(self.message_count);
        shape["member_count"] = json!(self.members.len().min(MAX_MEMBER_COUNT));
        shape["applied_tags"] = json!(self.tags);
        shape["thread_metadata"] = json!({
            "archived": self.is_archived,
            "archive_timestamp": format_timestamp(self.archived_at),
            "auto_archive_duration": self.auto_archive_minutes,
            "locked": self.is_locked,
            "create_timestamp": format_timestamp(self.created_at),
        });
        if let Some(member) = self.member_json(id, me) {
            shape["member"] = member;
        }
    }

    pub fn member_json(&self, id: ChannelId, user: UserId) -> Option<Value> {
        let joined = format_timestamp(*self.members.get(&user)?);
        Some(json!({ "id": id, "user_id": user, "join_timestamp": joined, "flags": 0 }))
    }
}
