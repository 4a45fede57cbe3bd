//! Messages as JSON, and their redaction for apps that may not read the content.

use serde_json::{Value, json};

use crate::discord::channel::FakeChannel;
use crate::discord::guild::FakeUser;
use crate::discord::id::{UserId, created_at, format_timestamp};
use crate::discord::message::{FakeAuthor, FakeMessage, MessageKind};
use crate::discord::world::World;

/// How a message reaches the app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Rest,
    /// As a gateway event, with the guild and the author's membership.
    Gateway,
}

impl World {
    pub fn message_json(
        &self,
        channel: &FakeChannel,
        message: &FakeMessage,
        transport: Transport,
    ) -> Value {
        let mut object = self.message_json_without_reference(channel, message, transport);
        if let Some(reference) = message.reference {
            object["message_reference"] = json!({
                "type": 0,
                "channel_id": reference.channel,
                "message_id": reference.message,
                "guild_id": channel.guild,
            });
            let target_channel = self.channels.get(&reference.channel);
            let target = target_channel
                .and_then(|channel| Some((channel, channel.messages.get(&reference.message?)?)));
            if matches!(message.kind, MessageKind::Reply | MessageKind::ThreadStarter) {
                object["referenced_message"] = target.map_or(Value::Null, |(channel, target)| {
                    self.message_json_without_reference(channel, target, Transport::Rest)
                });
            }
        }
        object
    }

    /// Returns the message without the one that it refers to.
    fn message_json_without_reference(
        &self,
        channel: &FakeChannel,
        message: &FakeMessage,
        transport: Transport,
    ) -> Value {
        let mentions = message.mentions.iter();
        let mentions = mentions.filter_map(|user| self.mention_json(channel, *user, transport));
        let attachments = message.attachments.iter().map(|file| self.with_fresh_link(file));
        let mut object = json!({
            "id": message.id,
            "channel_id": channel.id,
            "type": message.kind.number(),
            "author": self.author_json(&message.author),
            "content": message.content,
            "timestamp": format_timestamp(created_at(message.id)),
            "edited_timestamp": message.edited.map(format_timestamp),
            "tts": false,
            "pinned": false,
            "mention_everyone": message.mention_everyone,
            "mentions": mentions.collect::<Vec<_>>(),
            "mention_roles": message.mention_roles,
            "attachments": attachments.collect::<Vec<_>>(),
            "embeds": message.embeds,
            "components": message.components,
            "flags": message.flags.bits(),
        });
        self.add_optional_fields(channel, message, &mut object);
        if transport == Transport::Gateway {
            object["channel_type"] = json!(u8::from(channel.kind));
        }
        if let (Transport::Gateway, Some(guild)) = (transport, channel.guild) {
            object["guild_id"] = json!(guild);
            let author = message.author.user();
            if let Some(member) = author.and_then(|user| self.member(guild, user).ok()) {
                object["member"] = member.partial_json();
            }
        }
        object
    }

    /// Returns a file's attachment object, with a link that has not expired.
    fn with_fresh_link(&self, file: &Value) -> Value {
        let mut file = file.clone();
        let link = file["url"].as_str().and_then(|url| url.split_once("?ex="));
        if let Some(fresh) = link.map(|(url, _)| format!("{url}?ex={}", self.link_age)) {
            file["url"] = json!(fresh);
        }
        file
    }

    /// Adds the fields that only some messages have.
    fn add_optional_fields(
        &self,
        channel: &FakeChannel,
        message: &FakeMessage,
        object: &mut Value,
    ) {
        if let FakeAuthor::Webhook { id, .. } = &message.author {
            object["webhook_id"] = json!(id);
        }
        if !message.stickers.is_empty() {
            object["sticker_items"] = json!(message.stickers);
        }
        if !message.reactions.is_empty() {
            object["reactions"] = self.reactions_json(message);
        }
        if let Some(interaction) = &message.interaction {
            object["interaction_metadata"] = interaction.clone();
            object["application_id"] = json!(self.application());
        }
        // A thread that was started from a message has the message's id.
        if let Some(thread) = self.channels.get(&message.id.cast())
            && thread.parent == Some(channel.id)
        {
            object["thread"] = self.channel_json(thread);
        }
        if channel.thread.is_some() {
            let position = channel.messages.range(..message.id).count();
            object["position"] = json!(position);
        }
    }

    fn author_json(&self, author: &FakeAuthor) -> Value {
        match author {
            FakeAuthor::User(user) => self.users.get(user).map_or(Value::Null, FakeUser::to_json),
            FakeAuthor::Webhook { id, name } => json!({
                "id": id,
                "username": name,
                "discriminator": "0000",
                "avatar": null,
                "global_name": null,
                "bot": true,
            }),
        }
    }

    fn mention_json(
        &self,
        channel: &FakeChannel,
        user: UserId,
        transport: Transport,
    ) -> Option<Value> {
        let mut object = self.users.get(&user)?.to_json();
        if let (Transport::Gateway, Some(guild)) = (transport, channel.guild)
            && let Ok(member) = self.member(guild, user)
        {
            object["member"] = member.partial_json();
        }
        Some(object)
    }

    fn reactions_json(&self, message: &FakeMessage) -> Value {
        let reactions = message.reactions.iter().map(|reaction| {
            let count = reaction.users.len();
            json!({
                "emoji": reaction.emoji.to_json(),
                "count": count,
                "count_details": { "normal": count, "burst": 0 },
                "me": reaction.users.contains(&self.bot_user),
                "me_burst": false,
                "burst_me": false,
                "burst_count": 0,
                "burst_colors": [],
            })
        });
        reactions.collect()
    }
}

/// Removes the content that an app without the message content intent may not read. It may always read its own
/// messages, direct messages and messages that ping it.
pub fn redact_content(message: &mut Value, bot_user: UserId, is_direct: bool) {
    let is_bot = |user: &Value| user["id"] == json!(bot_user);
    let is_own = is_bot(&message["author"]);
    let is_ping =
        message["mentions"].as_array().is_some_and(|mentions| mentions.iter().any(is_bot));
    if !is_own && !is_ping && !is_direct && message["content"].is_string() {
        message["content"] = json!("");
        for list in ["embeds", "attachments", "components"] {
            message[list] = json!([]);
        }
    }
    if let Some(target) = message.get_mut("referenced_message")
        && target.is_object()
    {
        redact_content(target, bot_user, is_direct);
    }
}
