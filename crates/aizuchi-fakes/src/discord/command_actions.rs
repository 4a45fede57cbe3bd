//! Actions of users and the app on slash commands and interactions, and the resulting events.

use jiff::SignedDuration;
use serde_json::{Value, json};
use twilight_model::channel::message::MessageFlags;
use twilight_model::gateway::Intents;

use crate::discord::api_error::{ApiError, ApiResult, ErrorCode};
use crate::discord::command::{
    Interaction, InteractionResponse, InteractionStatus, NewInteraction,
};
use crate::discord::id::{ChannelId, CommandId, GuildId, InteractionId, MessageId, UserId};
use crate::discord::mention::allow_all_mentions;
use crate::discord::message::{EventDelivery, FakeAuthor, FakeMessage, MessageKind};
use crate::discord::serialize::Transport;
use crate::discord::world::World;

/// How long an interaction waits for its first response.
const ACK_DEADLINE: SignedDuration = SignedDuration::from_secs(3);
/// The limits of a form's title and labels, and of a field, in UTF-16 code units.
const MAX_TITLE: usize = 45;
const MAX_FIELD: usize = 4_000;

impl World {
    /// Registers a command, replacing one with the same name.
    pub fn register_command(&mut self, guild: Option<GuildId>, command: &Value) -> Value {
        let id: CommandId = self.new_id();
        let version: CommandId = self.new_id();
        let mut object = json!({
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
            object[name] = value.clone();
        }
        if let Some(guild) = guild {
            object["guild_id"] = json!(guild);
        }
        let list = self.commands.registered.entry(guild).or_default();
        if let Some(old) = list.iter_mut().find(|old| old["name"] == object["name"]) {
            object["id"] = old["id"].clone();
            *old = object.clone();
        } else {
            list.push(object.clone());
        }
        object
    }

    /// Starts an interaction and emits its event.
    pub fn interact(&mut self, new: NewInteraction) -> ApiResult<InteractionId> {
        let id: InteractionId = self.id_at(new.at);
        let channel = self.channel(new.channel)?;
        let command = self.commands.find(channel.guild, &new.name);
        let command = command.filter(|command| has_chosen_subcommand(command, &new.options));
        let command = command.ok_or(ErrorCode::UnknownCommand)?["id"].clone();
        let data = json!({
            "id": command,
            "name": new.name,
            "type": 1,
            "options": new.options,
        });
        self.begin_interaction(id, new, data, &Value::Null)
    }

    /// Clicks the button with this label below a message, as a user.
    pub fn click(
        &mut self,
        channel: ChannelId,
        message: MessageId,
        user: UserId,
        label: &str,
    ) -> ApiResult<InteractionId> {
        let message = self.message(channel, message)?;
        let rows = message.components.iter();
        let mut buttons = rows.flat_map(|row| row["components"].as_array().into_iter().flatten());
        let button = buttons.find(|it| it["label"] == label && it["disabled"] != true);
        let data = json!({
            "custom_id": button.ok_or(ErrorCode::UnknownInteraction)?["custom_id"],
            "component_type": 2,
        });
        let message = self.message_json(self.channel(channel)?, message, Transport::Gateway);
        let (id, name) = (self.new_id(), label.to_owned());
        let new = NewInteraction { channel, user, kind: 3, name, options: Value::Null, at: None };
        self.begin_interaction(id, new, data, &message)
    }

    /// Submits the form that a user got for a click, with this text in its field.
    pub fn submit_form(&mut self, clicked: InteractionId, text: &str) -> ApiResult<InteractionId> {
        let interaction = self.commands.interactions.get(&clicked);
        let interaction = interaction.ok_or(ErrorCode::UnknownInteraction)?;
        let form = interaction.form.as_ref().ok_or(ErrorCode::UnknownInteraction)?;
        let (channel, user) = (interaction.channel, interaction.user);
        let data = filled_form(form, text)?;
        let id = self.new_id();
        let name = data["custom_id"].as_str().unwrap_or_default().to_owned();
        let new = NewInteraction { channel, user, kind: 5, name, options: Value::Null, at: None };
        self.begin_interaction(id, new, data, &Value::Null)
    }

    fn begin_interaction(
        &mut self,
        id: InteractionId,
        new: NewInteraction,
        data: Value,
        message: &Value,
    ) -> ApiResult<InteractionId> {
        let token = format!("dev-interaction-{id}");
        let mut event = self.interaction_json(id, &token, &new, data)?;
        if !message.is_null() {
            event["message"] = message.clone();
        }
        let interaction = Interaction {
            id,
            token,
            kind: new.kind,
            name: new.name,
            channel: new.channel,
            user: new.user,
            created_at: new.at.unwrap_or(self.now()),
            status: InteractionStatus::Pending,
            responses: Vec::new(),
            choices: None,
            form: None,
        };
        self.commands.interactions.insert(id, interaction);
        self.emit("INTERACTION_CREATE", Intents::empty(), event);
        Ok(id)
    }

    fn interaction_json(
        &self,
        id: InteractionId,
        token: &str,
        new: &NewInteraction,
        data: Value,
    ) -> ApiResult<Value> {
        let channel = self.channel(new.channel)?;
        let mut channel_object = self.channel_json(channel);
        channel_object["permissions"] = json!(self.permissions(new.user, channel));
        let mut object = json!({
            "id": id,
            "application_id": self.application(),
            "type": new.kind,
            "data": data,
            "channel": channel_object,
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
            object["user"] = self.user(new.user)?.to_json();
            object["context"] = json!(1);
            object["authorizing_integration_owners"] = json!({ "0": "0" });
            return Ok(object);
        };
        let mut member = self.member_json(guild, new.user)?;
        member["permissions"] = json!(self.interaction_permissions(new.user, guild, channel));
        object["member"] = member;
        object["guild_id"] = json!(guild);
        object["guild"] = json!({ "id": guild, "locale": "en-US", "features": [] });
        object["guild_locale"] = json!("en-US");
        object["context"] = json!(0);
        object["authorizing_integration_owners"] = json!({ "0": guild });
        Ok(object)
    }

    /// Takes the app's first response, which has a deadline.
    pub fn acknowledge(
        &mut self,
        id: InteractionId,
        token: &str,
        kind: u64,
        data: &Value,
    ) -> ApiResult {
        let now = self.now();
        let existing = self.commands.interactions.get_mut(&id);
        let interaction = existing.filter(|interaction| interaction.token == token);
        let interaction = interaction.ok_or(ErrorCode::UnknownInteraction)?;
        if interaction.status != InteractionStatus::Pending {
            return Err(ErrorCode::AlreadyAcknowledged.into());
        }
        if now.duration_since(interaction.created_at) > ACK_DEADLINE {
            return Err(ErrorCode::UnknownInteraction.into());
        }
        let flags = message_flags(data);
        match kind {
            // 4 is a message, 5 a deferred one, 6 a deferred update, 7 an update, 8 choices, 9 a form.
            4 => {
                interaction.status = InteractionStatus::Responded;
                let interaction = interaction.clone();
                self.respond(&interaction, flags, data)?;
            }
            5 => interaction.status = InteractionStatus::Deferred(flags),
            6 | 7 => interaction.status = InteractionStatus::Responded,
            // A form is not a valid response to a form.
            9 if interaction.kind != 5 => {
                validate_form(data)?;
                interaction.status = InteractionStatus::Responded;
                interaction.form = Some(data.clone());
            }
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

    /// Posts a response to an interaction: to the channel, or as an ephemeral message.
    pub fn respond(
        &mut self,
        interaction: &Interaction,
        flags: MessageFlags,
        body: &Value,
    ) -> ApiResult<MessageId> {
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
        let response = InteractionResponse { message: message.clone(), is_ephemeral };
        if let Some(interaction) = self.commands.interactions.get_mut(&interaction.id) {
            interaction.responses.push(response);
            interaction.status = InteractionStatus::Responded;
        }
        match is_ephemeral {
            true => self.emit_ephemeral(interaction.channel, &message)?,
            false => self.insert_message(interaction.channel, message, EventDelivery::Delivered)?,
        }
        Ok(id)
    }

    /// Emits the event for an ephemeral message, which the app gets, too, in the form of a direct message (issue 4557
    /// of discord/discord-api-docs).
    fn emit_ephemeral(&mut self, channel: ChannelId, message: &FakeMessage) -> ApiResult {
        let mut object = self.message_json(self.channel(channel)?, message, Transport::Gateway);
        if let Some(object) = object.as_object_mut() {
            object.retain(|key, _| key != "guild_id" && key != "member");
        }
        self.emit("MESSAGE_CREATE", Intents::DIRECT_MESSAGES, object);
        Ok(())
    }

    /// Edits a response to an interaction.
    pub fn edit_response(
        &mut self,
        interaction: &Interaction,
        id: MessageId,
        text: &str,
    ) -> ApiResult {
        let now = self.now();
        let existing = self.commands.interactions.get_mut(&interaction.id);
        let responses = existing
            .map(|interaction| &mut interaction.responses)
            .ok_or(ErrorCode::UnknownWebhook)?;
        let response = responses.iter_mut().find(|response| response.message.id == id);
        let response = response.ok_or(ErrorCode::UnknownMessage)?;
        text.clone_into(&mut response.message.content);
        response.message.edited = Some(now);
        if !response.is_ephemeral {
            self.edit_message(interaction.channel, id, text, &allow_all_mentions())?;
        }
        Ok(())
    }

    /// Deletes a response to an interaction.
    pub fn delete_response(&mut self, interaction: &Interaction, id: MessageId) -> ApiResult {
        let existing = self.commands.interactions.get_mut(&interaction.id);
        let responses = existing
            .map(|interaction| &mut interaction.responses)
            .ok_or(ErrorCode::UnknownWebhook)?;
        let index = responses.iter().position(|response| response.message.id == id);
        let response = responses.remove(index.ok_or(ErrorCode::UnknownMessage)?);
        if !response.is_ephemeral {
            self.delete_message(interaction.channel, id)?;
        }
        Ok(())
    }
}

/// Returns the field of a form: the only component of its only row.
fn form_field(form: &Value) -> Option<&Value> {
    let rows = form["components"].as_array()?;
    let [row] = rows.as_slice() else { return None };
    let fields = row["components"].as_array().filter(|_| row["type"] == 1)?;
    let [field] = fields.as_slice() else { return None };
    (field["type"] == 4).then_some(field)
}

/// Returns the maximum length of a field.
fn max_length(field: &Value) -> usize {
    let chosen = field["max_length"].as_u64().and_then(|length| usize::try_from(length).ok());
    chosen.unwrap_or(MAX_FIELD)
}

fn validate_form(form: &Value) -> ApiResult {
    let length = |text: &Value| text.as_str().map_or(0, |text| text.encode_utf16().count());
    let wrong = |field| {
        ApiError::invalid_field(field, "BASE_TYPE_BAD_LENGTH", "Must be of the right length.")
    };
    if !(1..=100).contains(&length(&form["custom_id"])) {
        return Err(wrong("custom_id"));
    }
    if !(1..=MAX_TITLE).contains(&length(&form["title"])) {
        return Err(wrong("title"));
    }
    let field = form_field(form).ok_or_else(|| wrong("components"))?;
    let is_right = (1..=100).contains(&length(&field["custom_id"]))
        && (1..=MAX_TITLE).contains(&length(&field["label"]))
        && matches!(field["style"].as_u64(), Some(1 | 2))
        && (1..=MAX_FIELD).contains(&max_length(field))
        && length(&field["value"]) <= max_length(field);
    if is_right { Ok(()) } else { Err(wrong("components")) }
}

/// Returns the payload of a form that was submitted with this text in its field.
fn filled_form(form: &Value, text: &str) -> ApiResult<Value> {
    let field = form_field(form).ok_or(ErrorCode::InvalidBody)?;
    if text.encode_utf16().count() > max_length(field) {
        return Err(ErrorCode::InvalidBody.into());
    }
    let filled = json!({ "type": 4, "id": 2, "custom_id": field["custom_id"], "value": text });
    Ok(json!({
        "custom_id": form["custom_id"],
        "components": [{ "type": 1, "id": 1, "components": [filled] }],
    }))
}

/// Whether the options name a subcommand, if the command has any.
fn has_chosen_subcommand(command: &Value, options: &Value) -> bool {
    let options_of_command = command["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut subcommands = options_of_command
        .iter()
        .filter(|option| matches!(option["type"].as_u64(), Some(1 | 2)))
        .peekable();
    subcommands.peek().is_none() || subcommands.any(|option| option["name"] == options[0]["name"])
}

pub fn message_flags(body: &Value) -> MessageFlags {
    MessageFlags::from_bits_truncate(body["flags"].as_u64().unwrap_or(0))
}
