//! Requests that post, edit and delete messages.

use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::{Value, json};
use twilight_model::channel::ChannelType;
use twilight_model::channel::message::{AllowedMentions, Embed, MentionType, MessageFlags};
use twilight_model::guild::Permissions;

use crate::discord::api::history::readable_message_json;
use crate::discord::api::response::ApiResponse;
use crate::discord::api_error::{ApiError, ApiResult, ErrorCode};
use crate::discord::channel::FakeChannel;
use crate::discord::id::{ChannelId, MessageId, created_at};
use crate::discord::journal::RecordedPost;
use crate::discord::mention::allow_all_mentions;
use crate::discord::message::{
    EventDelivery, FakeAuthor, FakeMessage, MessageKind, MessageReference,
};
use crate::discord::request::ParsedRequest;
use crate::discord::state::FakeDiscordState;
use crate::discord::world::World;

/// The body of a post or an edit.
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

/// The message that a post replies to.
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
    /// Rejects values that Discord does not allow in any message.
    pub fn validate(&self) -> ApiResult {
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

    /// Whether the message would be blank.
    pub fn is_empty(&self) -> bool {
        let is_filled =
            |list: &Option<Vec<Value>>| list.as_ref().is_some_and(|list| !list.is_empty());
        let has_text = self.content.as_ref().is_some_and(|content| !content.trim().is_empty());
        let has_embeds = self.embeds.as_ref().is_some_and(|embeds| !embeds.is_empty());
        let lists = [&self.components, &self.sticker_ids, &self.attachments];
        let has_parts = lists.into_iter().any(is_filled) || self.poll.is_some();
        !has_text && !has_embeds && !has_parts
    }

    pub fn effective_allowed_mentions(&self) -> AllowedMentions {
        self.allowed_mentions.clone().unwrap_or_else(allow_all_mentions)
    }

    pub fn to_message(&self, world: &World, channel: ChannelId, id: MessageId) -> FakeMessage {
        // Discord removes the whitespace around a content.
        let text = self.content.as_deref().unwrap_or_default().trim();
        let mut message = FakeMessage::new(id, FakeAuthor::User(world.bot_user), text);
        let embeds = self.embeds.iter().flatten().map(|embed| json!(embed));
        message.embeds = embeds.collect();
        message.components = self.components.clone().unwrap_or_default();
        message.nonce = self.nonce.clone().filter(|nonce| !nonce.is_null());
        message.flags = MessageFlags::from_bits_truncate(self.flags.unwrap_or(0));
        if let Some(target) = &self.message_reference {
            let exists = world.message(channel, target.message_id).is_ok();
            if exists {
                message.kind = MessageKind::Reply;
                message.reference =
                    Some(MessageReference { channel, message: Some(target.message_id) });
            }
        }
        world.set_mentions(channel, &mut message, &self.effective_allowed_mentions());
        message
    }

    fn validate_reply_target(&self, world: &World, channel: &FakeChannel) -> ApiResult {
        let Some(target) = &self.message_reference else {
            return Ok(());
        };
        if !world.has_permissions(world.bot_user, channel, Permissions::READ_MESSAGE_HISTORY) {
            return Err(ErrorCode::ReplyWithoutHistory.into());
        }
        let invalid = |code: &str, message: &str| {
            Err(ApiError::invalid_field("message_reference", code, message))
        };
        let is_elsewhere = target.channel_id.is_some_and(|other| other != channel.id);
        match channel.messages.get(&target.message_id) {
            Some(message) if message.kind.is_system() => invalid(
                "REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE",
                "Cannot reply to a system message",
            ),
            Some(_) if !is_elsewhere => Ok(()),
            _ if target.fail_if_not_exists => invalid("REPLIES_UNKNOWN_MESSAGE", "Unknown message"),
            _ => Ok(()),
        }
    }
}

/// Rejects a list of users or roles together with permission for all of them.
fn validate_allowed_mentions(allowed: &AllowedMentions) -> ApiResult {
    let has_both = |kind, is_empty: bool| allowed.parse.contains(&kind) && !is_empty;
    for (name, is_invalid) in [
        ("users", has_both(MentionType::Users, allowed.users.is_empty())),
        ("roles", has_both(MentionType::Roles, allowed.roles.is_empty())),
    ] {
        if is_invalid {
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

/// Fails if the app may not send messages to a channel.
fn require_can_send(world: &World, id: ChannelId) -> ApiResult<&FakeChannel> {
    let channel = world.require_can_send(world.bot_user, id)?;
    let recipient = channel.recipient.and_then(|user| world.users.get(&user));
    match recipient.is_some_and(|user| user.has_closed_direct_messages) {
        true => Err(ErrorCode::CannotSendToUser.into()),
        false => Ok(channel),
    }
}

pub fn create(state: &mut FakeDiscordState, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let world = &mut state.world;
    let channel_id: ChannelId = request.path_id("channel")?;
    let body: MessageBody = request.parse_body()?;
    let channel = require_can_send(world, channel_id)?;
    body.validate()?;
    if body.is_empty() {
        return Err(ErrorCode::EmptyMessage.into());
    }
    body.validate_reply_target(world, channel)?;
    let nonce = body.nonce.as_ref().filter(|nonce| !nonce.is_null());
    if let Some(nonce) = nonce.filter(|_| body.enforce_nonce)
        && let Some((channel, posted)) = world.nonces.find(nonce, world.now())
    {
        // The message was posted already. If it has been deleted in the meantime, the response is an error.
        return message_response(world, channel, posted, nonce);
    }
    let id: MessageId = world.new_id();
    let message = body.to_message(world, channel_id, id);
    let (text, at) = (message.content.clone(), world.now());
    if let Some(nonce) = nonce {
        world.nonces.insert(nonce, (channel_id, id), at);
    }
    world.insert_message(channel_id, message, EventDelivery::Delivered)?;
    let body = request.body.clone();
    state.journal.posts.push(RecordedPost { channel: channel_id, id, text, body, at });
    message_response(&state.world, channel_id, id, nonce.unwrap_or(&Value::Null))
}

fn message_response(
    world: &World,
    channel: ChannelId,
    id: MessageId,
    nonce: &Value,
) -> ApiResult<ApiResponse> {
    let mut object = readable_message_json(world, channel, id)?;
    if !nonce.is_null() {
        object["nonce"] = nonce.clone();
    }
    Ok(ApiResponse::ok(object))
}

/// Returns the message of a request, if the app can see its channel.
pub fn request_message(
    world: &World,
    request: &ParsedRequest,
) -> ApiResult<(ChannelId, MessageId)> {
    let (channel, id) = (request.path_id("channel")?, request.path_id("message")?);
    world.require_own(channel, Permissions::VIEW_CHANNEL)?;
    world.message(channel, id)?;
    Ok((channel, id))
}

pub fn update(world: &mut World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let (channel, id) = request_message(world, request)?;
    let body: MessageBody = request.parse_body()?;
    body.validate()?;
    if world.channel(channel)?.is_archived() {
        return Err(ErrorCode::ThreadArchived.into());
    }
    let message = world.message(channel, id)?;
    if !message.is_by(world.bot_user) {
        return Err(ErrorCode::NotTheAuthor.into());
    }
    let text = body.content.clone().unwrap_or_else(|| message.content.clone());
    if text.trim().is_empty() && message.embeds.is_empty() && body.is_empty() {
        return Err(ErrorCode::EmptyMessage.into());
    }
    if let Some(components) = &body.components {
        world.message_mut(channel, id)?.components.clone_from(components);
    }
    world.edit_message(channel, id, &text, &body.effective_allowed_mentions())?;
    Ok(ApiResponse::ok(readable_message_json(world, channel, id)?))
}

pub fn delete(world: &mut World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let (channel, id) = request_message(world, request)?;
    if !world.message(channel, id)?.is_by(world.bot_user) {
        world.require_own(channel, Permissions::MANAGE_MESSAGES)?;
    }
    if world.channel(channel)?.is_archived() {
        return Err(ErrorCode::ThreadArchived.into());
    }
    world.delete_message(channel, id)?;
    Ok(ApiResponse::no_content())
}

pub fn bulk_delete(world: &mut World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    #[derive(Deserialize)]
    struct BulkDeleteBody {
        messages: Vec<MessageId>,
    }
    /// Discord does not delete older messages in bulk.
    const MAX_AGE: SignedDuration = SignedDuration::from_hours(14 * 24);
    let channel_id: ChannelId = request.path_id("channel")?;
    let request_body: BulkDeleteBody = request.parse_body()?;
    let channel = world.require_own(channel_id, Permissions::MANAGE_MESSAGES)?;
    if channel.kind == ChannelType::Private {
        return Err(ErrorCode::WrongChannelType.into());
    }
    if !(2..=100).contains(&request_body.messages.len()) {
        return Err(ErrorCode::InvalidMessageCount.into());
    }
    let now = world.now();
    if request_body.messages.iter().any(|id| now.duration_since(created_at(*id)) > MAX_AGE) {
        return Err(ErrorCode::TooOldToDelete.into());
    }
    world.bulk_delete_messages(channel_id, &request_body.messages)?;
    Ok(ApiResponse::no_content())
}
