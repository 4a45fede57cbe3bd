//! Requests about guilds, their channels, roles and members.

use serde_json::{Value, json};
use twilight_model::gateway::Intents;

use crate::discord::api::response::ApiResponse;
use crate::discord::api_error::{ApiResult, ErrorCode};
use crate::discord::guild::{FakeGuild, FakeRole};
use crate::discord::id::UserId;
use crate::discord::request::ParsedRequest;
use crate::discord::world::World;

/// Returns the guild of a request, if the app is in it.
fn request_guild<'a>(world: &'a World, request: &ParsedRequest) -> ApiResult<&'a FakeGuild> {
    let guild = world.guild(request.path_id("guild")?)?;
    match guild.members.contains_key(&world.bot_user) {
        true => Ok(guild),
        false => Err(ErrorCode::UnknownGuild.into()),
    }
}

pub fn guild(world: &World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let guild = request_guild(world, request)?;
    let mut object = guild.to_json();
    if request.query_parameter("with_counts") == Some("true") {
        object["approximate_member_count"] = json!(guild.members.len());
        object["approximate_presence_count"] = json!(0);
    }
    Ok(ApiResponse::ok(object))
}

/// Returns all channels of a guild, including those that the app cannot see, without threads.
pub fn channels(world: &World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let guild = request_guild(world, request)?.id;
    let channels = world.channels.values();
    let channels =
        channels.filter(|channel| channel.guild == Some(guild) && channel.thread.is_none());
    Ok(ApiResponse::ok(channels.map(|channel| world.channel_json(channel)).collect()))
}

pub fn active_threads(world: &World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let guild = request_guild(world, request)?.id;
    let threads = world.active_threads(|channel| channel.guild == Some(guild));
    let members = world.bot_memberships(&threads);
    let threads: Vec<Value> = threads.iter().map(|thread| world.channel_json(thread)).collect();
    Ok(ApiResponse::ok(json!({ "threads": threads, "members": members })))
}

pub fn roles(world: &World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    Ok(ApiResponse::ok(
        request_guild(world, request)?.roles.values().map(FakeRole::to_json).collect(),
    ))
}

/// Returns all members of a guild. Requires the members intent.
pub fn members(world: &World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let guild = request_guild(world, request)?;
    if !world.enabled_privileged_intents.contains(Intents::GUILD_MEMBERS) {
        return Err(ErrorCode::MissingAccess.into());
    }
    let after: Option<UserId> = request.query_id("after")?;
    let ids = guild.members.keys().filter(|id| after.is_none_or(|after| **id > after));
    let members = ids.take(request.limit(1, 1000)?).map(|id| world.member_json(guild.id, *id));
    Ok(ApiResponse::ok(members.collect::<ApiResult<Value>>()?))
}

/// Returns the members whose names start with the query.
pub fn search_members(world: &World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let guild = request_guild(world, request)?;
    let query = request.query_parameter("query").unwrap_or_default().to_lowercase();
    let matches = |id: &&UserId| {
        let user = world.users.get(id);
        let nick = guild.members.get(id).and_then(|member| member.nick.as_deref());
        let names =
            [user.map(|user| user.name.as_str()), user.map(|user| user.visible_name()), nick];
        names.into_iter().flatten().any(|name| name.to_lowercase().starts_with(&query))
    };
    let ids = guild.members.keys().filter(matches).take(request.limit(1, 1000)?);
    let members = ids.map(|id| world.member_json(guild.id, *id));
    Ok(ApiResponse::ok(members.collect::<ApiResult<Value>>()?))
}

pub fn member(world: &World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let guild = request_guild(world, request)?.id;
    let user: UserId = match request.path_parameter("user") {
        "@me" => world.bot_user,
        _ => request.path_id("user")?,
    };
    Ok(ApiResponse::ok(world.member_json(guild, user)?))
}
