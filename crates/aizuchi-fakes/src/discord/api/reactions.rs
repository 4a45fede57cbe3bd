//! Requests about reactions.

use serde_json::Value;
use twilight_model::guild::Permissions;

use crate::discord::api::messages::request_message;
use crate::discord::api::response::ApiResponse;
use crate::discord::api_error::{ApiResult, ErrorCode};
use crate::discord::guild::FakeUser;
use crate::discord::id::UserId;
use crate::discord::message::FakeEmoji;
use crate::discord::request::ParsedRequest;
use crate::discord::world::World;

/// Returns the users who reacted with an emoji.
pub fn list(world: &World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let (channel, message) = request_message(world, request)?;
    let emoji = parse_emoji(request)?;
    let limit = request.limit(25, 100)?;
    let after: Option<UserId> = request.query_id("after")?;
    let reactions = &world.message(channel, message)?.reactions;
    let reaction = reactions.iter().find(|reaction| reaction.emoji == emoji);
    let mut users = reaction.map(|reaction| reaction.users.clone()).unwrap_or_default();
    users.sort();
    users.retain(|user| after.is_none_or(|after| *user > after));
    let users = users.iter().filter_map(|user| world.users.get(user));
    Ok(ApiResponse::ok(users.take(limit).map(FakeUser::to_json).collect::<Vec<Value>>().into()))
}

pub fn add(world: &mut World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let (channel, message) = request_message(world, request)?;
    let emoji = parse_emoji(request)?;
    if world.require_own(channel, Permissions::READ_MESSAGE_HISTORY)?.is_archived() {
        return Err(ErrorCode::ThreadArchived.into());
    }
    let reactions = &world.message(channel, message)?.reactions;
    if !reactions.iter().any(|reaction| reaction.emoji == emoji) {
        // Adding to an existing reaction needs no permission.
        world.require_own(channel, Permissions::ADD_REACTIONS)?;
    }
    world.add_reaction(channel, message, world.bot_user, &emoji)?;
    Ok(ApiResponse::no_content())
}

/// Removes the app's own reaction.
pub fn remove(world: &mut World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let (channel, message) = request_message(world, request)?;
    world.remove_reaction(channel, message, world.bot_user, &parse_emoji(request)?)?;
    Ok(ApiResponse::no_content())
}

/// Parses an emoji. Discord rejects unknown emoji, such as a name in words without an id.
fn parse_emoji(request: &ParsedRequest) -> ApiResult<FakeEmoji> {
    let emoji = FakeEmoji::parse(request.path_parameter("emoji"));
    let is_standard =
        emoji.name.chars().any(|character| !character.is_ascii_alphanumeric() && character != '_');
    match emoji.id.is_some() || is_standard {
        true => Ok(emoji),
        false => Err(ErrorCode::UnknownEmoji.into()),
    }
}
