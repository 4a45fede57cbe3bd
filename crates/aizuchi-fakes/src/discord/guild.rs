//! Guilds, their roles and members, and users.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use twilight_model::guild::Permissions;

use crate::discord::id::{ChannelId, GuildId, RoleId, UserId, format_timestamp};

#[derive(Clone, Debug)]
pub struct FakeUser {
    pub id: UserId,
    /// The handle, in lower case and unique.
    pub name: String,
    pub global_name: Option<String>,
    pub is_bot: bool,
    /// Whether the user rejects direct messages from the app.
    pub has_closed_direct_messages: bool,
}

impl FakeUser {
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "username": self.name,
            "global_name": self.global_name,
            "discriminator": "0",
            "avatar": null,
            "avatar_decoration_data": null,
            "accent_color": null,
            "banner": null,
            "bot": self.is_bot,
            "system": false,
            "public_flags": 0,
            "flags": 0,
        })
    }

    /// Returns the name shown where the user has no nickname.
    pub fn visible_name(&self) -> &str {
        self.global_name.as_deref().unwrap_or(&self.name)
    }
}

/// A user to add.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NewUser {
    pub name: String,
    pub is_bot: bool,
}

#[derive(Clone, Debug)]
pub struct FakeMember {
    pub nick: Option<String>,
    pub roles: Vec<RoleId>,
    pub joined_at: Timestamp,
}

impl FakeMember {
    /// Returns the member without its user, as in message events.
    pub fn partial_json(&self) -> Value {
        json!({
            "nick": self.nick,
            "roles": self.roles,
            "joined_at": format_timestamp(self.joined_at),
            "premium_since": null,
            "communication_disabled_until": null,
            "avatar": null,
            "banner": null,
            "deaf": false,
            "mute": false,
            "pending": false,
            "flags": 0,
        })
    }
}

#[derive(Clone, Debug)]
pub struct FakeRole {
    pub id: RoleId,
    pub name: String,
    pub permissions: Permissions,
    pub position: i64,
    pub is_mentionable: bool,
    /// The app that the role belongs to.
    pub bot: Option<UserId>,
}

impl FakeRole {
    pub fn to_json(&self) -> Value {
        let mut object = json!({
            "id": self.id,
            "name": self.name,
            "description": null,
            "permissions": self.permissions,
            "position": self.position,
            "color": 0,
            "colors": { "primary_color": 0, "secondary_color": null, "tertiary_color": null },
            "hoist": false,
            "icon": null,
            "unicode_emoji": null,
            "managed": self.bot.is_some(),
            "mentionable": self.is_mentionable,
            "flags": 0,
        });
        if let Some(bot) = self.bot {
            object["tags"] = json!({ "bot_id": bot });
        }
        object
    }
}

#[derive(Clone, Debug)]
pub struct FakeGuild {
    pub id: GuildId,
    pub name: String,
    pub owner: UserId,
    pub roles: BTreeMap<RoleId, FakeRole>,
    pub members: BTreeMap<UserId, FakeMember>,
    pub emojis: Vec<Value>,
    /// The channel that announces new members.
    pub system_channel: Option<ChannelId>,
    /// Whether there is an outage.
    pub is_unavailable: bool,
}

impl FakeGuild {
    /// Returns the fields that do not depend on the viewer.
    pub fn to_json(&self) -> Value {
        let roles: Vec<Value> = self.roles.values().map(FakeRole::to_json).collect();
        json!({
            "id": self.id,
            "name": self.name,
            "owner_id": self.owner,
            "roles": roles,
            "emojis": self.emojis,
            "stickers": [],
            "features": [],
            "icon": null,
            "splash": null,
            "discovery_splash": null,
            "banner": null,
            "description": null,
            "region": "deprecated",
            "afk_channel_id": null,
            "afk_timeout": 300,
            "application_id": null,
            "default_message_notifications": 0,
            "explicit_content_filter": 0,
            "mfa_level": 0,
            "nsfw": false,
            "nsfw_level": 0,
            "preferred_locale": "en-US",
            "premium_progress_bar_enabled": false,
            "premium_subscription_count": 0,
            "premium_tier": 0,
            "public_updates_channel_id": null,
            "rules_channel_id": null,
            "safety_alerts_channel_id": null,
            "system_channel_flags": 0,
            "system_channel_id": self.system_channel,
            "vanity_url_code": null,
            "verification_level": 0,
            "widget_enabled": false,
            "widget_channel_id": null,
            "max_members": 500_000,
            "max_presences": null,
            "max_video_channel_users": 25,
            "max_stage_video_channel_users": 50,
            "large": false,
        })
    }
}
