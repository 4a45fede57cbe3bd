//! What was said, newest first.

use serde_json::{Value, json};
use twilight_model::channel::ChannelType;
use twilight_model::gateway::Intents;
use twilight_model::guild::Permissions;

use crate::discord::api::ParsedRequest;
use crate::discord::api::body::ApiResponse;
use crate::discord::api_error::{ApiError, ErrorCode};
use crate::discord::channel::FakeChannel;
use crate::discord::id::{ChannelId, MessageId};
use crate::discord::message::FakeMessage;
use crate::discord::serialize::{Transport, redact_content};
use crate::discord::world::World;

pub fn messages(world: &World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let limit = asked.limit(50, 100)?;
    let channel = world.require_permissions(
        world.bot_user,
        asked.path_id("channel")?,
        Permissions::VIEW_CHANNEL,
    )?;
    if !channel.is_text() {
        return Err(ErrorCode::NotATextChannel.into());
    }
    // Who may not read the history is told that there is none.
    if !world.has_permissions(world.bot_user, channel, Permissions::READ_MESSAGE_HISTORY) {
        return Ok(ApiResponse::ok(json!([])));
    }
    let before: Option<MessageId> = asked.query_id("before")?;
    let after: Option<MessageId> = asked.query_id("after")?;
    let around: Option<MessageId> = asked.query_id("around")?;
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
        // Those that come next, not those that came last.
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

pub fn message(world: &World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let id: ChannelId = asked.path_id("channel")?;
    let channel = world.require_permissions(world.bot_user, id, Permissions::VIEW_CHANNEL)?;
    if !world.has_permissions(world.bot_user, channel, Permissions::READ_MESSAGE_HISTORY) {
        return Err(ErrorCode::MissingAccess.into());
    }
    let message = world.message(id, asked.path_id("message")?)?;
    Ok(ApiResponse::ok(readable_message_json(world, channel, message)))
}

/// A message as the app may read it. Its nonce is not kept: only who sends hears it again.
pub fn readable_message_json(world: &World, channel: &FakeChannel, message: &FakeMessage) -> Value {
    let mut shape = world.message_json(channel, message, Transport::Rest);
    if !world.enabled_privileged_intents.contains(Intents::MESSAGE_CONTENT) {
        redact_content(&mut shape, world.bot_user, channel.kind == ChannelType::Private);
    }
    shape
}
