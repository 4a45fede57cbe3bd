//! Requests for messages.

use serde_json::{Value, json};
use twilight_model::channel::ChannelType;
use twilight_model::gateway::Intents;
use twilight_model::guild::Permissions;

use crate::discord::api::response::ApiResponse;
use crate::discord::api_error::{ApiError, ErrorCode};
use crate::discord::channel::FakeChannel;
use crate::discord::id::{ChannelId, MessageId};
use crate::discord::message::FakeMessage;
use crate::discord::request::ParsedRequest;
use crate::discord::serialize::{Transport, redact_content};
use crate::discord::world::World;

pub fn messages(world: &World, request: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let limit = request.limit(50, 100)?;
    let channel = world.require_permissions(
        world.bot_user,
        request.path_id("channel")?,
        Permissions::VIEW_CHANNEL,
    )?;
    if !channel.is_text() {
        return Err(ErrorCode::NotATextChannel.into());
    }
    // Discord returns an empty list, not an error, if the app may not read the history.
    if !world.has_permissions(world.bot_user, channel, Permissions::READ_MESSAGE_HISTORY) {
        return Ok(ApiResponse::ok(json!([])));
    }
    let before: Option<MessageId> = request.query_id("before")?;
    let after: Option<MessageId> = request.query_id("after")?;
    let around: Option<MessageId> = request.query_id("around")?;
    let all = &channel.messages;
    let mut found: Vec<&FakeMessage> = match (around, before, after) {
        (Some(around), _, _) => {
            let older = all.range(..around).rev().take(limit / 2);
            let newer = all.range(around..).take(limit - limit / 2);
            older.chain(newer).map(|(_, message)| message).collect()
        }
        (None, Some(before), _) => {
            all.range(..before).rev().take(limit).map(|(_, message)| message).collect()
        }
        // Returns the messages right after the id, not the newest ones of the channel.
        (None, None, Some(after)) => {
            let newer = all.range(after..).filter(|(id, _)| **id > after);
            newer.take(limit).map(|(_, message)| message).collect()
        }
        (None, None, None) => all.values().rev().take(limit).collect(),
    };
    found.sort_by_key(|message| std::cmp::Reverse(message.id));
    Ok(ApiResponse::ok(
        found.iter().map(|message| readable_message_json(world, channel, message)).collect(),
    ))
}

pub fn message(world: &World, request: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let id: ChannelId = request.path_id("channel")?;
    let channel = world.require_permissions(world.bot_user, id, Permissions::VIEW_CHANNEL)?;
    if !world.has_permissions(world.bot_user, channel, Permissions::READ_MESSAGE_HISTORY) {
        return Err(ErrorCode::MissingAccess.into());
    }
    let message = world.message(id, request.path_id("message")?)?;
    Ok(ApiResponse::ok(readable_message_json(world, channel, message)))
}

/// Returns a message as the app may read it, without a nonce: only the response to its post has one.
pub fn readable_message_json(world: &World, channel: &FakeChannel, message: &FakeMessage) -> Value {
    let mut object = world.message_json(channel, message, Transport::Rest);
    if !world.enabled_privileged_intents.contains(Intents::MESSAGE_CONTENT) {
        redact_content(&mut object, world.bot_user, channel.kind == ChannelType::Private);
    }
    object
}
