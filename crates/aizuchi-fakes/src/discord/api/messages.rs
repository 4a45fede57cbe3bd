//! What the app says, changes and takes back.

use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::{Value, json};
use twilight_model::channel::ChannelType;
use twilight_model::channel::message::{AllowedMentions, Embed, MentionType, MessageFlags};
use twilight_model::guild::Permissions;

use crate::discord::FakeDiscordSettings;
use crate::discord::api::ParsedRequest;
use crate::discord::api::body::ApiResponse;
use crate::discord::api::history::readable_message_json;
use crate::discord::api_error::{ApiError, ErrorCode};
use crate::discord::channel::FakeChannel;
use crate::discord::id::{ChannelId, MessageId, created_at};
use crate::discord::journal::RecordedPost;
use crate::discord::mention::allow_all_mentions;
use crate::discord::message::{
    EventDelivery, FakeAuthor, FakeMessage, MessageKind, MessageReference,
};
use crate::discord::message_actions::MessageKey;
use crate::discord::state::FakeDiscordState;
use crate::discord::world::World;

/// A message that the app writes.
#[derive(Deserialize)]
pub struct MessageBody {
    #[serde(default)]
    pub content: Option<String>,
    #[serde(default)]
    embeds: Option<Vec<Embed>>,
    #[serde(default)]
    components: Option<Vec<Value>>,
    #[serde(default)]
    sticker_ids: Option<Vec<Value>>,
    #[serde(default)]
    attachments: Option<Vec<Value>>,
    #[serde(default)]
    poll: Option<Value>,
    #[serde(default)]
    pub allowed_mentions: Option<AllowedMentions>,
    #[serde(default)]
    message_reference: Option<ReplyTarget>,
    #[serde(default)]
    nonce: Option<Value>,
    #[serde(default)]
    enforce_nonce: bool,
    #[serde(default)]
    flags: Option<u64>,
}

/// The message that it answers.
#[derive(Deserialize)]
struct ReplyTarget {
    message_id: MessageId,
    #[serde(default)]
    channel_id: Option<ChannelId>,
    #[serde(default = "default_true")]
    fail_if_not_exists: bool,
}

fn default_true() -> bool {
    true
}

impl MessageBody {
    /// Refuses what no message may be.
    pub fn validate(&self) -> Result<(), ApiError> {
        if let Some(content) = &self.content {
            twilight_validate::message::content(content).map_err(|_| {
                let message = "Must be 2000 or fewer in length.";
                ApiError::invalid_field("content", "BASE_TYPE_MAX_LENGTH", message)
            })?;
        }
        let embeds = self.embeds.as_deref().unwrap_or_default();
        twilight_validate::message::embeds(embeds).map_err(|error| {
            ApiError::invalid_field("embeds", "BASE_TYPE_BAD_LENGTH", &error.to_string())
        })?;
        self.allowed_mentions.as_ref().map_or(Ok(()), validate_allowed_mentions)?;
        match &self.nonce {
            Some(Value::String(nonce)) if nonce.chars().count() > 25 => {
                let message = "Must be 25 or fewer in length.";
                Err(ApiError::invalid_field("nonce", "BASE_TYPE_MAX_LENGTH", message))
            }
            None | Some(Value::String(_) | Value::Number(_) | Value::Null) => Ok(()),
            Some(_) => Err(ApiError::invalid_field("nonce", "NONCE_TYPE", "Invalid nonce.")),
        }
    }

    /// Nothing at all would be seen.
    pub fn is_empty(&self) -> bool {
        let is_there = |list: &Option<Vec<Value>>| list.as_ref().is_some_and(|one| !one.is_empty());
        let is_said = self.content.as_ref().is_some_and(|content| !content.trim().is_empty());
        let is_embedded = self.embeds.as_ref().is_some_and(|embeds| !embeds.is_empty());
        let is_attached = [&self.components, &self.sticker_ids, &self.attachments];
        let is_attached = is_attached.into_iter().any(is_there) || self.poll.is_some();
        !is_said && !is_embedded && !is_attached
    }

    pub fn effective_allowed_mentions(&self) -> AllowedMentions {
        self.allowed_mentions.clone().unwrap_or_else(allow_all_mentions)
    }

    pub fn to_message(&self, world: &World, channel: ChannelId, id: MessageId) -> FakeMessage {
        let text = self.content.as_deref().unwrap_or_default();
        let mut message = FakeMessage::new(id, FakeAuthor::User(world.bot_user), text);
        let embeds = self.embeds.iter().flatten().map(|embed| json!(embed));
        message.embeds = embeds.collect();
        message.components = self.components.clone().unwrap_or_default();
        message.nonce = self.nonce.clone().filter(|nonce| !nonce.is_null());
        message.flags = MessageFlags::from_bits_truncate(self.flags.unwrap_or(0));
        if let Some(target) = &self.message_reference {
            let known = world.message(channel, target.message_id).is_ok();
            if known {
                message.kind = MessageKind::Reply;
                message.reference =
                    Some(MessageReference { channel, message: Some(target.message_id) });
            }
        }
        world.set_mentions(channel, &mut message, &self.effective_allowed_mentions());
        message
    }

    fn validate_reply_target(&self, world: &World, channel: &FakeChannel) -> Result<(), ApiError> {
        let Some(target) = &self.message_reference else {
            return Ok(());
        };
        if !world.has_permissions(world.bot_user, channel, Permissions::READ_MESSAGE_HISTORY) {
            return Err(ErrorCode::ReplyWithoutHistory.into());
        }
        let refused = |code: &str, message: &str| {
            Err(ApiError::invalid_field("message_reference", code, message))
        };
        let elsewhere = target.channel_id.is_some_and(|other| other != channel.id);
        match channel.messages.get(&target.message_id) {
            Some(message) if message.kind.is_system() => refused(
                "REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE",
                "Cannot reply to a system message",
            ),
            Some(_) if !elsewhere => Ok(()),
            _ if target.fail_if_not_exists => refused("REPLIES_UNKNOWN_MESSAGE", "Unknown message"),
            _ => Ok(()),
        }
    }
}

/// One may name people or allow all of them, not both.
fn validate_allowed_mentions(allowed: &AllowedMentions) -> Result<(), ApiError> {
    let both = |sort, is_empty: bool| allowed.parse.contains(&sort) && !is_empty;
    for (name, is_both) in [
        ("users", both(MentionType::Users, allowed.users.is_empty())),
        ("roles", both(MentionType::Roles, allowed.roles.is_empty())),
    ] {
        if is_both {
            let message =
                format!("parse:[\"{name}\"] and {name}: [ids...] are mutually exclusive.");
            return Err(ApiError::invalid_field(
                "allowed_mentions",
                "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
                &message,
            ));
        }
    }
    Ok(())
}

/// Refuses where the app may not speak.
pub fn require_can_send(world: &World, id: ChannelId) -> Result<&FakeChannel, ApiError> {
    let channel = world.require_permissions(world.bot_user, id, Permissions::VIEW_CHANNEL)?;
    if !channel.is_text() {
        return Err(ErrorCode::NotATextChannel.into());
    }
    let needed = match &channel.thread {
        Some(thread) if thread.is_locked => return Err(ErrorCode::ThreadLocked.into()),
        Some(_) => Permissions::SEND_MESSAGES_IN_THREADS,
        None => Permissions::SEND_MESSAGES,
    };
    let recipient = channel.recipient.and_then(|user| world.users.get(&user));
    if recipient.is_some_and(|user| user.has_closed_direct_messages) {
        return Err(ErrorCode::CannotSendToUser.into());
    }
    world.require_permissions(world.bot_user, id, needed)
}

pub fn create(
    state: &mut FakeDiscordState,
    settings: &FakeDiscordSettings,
    asked: &ParsedRequest,
) -> Result<ApiResponse, ApiError> {
    let world = &mut state.world;
    let id: ChannelId = asked.path_id("channel")?;
    let written: MessageBody = asked.parse_body()?;
    let channel = require_can_send(world, id)?;
    written.validate()?;
    if written.is_empty() {
        return Err(ErrorCode::EmptyMessage.into());
    }
    written.validate_reply_target(world, channel)?;
    let nonce = written.nonce.as_ref().filter(|nonce| !nonce.is_null());
    if let Some(nonce) = nonce.filter(|_| written.enforce_nonce)
        && let Some(known) = world.nonces.find(nonce, world.now(), settings.nonce_ttl)
    {
        // Said already. If it is gone meanwhile, so is the answer.
        return message_response(world, known, nonce);
    }
    let new: MessageId = world.new_id();
    let message = written.to_message(world, id, new);
    if let Some(nonce) = nonce {
        let place = MessageKey { channel: id, message: new };
        let now = world.now();
        world.nonces.insert(nonce, place, now);
    }
    let (text, at) = (message.content.clone(), world.now());
    world.insert_message(id, message, EventDelivery::Delivered)?;
    let body = asked.body.clone();
    state.journal.posts.push(RecordedPost { channel: id, id: new, text, body, at });
    message_response(
        &state.world,
        MessageKey { channel: id, message: new },
        nonce.unwrap_or(&Value::Null),
    )
}

fn message_response(
    world: &World,
    place: MessageKey,
    nonce: &Value,
) -> Result<ApiResponse, ApiError> {
    let channel = world.channel(place.channel)?;
    let message = world.message(place.channel, place.message)?;
    let mut shape = readable_message_json(world, channel, message);
    if !nonce.is_null() {
        shape["nonce"] = nonce.clone();
    }
    Ok(ApiResponse::ok(shape))
}

/// The place of a request, if the app sees it.
pub fn request_message_key(world: &World, asked: &ParsedRequest) -> Result<MessageKey, ApiError> {
    let place =
        MessageKey { channel: asked.path_id("channel")?, message: asked.path_id("message")? };
    world.require_permissions(world.bot_user, place.channel, Permissions::VIEW_CHANNEL)?;
    world.message(place.channel, place.message)?;
    Ok(place)
}

pub fn update(world: &mut World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let place = request_message_key(world, asked)?;
    let written: MessageBody = asked.parse_body()?;
    written.validate()?;
    let channel = world.channel(place.channel)?;
    if channel.is_archived() {
        return Err(ErrorCode::ThreadArchived.into());
    }
    let message = world.message(place.channel, place.message)?;
    if !message.is_by(world.bot_user) {
        return Err(ErrorCode::NotTheAuthor.into());
    }
    let text = written.content.clone().unwrap_or_else(|| message.content.clone());
    if text.trim().is_empty() && message.embeds.is_empty() && written.is_empty() {
        return Err(ErrorCode::EmptyMessage.into());
    }
    world.edit_message(place, &text, &written.effective_allowed_mentions())?;
    let channel = world.channel(place.channel)?;
    Ok(ApiResponse::ok(readable_message_json(
        world,
        channel,
        world.message(place.channel, place.message)?,
    )))
}

pub fn delete(world: &mut World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let place = request_message_key(world, asked)?;
    let is_own = world.message(place.channel, place.message)?.is_by(world.bot_user);
    if !is_own {
        world.require_permissions(world.bot_user, place.channel, Permissions::MANAGE_MESSAGES)?;
    }
    if world.channel(place.channel)?.is_archived() {
        return Err(ErrorCode::ThreadArchived.into());
    }
    world.delete_message(place)?;
    Ok(ApiResponse::no_content())
}

pub fn bulk_delete(world: &mut World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    #[derive(Deserialize)]
    struct BulkDeleteBody {
        messages: Vec<MessageId>,
    }
    /// How old they may be.
    const MAX_AGE: SignedDuration = SignedDuration::from_hours(14 * 24);
    let id: ChannelId = asked.path_id("channel")?;
    let chosen: BulkDeleteBody = asked.parse_body()?;
    let channel = world.require_permissions(world.bot_user, id, Permissions::MANAGE_MESSAGES)?;
    if channel.kind == ChannelType::Private {
        return Err(ErrorCode::WrongChannelType.into());
    }
    if !(2..=100).contains(&chosen.messages.len()) {
        return Err(ErrorCode::InvalidMessageCount.into());
    }
    let now = world.now();
    if chosen.messages.iter().any(|one| now.duration_since(created_at(*one)) > MAX_AGE) {
        return Err(ErrorCode::TooOldToDelete.into());
    }
    world.bulk_delete_messages(id, &chosen.messages)?;
    Ok(ApiResponse::no_content())
}
