//! Guilds, their channels, roles and members.

use serde_json::{Value, json};
use twilight_model::gateway::Intents;

use crate::discord::api::ParsedRequest;
use crate::discord::api::body::ApiResponse;
use crate::discord::api_error::{ApiError, ErrorCode};
use crate::discord::guild::{FakeGuild, FakeRole};
use crate::discord::id::{GuildId, UserId};
use crate::discord::world::World;

/// The guild of a request, if the app is in it.
fn request_guild<'a>(world: &'a World, asked: &ParsedRequest) -> Result<&'a FakeGuild, ApiError> {
    let guild = world.guild(asked.path_id("guild")?)?;
    match guild.members.contains_key(&world.bot_user) {
        true => Ok(guild),
        false => Err(ErrorCode::UnknownGuild.into()),
    }
}

pub fn guild(world: &World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let guild = request_guild(world, asked)?;
    let mut shape = guild.to_json();
    if asked.query_parameter("with_counts") == Some("true") {
        shape["approximate_member_count"] = json!(guild.members.len());
        shape["approximate_presence_count"] = json!(0);
    }
    Ok(ApiResponse::ok(shape))
}

/// All its channels, hidden ones too, without the threads.
pub fn channels(world: &World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let guild = request_guild(world, asked)?.id;
    let channels = world.channels.values();
    let rooms = channels.filter(|channel| channel.guild == Some(guild) && channel.thread.is_none());
    Ok(ApiResponse::ok(rooms.map(|room| world.channel_json(room)).collect()))
}

pub fn active_threads(world: &World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let guild = request_guild(world, asked)?.id;
    let threads = world.active_threads(|channel| channel.guild == Some(guild));
    let members = world.bot_memberships(&threads);
    let threads: Vec<Value> = threads.iter().map(|thread| world.channel_json(thread)).collect();
    Ok(ApiResponse::ok(json!({ "threads": threads, "members": members })))
}

pub fn roles(world: &World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    Ok(ApiResponse::ok(
        request_guild(world, asked)?.roles.values().map(FakeRole::to_json).collect(),
    ))
}

pub fn emojis(world: &World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    Ok(ApiResponse::ok(json!(request_guild(world, asked)?.emojis)))
}

/// All members, if the app may know them all.
pub fn members(world: &World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let guild = request_guild(world, asked)?;
    if !world.enabled_privileged_intents.contains(Intents::GUILD_MEMBERS) {
        return Err(ErrorCode::MissingAccess.into());
    }
    let after: Option<UserId> = asked.query_id("after")?;
    let ids = guild.members.keys().filter(|id| after.is_none_or(|after| **id > after));
    let shapes = ids.take(asked.limit(1, 1000)?).map(|id| world.member_json(guild.id, *id));
    Ok(ApiResponse::ok(shapes.collect::<Result<Value, ApiError>>()?))
}

/// Members whose names begin so.
pub fn search_members(world: &World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let guild = request_guild(world, asked)?;
    let query = asked.query_parameter("query").unwrap_or_default().to_lowercase();
    let is_named = |id: &&UserId| {
        let user = world.users.get(id);
        let nick = guild.members.get(id).and_then(|member| member.nick.as_deref());
        let names =
            [user.map(|user| user.name.as_str()), user.map(|user| user.visible_name()), nick];
        names.into_iter().flatten().any(|name| name.to_lowercase().starts_with(&query))
    };
    let ids = guild.members.keys().filter(is_named).take(asked.limit(1, 1000)?);
    let shapes = ids.map(|id| world.member_json(guild.id, *id));
    Ok(ApiResponse::ok(shapes.collect::<Result<Value, ApiError>>()?))
}

pub fn member(world: &World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let guild = request_guild(world, asked)?.id;
    let user: UserId = match asked.path_parameter("user") {
        "@me" => world.bot_user,
        _ => asked.path_id("user")?,
    };
    Ok(ApiResponse::ok(world.member_json(guild, user)?))
}

pub fn update_my_member(world: &mut World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let guild: GuildId = request_guild(world, asked)?.id;
    let nick = asked.body["nick"].as_str().map(str::to_owned);
    if let Some(nick) = &nick {
        twilight_validate::request::nickname(nick).map_err(|error| {
            ApiError::invalid_field("nick", "BASE_TYPE_BAD_LENGTH", &error.to_string())
        })?;
    }
    let me = world.bot_user;
    world.update_member(guild, me, |member| member.nick = nick)?;
    Ok(ApiResponse::ok(world.member_json(guild, me)?))
}
