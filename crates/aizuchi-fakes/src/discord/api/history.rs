//! Requests for messages.

use serde_json::{Value, json};
use twilight_model::channel::ChannelType;
use twilight_model::gateway::Intents;
use twilight_model::guild::Permissions;

use crate::discord::api::response::ApiResponse;
use crate::discord::api_error::{ApiResult, ErrorCode};
use crate::discord::id::{ChannelId, MessageId};
use crate::discord::request::ParsedRequest;
use crate::discord::serialize::{Transport, redact_content};
use crate::discord::world::World;

pub fn messages(world: &World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let limit = request.limit(50, 100)?;
    let channel = world.require_own(request.path_id("channel")?, Permissions::VIEW_CHANNEL)?;
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
    let all = || channel.messages.keys().copied();
    let mut found: Vec<MessageId> = match (around, before, after) {
        (Some(around), _, _) => {
            let older = all().rev().filter(|id| *id < around).take(limit / 2);
            let newer = all().filter(|id| *id >= around).take(limit - limit / 2);
            older.chain(newer).collect()
        }
        (None, Some(before), _) => all().rev().filter(|id| *id < before).take(limit).collect(),
        // Returns the messages right after the id, not the newest ones of the channel.
        (None, None, Some(after)) => all().filter(|id| *id > after).take(limit).collect(),
        (None, None, None) => all().rev().take(limit).collect(),
    };
    found.sort_by_key(|id| std::cmp::Reverse(*id));
    let found = found.into_iter().map(|id| readable_message_json(world, channel.id, id));
    Ok(ApiResponse::ok(found.collect::<ApiResult<_>>()?))
}

pub fn message(world: &World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let id: ChannelId = request.path_id("channel")?;
    let channel = world.require_own(id, Permissions::VIEW_CHANNEL)?;
    if !world.has_permissions(world.bot_user, channel, Permissions::READ_MESSAGE_HISTORY) {
        return Err(ErrorCode::MissingAccess.into());
    }
    let message = request.path_id("message")?;
    Ok(ApiResponse::ok(readable_message_json(world, id, message)?))
}

/// Returns a message as the app may read it, without a nonce: only the response to its post has one.
pub fn readable_message_json(world: &World, channel: ChannelId, id: MessageId) -> ApiResult<Value> {
    let channel = world.channel(channel)?;
    let message = world.message(channel.id, id)?;
    let mut object = world.message_json(channel, message, Transport::Rest);
    if !world.enabled_privileged_intents.contains(Intents::MESSAGE_CONTENT) {
        redact_content(&mut object, world.bot_user, channel.kind == ChannelType::Private);
    }
    Ok(object)
}
