//! Requests about the app's slash commands.

use serde_json::{Value, json};
use twilight_model::application::command::Command;

use crate::discord::api::response::ApiResponse;
use crate::discord::api_error::{ApiError, ApiResult, ErrorCode};
use crate::discord::id::GuildId;
use crate::discord::request::ParsedRequest;
use crate::discord::world::World;

/// Returns the guild of a request, or `None` for global commands.
fn request_guild(world: &World, request: &ParsedRequest) -> ApiResult<Option<GuildId>> {
    if request.path_parameter("application") != world.application().to_string() {
        return Err(ErrorCode::MissingAccess.into());
    }
    match request.path_parameters.contains_key("guild") {
        true => Ok(Some(world.guild(request.path_id("guild")?)?.id)),
        false => Ok(None),
    }
}

pub fn list(world: &World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let guild = request_guild(world, request)?;
    Ok(ApiResponse::ok(json!(world.commands.registered.get(&guild).cloned().unwrap_or_default())))
}

/// Replaces all commands of a guild, or all global ones.
pub fn replace_all(world: &mut World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let guild = request_guild(world, request)?;
    let new_commands: Vec<Value> = request.parse_body()?;
    new_commands.iter().try_for_each(validate)?;
    let is_kept = |old: &Value| new_commands.iter().any(|new| new["name"] == old["name"]);
    world.commands.registered.entry(guild).or_default().retain(is_kept);
    let registered = new_commands.iter().map(|command| world.register_command(guild, command));
    Ok(ApiResponse::ok(registered.collect()))
}

/// Rejects commands that Discord would reject.
fn validate(body: &Value) -> ApiResult {
    let mut with_defaults = json!({ "type": 1, "description": "", "version": "1" });
    for (name, value) in body.as_object().into_iter().flatten() {
        with_defaults[name] = value.clone();
    }
    let invalid =
        |message: &str| ApiError::invalid_field("name", "APPLICATION_COMMAND_INVALID", message);
    let command: Command =
        serde_json::from_value(with_defaults).map_err(|error| invalid(&error.to_string()))?;
    twilight_validate::command::command(&command).map_err(|error| invalid(&error.to_string()))
}
