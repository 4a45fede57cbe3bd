//! Requests about channels and threads themselves.

use serde::Deserialize;
use serde_json::Value;
use twilight_model::guild::Permissions;

use crate::discord::api::response::ApiResponse;
use crate::discord::api_error::{ApiError, ErrorCode};
use crate::discord::id::ChannelId;
use crate::discord::permission::OverwriteTarget;
use crate::discord::request::ParsedRequest;
use crate::discord::world::World;

pub fn channel(world: &World, request: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let channel = world.require_permissions(
        world.bot_user,
        request.path_id("channel")?,
        Permissions::VIEW_CHANNEL,
    )?;
    Ok(ApiResponse::ok(world.channel_json(channel)))
}

/// Changes the name, the topic, and whether a thread is archived or locked.
pub fn update(world: &mut World, request: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let id: ChannelId = request.path_id("channel")?;
    let channel = world.require_permissions(world.bot_user, id, Permissions::VIEW_CHANNEL)?;
    let is_own_thread =
        channel.thread.as_ref().is_some_and(|thread| thread.owner == world.bot_user);
    let required = match (&channel.thread, is_own_thread) {
        (Some(_), true) => Permissions::SEND_MESSAGES_IN_THREADS,
        (Some(_), false) => Permissions::MANAGE_THREADS,
        (None, _) => Permissions::MANAGE_CHANNELS,
    };
    world.require_permissions(world.bot_user, id, required)?;
    if let Some(name) = request.body["name"].as_str() {
        twilight_validate::channel::name(name).map_err(|error| {
            ApiError::invalid_field("name", "BASE_TYPE_BAD_LENGTH", &error.to_string())
        })?;
    }
    let body = request.body.clone();
    world.update_channel(id, |channel| {
        if let Some(name) = body["name"].as_str() {
            name.clone_into(&mut channel.name);
        }
        if let Some(topic) = body.get("topic") {
            channel.topic = topic.as_str().map(str::to_owned);
        }
        if let Some(thread) = &mut channel.thread {
            let set = |value: &Value, field: &mut bool| {
                *field = value.as_bool().unwrap_or(*field);
            };
            set(&body["archived"], &mut thread.is_archived);
            set(&body["locked"], &mut thread.is_locked);
        }
    })?;
    Ok(ApiResponse::ok(world.channel_json(world.channel(id)?)))
}

pub fn delete(world: &mut World, request: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let id: ChannelId = request.path_id("channel")?;
    let channel = world.require_permissions(world.bot_user, id, Permissions::VIEW_CHANNEL)?;
    let object = world.channel_json(channel);
    let required = match channel.thread {
        Some(_) => Permissions::MANAGE_THREADS,
        None => Permissions::MANAGE_CHANNELS,
    };
    world.require_permissions(world.bot_user, id, required)?;
    world.delete_channel(id)?;
    Ok(ApiResponse::ok(object))
}

pub fn start_typing(world: &mut World, request: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let id: ChannelId = request.path_id("channel")?;
    let channel = world.require_permissions(world.bot_user, id, Permissions::VIEW_CHANNEL)?;
    let required = match channel.thread {
        Some(_) => Permissions::SEND_MESSAGES_IN_THREADS,
        None => Permissions::SEND_MESSAGES,
    };
    world.require_permissions(world.bot_user, id, required)?;
    world.start_typing(id, world.bot_user)?;
    Ok(ApiResponse::no_content())
}

#[derive(Deserialize)]
struct OverwriteBody {
    #[serde(default = "Permissions::empty")]
    allow: Permissions,
    #[serde(default = "Permissions::empty")]
    deny: Permissions,
    /// 0 is a role, 1 a member.
    #[serde(rename = "type")]
    kind: u8,
}

pub fn put_overwrite(world: &mut World, request: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let id: ChannelId = request.path_id("channel")?;
    let OverwriteBody { allow, deny, kind } = request.parse_body()?;
    let own_permissions = world.permissions(
        world.bot_user,
        world.require_permissions(world.bot_user, id, Permissions::MANAGE_ROLES)?,
    );
    // The app cannot set permissions that it does not have itself.
    if !own_permissions.contains(allow | deny) {
        return Err(ErrorCode::MissingPermissions.into());
    }
    let target = match kind {
        0 => OverwriteTarget::Role(request.path_id("overwrite")?),
        1 => OverwriteTarget::Member(request.path_id("overwrite")?),
        _ => {
            let message = "Value must be one of {0, 1}.";
            return Err(ApiError::invalid_field("type", "BASE_TYPE_CHOICES", message));
        }
    };
    world.set_overwrite(id, target, allow, deny)?;
    Ok(ApiResponse::no_content())
}

pub fn delete_overwrite(
    world: &mut World,
    request: &ParsedRequest,
) -> Result<ApiResponse, ApiError> {
    let id: ChannelId = request.path_id("channel")?;
    world.require_permissions(world.bot_user, id, Permissions::MANAGE_ROLES)?;
    let none = Permissions::empty();
    // Roles and members share one id space, so the kind of target does not matter.
    world.set_overwrite(id, OverwriteTarget::Role(request.path_id("overwrite")?), none, none)?;
    Ok(ApiResponse::no_content())
}
