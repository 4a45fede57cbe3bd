//! Requests about users, the app's guilds, and the URL of the gateway.

use serde_json::json;
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::discord::FakeDiscordSettings;
use crate::discord::api::response::ApiResponse;
use crate::discord::api_error::{ApiError, ApiResult};
use crate::discord::gateway::gateway_url;
use crate::discord::guild::FakeGuild;
use crate::discord::request::ParsedRequest;
use crate::discord::state::FakeDiscordState;
use crate::discord::world::World;

pub fn gateway_bot(
    state: &mut FakeDiscordState,
    settings: &FakeDiscordSettings,
    request: &ParsedRequest,
) -> ApiResponse {
    let now = settings.clock.now();
    state.gateway.session_start_quota.reset_if_due(now);
    let quota = state.gateway.session_start_quota;
    ApiResponse::ok(json!({
        "url": gateway_url(&request.host),
        "shards": settings.min_shards,
        "session_start_limit": {
            "total": quota.total,
            "remaining": quota.remaining,
            "reset_after": quota.resets_at.duration_since(now).as_millis().max(0) as u64,
            "max_concurrency": settings.max_concurrency,
        },
    }))
}

pub fn my_guilds(world: &World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let limit = request.limit(200, 200)?;
    let after: Option<Id<GuildMarker>> = request.query_id("after")?;
    let guilds = world.guilds.values().filter(|guild| guild.members.contains_key(&world.bot_user));
    let guilds = guilds.filter(|guild| after.is_none_or(|after| guild.id > after));
    let to_json = |guild: &FakeGuild| {
        json!({
            "id": guild.id,
            "name": guild.name,
            "icon": null,
            "owner": guild.owner == world.bot_user,
            "permissions": world.guild_permissions(world.bot_user, guild.id),
            "features": [],
        })
    };
    Ok(ApiResponse::ok(guilds.take(limit).map(to_json).collect()))
}

pub fn open_direct_message(world: &mut World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let user = request.body["recipient_id"].clone();
    let user = serde_json::from_value(user).map_err(|_| {
        ApiError::invalid_field("recipient_id", "BASE_TYPE_REQUIRED", "This field is required")
    })?;
    let channel = world.open_direct_message(user)?;
    Ok(ApiResponse::ok(world.channel_json(world.channel(channel)?)))
}

pub fn user(world: &World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    Ok(ApiResponse::ok(world.user(request.path_id("user")?)?.to_json()))
}
