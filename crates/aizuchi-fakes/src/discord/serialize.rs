//! Messages as Discord writes them, and what is left of them for apps that may not read.

use serde_json::{Value, json};

use crate::discord::channel::FakeChannel;
use crate::discord::guild::FakeUser;
use crate::discord::id::{UserId, created_at, format_timestamp};
use crate::discord::message::{FakeAuthor, FakeMessage, MessageKind};
use crate::discord::world::World;

/// How a message comes to the app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Rest,
    /// With the guild and the author's membership.
    Gateway,
}

impl World {
    pub fn message_json(
        &self,
        channel: &FakeChannel,
        message: &FakeMessage,
        way: Transport,
    ) -> Value {
        let mut shape = self.message_json_without_reference(channel, message, way);
        if let Some(reference) = message.reference {
            shape["message_reference"] = json!({
                "type": 0,
                "channel_id": reference.channel,
                "message_id": reference.message,
                "guild_id": channel.guild,
            });
            let place = self.channels.get(&reference.channel);
            let target =
                place.and_then(|place| Some((place, place.messages.get(&reference.message?)?)));
            if matches!(message.kind, MessageKind::Reply | MessageKind::ThreadStarter) {
                shape["referenced_message"] = target.map_or(Value::Null, |(place, target)| {
                    self.message_json_without_reference(place, target, Transport::Rest)
                });
            }
        }
        shape
    }

    /// Without the message that it answers.
    fn message_json_without_reference(
        &self,
        channel: &FakeChannel,
        message: &FakeMessage,
        way: Transport,
    ) -> Value {
        let mentions = message.mentions.iter();
        let mentions = mentions.filter_map(|user| self.mention_json(channel, *user, way));
        let mut shape = json!({
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
            "attachments": message.attachments,
            "embeds": message.embeds,
            "components": message.components,
            "flags": message.flags.bits(),
        });
        self.add_optional_fields(channel, message, &mut shape);
        if way == Transport::Gateway {
            shape["channel_type"] = json!(u8::from(channel.kind));
        }
        if let (Transport::Gateway, Some(guild)) = (way, channel.guild) {
            shape["guild_id"] = json!(guild);
            let author = message.author.user();
            if let Some(member) = author.and_then(|user| self.member(guild, user).ok()) {
                shape["member"] = member.partial_json();
            }
        }
        shape
    }

    /// What not every message has.
    fn add_optional_fields(&self, channel: &FakeChannel, message: &FakeMessage, shape: &mut Value) {
        if let FakeAuthor::Webhook { id, .. } = &message.author {
            shape["webhook_id"] = json!(id);
        }
        if !message.stickers.is_empty() {
            shape["sticker_items"] = json!(message.stickers);
        }
        if !message.reactions.is_empty() {
            shape["reactions"] = self.reactions_json(message);
        }
        if let Some(interaction) = &message.interaction {
            shape["interaction_metadata"] = interaction.clone();
            shape["application_id"] = json!(self.application());
        }
        // A thread that grew from a message has its number.
        if let Some(thread) = self.channels.get(&message.id.cast())
            && thread.parent == Some(channel.id)
        {
            shape["thread"] = self.channel_json(thread);
        }
        if channel.thread.is_some() {
            let earlier = channel.messages.range(..message.id).count();
            shape["position"] = json!(earlier);
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

    fn mention_json(&self, channel: &FakeChannel, user: UserId, way: Transport) -> Option<Value> {
        let mut shape = self.users.get(&user)?.to_json();
        if let (Transport::Gateway, Some(guild)) = (way, channel.guild)
            && let Ok(member) = self.member(guild, user)
        {
            shape["member"] = member.partial_json();
        }
        Some(shape)
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

/// Empties what an app without the intent for it may not read. It may always read its own words,
/// those said to it alone, and those that ping it.
pub fn redact_content(message: &mut Value, me: UserId, is_direct: bool) {
    let is_me = |user: &Value| user["id"] == json!(me);
    let is_own = is_me(&message["author"]);
    let is_ping = message["mentions"].as_array().is_some_and(|pinged| pinged.iter().any(is_me));
    if !is_own && !is_ping && !is_direct && message["content"].is_string() {
        message["content"] = json!("");
        for list in ["embeds", "attachments", "components"] {
            message[list] = json!([]);
        }
    }
    if let Some(target) = message.get_mut("referenced_message")
        && target.is_object()
    {
        redact_content(target, me, is_direct);
    }
}
