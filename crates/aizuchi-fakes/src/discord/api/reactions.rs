//! Reactions.

use serde_json::Value;
use twilight_model::guild::Permissions;

use crate::discord::api::ParsedRequest;
use crate::discord::api::body::ApiResponse;
use crate::discord::api::messages::request_message_key;
use crate::discord::api_error::{ApiError, ErrorCode};
use crate::discord::guild::FakeUser;
use crate::discord::id::UserId;
use crate::discord::message::FakeEmoji;
use crate::discord::world::World;

/// Who reacted with an emoji.
pub fn list(world: &World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let place = request_message_key(world, asked)?;
    let emoji = parse_emoji(asked)?;
    let limit = asked.limit(25, 100)?;
    let after: Option<UserId> = asked.query_id("after")?;
    let reactions = &world.message(place.channel, place.message)?.reactions;
    let found = reactions.iter().find(|reaction| reaction.emoji == emoji);
    let mut users = found.map(|reaction| reaction.users.clone()).unwrap_or_default();
    users.sort();
    users.retain(|user| after.is_none_or(|after| *user > after));
    let users = users.iter().filter_map(|user| world.users.get(user));
    Ok(ApiResponse::ok(users.take(limit).map(FakeUser::to_json).collect::<Vec<Value>>().into()))
}

pub fn add(world: &mut World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let place = request_message_key(world, asked)?;
    let emoji = parse_emoji(asked)?;
    let channel = world.require_permissions(
        world.bot_user,
        place.channel,
        Permissions::READ_MESSAGE_HISTORY,
    )?;
    if channel.is_archived() {
        return Err(ErrorCode::ThreadArchived.into());
    }
    let reactions = &world.message(place.channel, place.message)?.reactions;
    if !reactions.iter().any(|reaction| reaction.emoji == emoji) {
        // To join in with others needs no permission.
        world.require_permissions(world.bot_user, place.channel, Permissions::ADD_REACTIONS)?;
    }
    world.add_reaction(place, world.bot_user, &emoji)?;
    Ok(ApiResponse::no_content())
}

pub fn remove_own(world: &mut World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let place = request_message_key(world, asked)?;
    world.remove_reaction(place, world.bot_user, &parse_emoji(asked)?)?;
    Ok(ApiResponse::no_content())
}

pub fn remove(world: &mut World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let place = request_message_key(world, asked)?;
    world.require_permissions(world.bot_user, place.channel, Permissions::MANAGE_MESSAGES)?;
    world.remove_reaction(place, asked.path_id("user")?, &parse_emoji(asked)?)?;
    Ok(ApiResponse::no_content())
}

pub fn remove_all(world: &mut World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let place = request_message_key(world, asked)?;
    world.require_permissions(world.bot_user, place.channel, Permissions::MANAGE_MESSAGES)?;
    world.clear_reactions(place)?;
    Ok(ApiResponse::no_content())
}

/// Discord knows its emoji; a name in letters is none.
fn parse_emoji(asked: &ParsedRequest) -> Result<FakeEmoji, ApiError> {
    let emoji = FakeEmoji::parse(asked.path_parameter("emoji"));
    let is_standard =
        emoji.name.chars().any(|letter| !letter.is_ascii_alphanumeric() && letter != '_');
    match emoji.id.is_some() || is_standard {
        true => Ok(emoji),
        false => Err(ErrorCode::UnknownEmoji.into()),
    }
}
