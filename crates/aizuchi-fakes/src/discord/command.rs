//! Slash commands: those that the app has, their use by people, and the app's answers.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};
use twilight_model::channel::message::MessageFlags;
use twilight_model::gateway::Intents;

use crate::discord::api_error::{ApiError, ErrorCode};
use crate::discord::id::{ChannelId, CommandId, GuildId, InteractionId, MessageId, UserId};
use crate::discord::message::{EventDelivery, FakeAuthor, FakeMessage, MessageKind};
use crate::discord::message_actions::MessageKey;
use crate::discord::serialize::Transport;
use crate::discord::world::World;

/// How long an interaction waits for its first answer.
const ACK_DEADLINE: SignedDuration = SignedDuration::from_secs(3);
/// How long an app may speak about it after that.
const INTERACTION_TOKEN_TTL: SignedDuration = SignedDuration::from_mins(15);

#[derive(Default)]
pub struct CommandRegistry {
    /// By the guild that they are for; without one, they are for all.
    pub registered: BTreeMap<Option<GuildId>, Vec<Value>>,
    pub interactions: BTreeMap<InteractionId, Interaction>,
}

/// Somebody used a command or a button.
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
    /// What the app has said about it, oldest first; the first is the original.
    pub responses: Vec<InteractionResponse>,
    /// What an autocompletion offers.
    pub choices: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InteractionStatus {
    Pending,
    /// The person sees that the app thinks; what comes will be as hidden as this.
    Deferred(MessageFlags),
    Responded,
}

#[derive(Clone, Debug)]
pub struct InteractionResponse {
    pub message: FakeMessage,
    /// Only the person sees it.
    pub is_ephemeral: bool,
}

/// How somebody uses the app.
#[derive(Clone, Debug, Deserialize)]
pub struct NewInteraction {
    pub channel: ChannelId,
    pub user: UserId,
    /// As Discord counts: 2 a command, 3 a button, 4 while typing, 5 a filled form.
    #[serde(default = "default_interaction_kind")]
    pub kind: u8,
    pub name: String,
    #[serde(default)]
    pub options: Value,
    /// When that was, if not now.
    #[serde(default)]
    pub at: Option<Timestamp>,
}

fn default_interaction_kind() -> u8 {
    2
}

impl CommandRegistry {
    /// A registered command, those of the guild first.
    pub fn find(&self, guild: Option<GuildId>, name: &str) -> Option<&Value> {
        let places = [guild, None];
        let mut lists = places.iter().filter_map(|place| self.registered.get(place));
        lists.find_map(|list| list.iter().find(|command| command["name"] == name))
    }

    /// The interaction that a token speaks about.
    pub fn by_token(&mut self, token: &str, now: Timestamp) -> Result<&mut Interaction, ApiError> {
        let found = self.interactions.values_mut().find(|one| one.token == token);
        let is_alive =
            |one: &&mut Interaction| now.duration_since(one.created_at) <= INTERACTION_TOKEN_TTL;
        found.filter(is_alive).ok_or(ErrorCode::UnknownWebhook.into())
    }
}

impl World {
    /// Registers a command, in the place of one with the same name.
    pub fn register_command(&mut self, guild: Option<GuildId>, command: &Value) -> Value {
        let id: CommandId = self.new_id();
        let version: CommandId = self.new_id();
        let mut shape = json!({
            "id": id,
            "application_id": self.application(),
            "version": version,
            "type": 1,
            "name": "",
            "name_localizations": null,
            "description": "",
            "description_localizations": null,
            "default_member_permissions": null,
            "dm_permission": true,
            "contexts": null,
            "integration_types": [0],
            "nsfw": false,
        });
        for (name, value) in command.as_object().into_iter().flatten() {
            shape[name] = value.clone();
        }
        if let Some(guild) = guild {
            shape["guild_id"] = json!(guild);
        }
        let list = self.commands.registered.entry(guild).or_default();
        if let Some(old) = list.iter_mut().find(|old| old["name"] == shape["name"]) {
            shape["id"] = old["id"].clone();
            *old = shape.clone();
        } else {
            list.push(shape.clone());
        }
        shape
    }

    /// Somebody uses the app, and the app hears of it.
    pub fn interact(&mut self, using: NewInteraction) -> Result<InteractionId, ApiError> {
        let id: InteractionId = self.id_at(using.at);
        let channel = self.channel(using.channel)?;
        let command = self.commands.find(channel.guild, &using.name);
        let command = command.filter(|command| has_chosen_subcommand(command, &using.options));
        let command = command.ok_or(ErrorCode::UnknownCommand)?["id"].clone();
        let token = format!("dev-interaction-{id}");
        let data = self.interaction_json(id, &token, &using, &command)?;
        let interaction = Interaction {
            id,
            token,
            kind: using.kind,
            name: using.name,
            channel: using.channel,
            user: using.user,
            created_at: using.at.unwrap_or(self.now()),
            status: InteractionStatus::Pending,
            responses: Vec::new(),
            choices: None,
        };
        self.commands.interactions.insert(id, interaction);
        self.emit("INTERACTION_CREATE", Intents::empty(), data);
        Ok(id)
    }

    fn interaction_json(
        &self,
        id: InteractionId,
        token: &str,
        using: &NewInteraction,
        command: &Value,
    ) -> Result<Value, ApiError> {
        let channel = self.channel(using.channel)?;
        let mut place = self.channel_json(channel);
        place["permissions"] = json!(self.permissions(using.user, channel));
        let mut shape = json!({
            "id": id,
            "application_id": self.application(),
            "type": using.kind,
            "data": {
                "id": command,
                "name": using.name,
                "type": 1,
                "options": using.options,
            },
            "channel": place,
            "channel_id": channel.id,
            "token": token,
            "version": 1,
            "app_permissions": self.permissions(self.bot_user, channel),
            "locale": "en-US",
            "entitlements": [],
            "entitlement_sku_ids": [],
            "attachment_size_limit": 10_485_760,
        });
        let Some(guild) = channel.guild else {
            shape["user"] = self.user(using.user)?.to_json();
            shape["context"] = json!(1);
            shape["authorizing_integration_owners"] = json!({ "0": "0" });
            return Ok(shape);
        };
        let mut member = self.member_json(guild, using.user)?;
        member["permissions"] = json!(self.interaction_permissions(using.user, guild, channel));
        shape["member"] = member;
        shape["guild_id"] = json!(guild);
        shape["guild"] = json!({ "id": guild, "locale": "en-US", "features": [] });
        shape["guild_locale"] = json!("en-US");
        shape["context"] = json!(0);
        shape["authorizing_integration_owners"] = json!({ "0": guild });
        Ok(shape)
    }

    /// The app's first answer, which has to come soon.
    pub fn acknowledge(
        &mut self,
        id: InteractionId,
        token: &str,
        kind: u64,
        data: &Value,
    ) -> Result<(), ApiError> {
        let now = self.now();
        let known = self.commands.interactions.get_mut(&id);
        let interaction = known.filter(|one| one.token == token);
        let interaction = interaction.ok_or(ErrorCode::UnknownInteraction)?;
        if interaction.status != InteractionStatus::Pending {
            return Err(ErrorCode::AlreadyAcknowledged.into());
        }
        if now.duration_since(interaction.created_at) > ACK_DEADLINE {
            return Err(ErrorCode::UnknownInteraction.into());
        }
        let flags = message_flags(data);
        match kind {
            // A message; a thought; nothing to be seen; a changed message; choices; a form.
            4 => {
                interaction.status = InteractionStatus::Responded;
                let interaction = interaction.clone();
                self.respond(&interaction, flags, data)?;
            }
            5 => interaction.status = InteractionStatus::Deferred(flags),
            6 | 7 | 9 => interaction.status = InteractionStatus::Responded,
            8 => {
                interaction.status = InteractionStatus::Responded;
                interaction.choices = Some(data["choices"].clone());
            }
            _ => {
                let message = "Value must be one of (1, 4, 5, 6, 7, 8, 9).";
                return Err(ApiError::invalid_field("type", "BASE_TYPE_CHOICES", message));
            }
        }
        Ok(())
    }

    /// Says something about an interaction: to everybody, or to the person alone.
    pub fn respond(
        &mut self,
        interaction: &Interaction,
        flags: MessageFlags,
        body: &Value,
    ) -> Result<MessageId, ApiError> {
        let id = self.new_id();
        let text = body["content"].as_str().unwrap_or_default();
        let mut message = FakeMessage::new(id, FakeAuthor::User(self.bot_user), text);
        message.kind = MessageKind::Command;
        message.flags = flags;
        message.embeds = body["embeds"].as_array().cloned().unwrap_or_default();
        message.components = body["components"].as_array().cloned().unwrap_or_default();
        message.interaction = Some(json!({
            "id": interaction.id,
            "type": interaction.kind,
            "name": interaction.name,
            "user": self.user(interaction.user)?.to_json(),
            "authorizing_integration_owners": {},
        }));
        let is_ephemeral = flags.contains(MessageFlags::EPHEMERAL);
        let answer = InteractionResponse { message: message.clone(), is_ephemeral };
        if let Some(interaction) = self.commands.interactions.get_mut(&interaction.id) {
            interaction.responses.push(answer);
            interaction.status = InteractionStatus::Responded;
        }
        match is_ephemeral {
            true => self.emit_ephemeral(interaction.channel, &message)?,
            false => self.insert_message(interaction.channel, message, EventDelivery::Delivered)?,
        }
        Ok(id)
    }

    /// The app is told of what only one person sees, too: as if it were a direct message
    /// (discord-api-docs 4557).
    fn emit_ephemeral(
        &mut self,
        channel: ChannelId,
        message: &FakeMessage,
    ) -> Result<(), ApiError> {
        let mut shape = self.message_json(self.channel(channel)?, message, Transport::Gateway);
        if let Some(shape) = shape.as_object_mut() {
            shape.retain(|key, _| key != "guild_id" && key != "member");
        }
        self.emit("MESSAGE_CREATE", Intents::DIRECT_MESSAGES, shape);
        Ok(())
    }

    /// Changes what was said about an interaction.
    pub fn edit_response(
        &mut self,
        interaction: &Interaction,
        id: MessageId,
        text: &str,
    ) -> Result<(), ApiError> {
        let now = self.now();
        let known = self.commands.interactions.get_mut(&interaction.id);
        let answers = known.map(|one| &mut one.responses).ok_or(ErrorCode::UnknownWebhook)?;
        let answer = answers.iter_mut().find(|answer| answer.message.id == id);
        let answer = answer.ok_or(ErrorCode::UnknownMessage)?;
        text.clone_into(&mut answer.message.content);
        answer.message.edited = Some(now);
        if !answer.is_ephemeral {
            let place = MessageKey { channel: interaction.channel, message: id };
            self.edit_message(place, text, &crate::discord::mention::allow_all_mentions())?;
        }
        Ok(())
    }

    /// Takes back what was said about an interaction.
    pub fn delete_response(
        &mut self,
        interaction: &Interaction,
        id: MessageId,
    ) -> Result<(), ApiError> {
        let known = self.commands.interactions.get_mut(&interaction.id);
        let answers = known.map(|one| &mut one.responses).ok_or(ErrorCode::UnknownWebhook)?;
        let place = answers.iter().position(|answer| answer.message.id == id);
        let answer = answers.remove(place.ok_or(ErrorCode::UnknownMessage)?);
        if !answer.is_ephemeral {
            self.delete_message(MessageKey { channel: interaction.channel, message: id })?;
        }
        Ok(())
    }
}

/// Where there are subcommands, people choose one of them.
fn has_chosen_subcommand(command: &Value, options: &Value) -> bool {
    let known = command["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut subcommands =
        known.iter().filter(|one| matches!(one["type"].as_u64(), Some(1 | 2))).peekable();
    subcommands.peek().is_none() || subcommands.any(|one| one["name"] == options[0]["name"])
}

pub fn message_flags(body: &Value) -> MessageFlags {
    MessageFlags::from_bits_truncate(body["flags"].as_u64().unwrap_or(0))
}
