//! Slash commands: those that the app has, their use by people, and the app's answers.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};
use twilight_model::channel::message::MessageFlags;
use twilight_model::gateway::Intents;

use crate::discord::id::{ChannelId, CommandId, GuildId, InteractionId, MessageId, UserId};
use crate::discord::message::{Author, Kind, Message, Telling};
use crate::discord::refusal::{Reason, Refusal};
use crate::discord::shape::Way;
use crate::discord::talk::Place;
use crate::discord::world::World;

/// How long an interaction waits for its first answer.
const PROMPT: SignedDuration = SignedDuration::from_secs(3);
/// How long an app may speak about it after that.
const TOKEN_LIFE: SignedDuration = SignedDuration::from_mins(15);

#[derive(Default)]
pub struct Commands {
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
    pub made_at: Timestamp,
    pub standing: Standing,
    /// What the app has said about it, oldest first; the first is the original.
    pub answers: Vec<Answer>,
    /// What an autocompletion offers.
    pub choices: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Unanswered,
    /// The person sees that the app thinks; what comes will be as hidden as this.
    Deferred(MessageFlags),
    Answered,
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub message: Message,
    /// Only the person sees it.
    pub is_ephemeral: bool,
}

/// How somebody uses the app.
#[derive(Clone, Debug, Deserialize)]
pub struct Use {
    pub channel: ChannelId,
    pub user: UserId,
    /// As Discord counts: 2 a command, 3 a button, 4 while typing, 5 a filled form.
    #[serde(default = "a_command")]
    pub kind: u8,
    pub name: String,
    #[serde(default)]
    pub options: Value,
    /// When that was, if not now.
    #[serde(default)]
    pub at: Option<Timestamp>,
}

fn a_command() -> u8 {
    2
}

impl Commands {
    /// A registered command, those of the guild first.
    pub fn find(&self, guild: Option<GuildId>, name: &str) -> Option<&Value> {
        let places = [guild, None];
        let mut lists = places.iter().filter_map(|place| self.registered.get(place));
        lists.find_map(|list| list.iter().find(|command| command["name"] == name))
    }

    /// The interaction that a token speaks about.
    pub fn of_token(&mut self, token: &str, now: Timestamp) -> Result<&mut Interaction, Refusal> {
        let found = self.interactions.values_mut().find(|one| one.token == token);
        let is_alive = |one: &&mut Interaction| now.duration_since(one.made_at) <= TOKEN_LIFE;
        found.filter(is_alive).ok_or(Reason::UnknownWebhook.into())
    }
}

impl World {
    /// Registers a command, in the place of one with the same name.
    pub fn register(&mut self, guild: Option<GuildId>, command: &Value) -> Value {
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
    pub fn use_app(&mut self, using: Use) -> Result<InteractionId, Refusal> {
        let id: InteractionId = self.id_of(using.at);
        let channel = self.channel(using.channel)?;
        let command = self.commands.find(channel.guild, &using.name);
        let command = command.filter(|command| is_whole(command, &using.options));
        let command = command.ok_or(Reason::UnknownCommand)?["id"].clone();
        let token = format!("dev-interaction-{id}");
        let data = self.interaction_shape(id, &token, &using, &command)?;
        let interaction = Interaction {
            id,
            token,
            kind: using.kind,
            name: using.name,
            channel: using.channel,
            user: using.user,
            made_at: using.at.unwrap_or(self.now()),
            standing: Standing::Unanswered,
            answers: Vec::new(),
            choices: None,
        };
        self.commands.interactions.insert(id, interaction);
        self.tell("INTERACTION_CREATE", Intents::empty(), data);
        Ok(id)
    }

    fn interaction_shape(
        &self,
        id: InteractionId,
        token: &str,
        using: &Use,
        command: &Value,
    ) -> Result<Value, Refusal> {
        let channel = self.channel(using.channel)?;
        let mut place = self.channel_shape(channel);
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
            "app_permissions": self.permissions(self.me, channel),
            "locale": "en-US",
            "entitlements": [],
            "entitlement_sku_ids": [],
            "attachment_size_limit": 10_485_760,
        });
        let Some(guild) = channel.guild else {
            shape["user"] = self.user(using.user)?.shape();
            shape["context"] = json!(1);
            shape["authorizing_integration_owners"] = json!({ "0": "0" });
            return Ok(shape);
        };
        let mut member = self.member_shape(guild, using.user)?;
        member["permissions"] = json!(self.told_permissions(using.user, guild, channel));
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
    ) -> Result<(), Refusal> {
        let now = self.now();
        let known = self.commands.interactions.get_mut(&id);
        let interaction = known.filter(|one| one.token == token);
        let interaction = interaction.ok_or(Reason::UnknownInteraction)?;
        if interaction.standing != Standing::Unanswered {
            return Err(Reason::Acknowledged.into());
        }
        if now.duration_since(interaction.made_at) > PROMPT {
            return Err(Reason::UnknownInteraction.into());
        }
        let flags = flags_of(data);
        match kind {
            // A message; a thought; nothing to be seen; a changed message; choices; a form.
            4 => {
                interaction.standing = Standing::Answered;
                let interaction = interaction.clone();
                self.answer(&interaction, flags, data)?;
            }
            5 => interaction.standing = Standing::Deferred(flags),
            6 | 7 | 9 => interaction.standing = Standing::Answered,
            8 => {
                interaction.standing = Standing::Answered;
                interaction.choices = Some(data["choices"].clone());
            }
            _ => {
                let message = "Value must be one of (1, 4, 5, 6, 7, 8, 9).";
                return Err(Refusal::of_field("type", "BASE_TYPE_CHOICES", message));
            }
        }
        Ok(())
    }

    /// Says something about an interaction: to everybody, or to the person alone.
    pub fn answer(
        &mut self,
        interaction: &Interaction,
        flags: MessageFlags,
        body: &Value,
    ) -> Result<MessageId, Refusal> {
        let id = self.new_id();
        let text = body["content"].as_str().unwrap_or_default();
        let mut message = Message::new(id, Author::User(self.me), text);
        message.kind = Kind::Command;
        message.flags = flags;
        message.embeds = body["embeds"].as_array().cloned().unwrap_or_default();
        message.components = body["components"].as_array().cloned().unwrap_or_default();
        message.interaction = Some(json!({
            "id": interaction.id,
            "type": interaction.kind,
            "name": interaction.name,
            "user": self.user(interaction.user)?.shape(),
            "authorizing_integration_owners": {},
        }));
        let is_ephemeral = flags.contains(MessageFlags::EPHEMERAL);
        let answer = Answer { message: message.clone(), is_ephemeral };
        if let Some(interaction) = self.commands.interactions.get_mut(&interaction.id) {
            interaction.answers.push(answer);
            interaction.standing = Standing::Answered;
        }
        match is_ephemeral {
            true => self.tell_of_hidden(interaction.channel, &message)?,
            false => self.put(interaction.channel, message, Telling::Told)?,
        }
        Ok(id)
    }

    /// The app is told of what only one person sees, too: as if it were a direct message
    /// (discord-api-docs 4557).
    fn tell_of_hidden(&mut self, channel: ChannelId, message: &Message) -> Result<(), Refusal> {
        let mut shape = self.message_shape(self.channel(channel)?, message, Way::Gateway);
        if let Some(shape) = shape.as_object_mut() {
            shape.retain(|key, _| key != "guild_id" && key != "member");
        }
        self.tell("MESSAGE_CREATE", Intents::DIRECT_MESSAGES, shape);
        Ok(())
    }

    /// Changes what was said about an interaction.
    pub fn change_answer(
        &mut self,
        interaction: &Interaction,
        id: MessageId,
        text: &str,
    ) -> Result<(), Refusal> {
        let now = self.now();
        let known = self.commands.interactions.get_mut(&interaction.id);
        let answers = known.map(|one| &mut one.answers).ok_or(Reason::UnknownWebhook)?;
        let answer = answers.iter_mut().find(|answer| answer.message.id == id);
        let answer = answer.ok_or(Reason::UnknownMessage)?;
        text.clone_into(&mut answer.message.content);
        answer.message.edited = Some(now);
        if !answer.is_ephemeral {
            let place = Place { channel: interaction.channel, message: id };
            self.edit(place, text, &crate::discord::mention::everything())?;
        }
        Ok(())
    }

    /// Takes back what was said about an interaction.
    pub fn withdraw_answer(
        &mut self,
        interaction: &Interaction,
        id: MessageId,
    ) -> Result<(), Refusal> {
        let known = self.commands.interactions.get_mut(&interaction.id);
        let answers = known.map(|one| &mut one.answers).ok_or(Reason::UnknownWebhook)?;
        let place = answers.iter().position(|answer| answer.message.id == id);
        let answer = answers.remove(place.ok_or(Reason::UnknownMessage)?);
        if !answer.is_ephemeral {
            self.delete(Place { channel: interaction.channel, message: id })?;
        }
        Ok(())
    }
}

/// Where there are subcommands, people choose one of them.
fn is_whole(command: &Value, options: &Value) -> bool {
    let known = command["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut subcommands =
        known.iter().filter(|one| matches!(one["type"].as_u64(), Some(1 | 2))).peekable();
    subcommands.peek().is_none() || subcommands.any(|one| one["name"] == options[0]["name"])
}

pub fn flags_of(body: &Value) -> MessageFlags {
    MessageFlags::from_bits_truncate(body["flags"].as_u64().unwrap_or(0))
}
