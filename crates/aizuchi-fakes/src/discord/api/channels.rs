//! Requests about channels and threads themselves.

use serde::Deserialize;
use twilight_model::guild::Permissions;

use crate::discord::api::response::ApiResponse;
use crate::discord::api_error::{ApiError, ApiResult, ErrorCode};
use crate::discord::id::ChannelId;
use crate::discord::permission::OverwriteTarget;
use crate::discord::request::ParsedRequest;
use crate::discord::world::World;

pub fn channel(world: &World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let channel = world.require_own(request.path_id("channel")?, Permissions::VIEW_CHANNEL)?;
    Ok(ApiResponse::ok(world.channel_json(channel)))
}

pub fn start_typing(world: &mut World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let id: ChannelId = request.path_id("channel")?;
    let channel = world.require_own(id, Permissions::VIEW_CHANNEL)?;
    let required = match channel.thread {
        Some(_) => Permissions::SEND_MESSAGES_IN_THREADS,
        None => Permissions::SEND_MESSAGES,
    };
    world.require_own(id, required)?;
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

pub fn put_overwrite(world: &mut World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let id: ChannelId = request.path_id("channel")?;
    let OverwriteBody { allow, deny, kind } = request.parse_body()?;
    let own_permissions =
        world.permissions(world.bot_user, world.require_own(id, Permissions::MANAGE_ROLES)?);
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

pub fn delete_overwrite(world: &mut World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let id: ChannelId = request.path_id("channel")?;
    world.require_own(id, Permissions::MANAGE_ROLES)?;
    let none = Permissions::empty();
    // Roles and members share one id space, so the kind of target does not matter.
    world.set_overwrite(id, OverwriteTarget::Role(request.path_id("overwrite")?), none, none)?;
    Ok(ApiResponse::no_content())
}
