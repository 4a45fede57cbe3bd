//! The app's slash commands.

use serde_json::{Value, json};
use twilight_model::application::command::Command;

use crate::discord::api::ParsedRequest;
use crate::discord::api::body::ApiResponse;
use crate::discord::api_error::{ApiError, ErrorCode};
use crate::discord::id::GuildId;
use crate::discord::world::World;

/// For which guild a request is, if for one.
fn request_guild(world: &World, asked: &ParsedRequest) -> Result<Option<GuildId>, ApiError> {
    if asked.path_parameter("application") != world.application().to_string() {
        return Err(ErrorCode::MissingAccess.into());
    }
    match asked.path_parameters.contains_key("guild") {
        true => Ok(Some(world.guild(asked.path_id("guild")?)?.id)),
        false => Ok(None),
    }
}

pub fn list(world: &World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let place = request_guild(world, asked)?;
    Ok(ApiResponse::ok(json!(world.commands.registered.get(&place).cloned().unwrap_or_default())))
}

pub fn create(world: &mut World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let place = request_guild(world, asked)?;
    validate(&asked.body)?;
    Ok(ApiResponse::ok(world.register_command(place, &asked.body)))
}

/// All commands at once; those that are not among them go.
pub fn replace_all(world: &mut World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let place = request_guild(world, asked)?;
    let wanted: Vec<Value> = asked.parse_body()?;
    wanted.iter().try_for_each(validate)?;
    let is_wanted = |old: &Value| wanted.iter().any(|new| new["name"] == old["name"]);
    world.commands.registered.entry(place).or_default().retain(is_wanted);
    let registered = wanted.iter().map(|command| world.register_command(place, command));
    Ok(ApiResponse::ok(registered.collect()))
}

pub fn delete(world: &mut World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let place = request_guild(world, asked)?;
    let list = world.commands.registered.entry(place).or_default();
    let found = list.iter().position(|one| one["id"] == asked.path_parameter("command"));
    list.remove(found.ok_or(ErrorCode::UnknownCommand)?);
    Ok(ApiResponse::no_content())
}

/// Refuses commands that Discord would not take.
fn validate(body: &Value) -> Result<(), ApiError> {
    let mut whole = json!({ "type": 1, "description": "", "version": "1" });
    for (name, value) in body.as_object().into_iter().flatten() {
        whole[name] = value.clone();
    }
    let wrong =
        |message: &str| ApiError::invalid_field("name", "APPLICATION_COMMAND_INVALID", message);
    let command: Command =
        serde_json::from_value(whole).map_err(|error| wrong(&error.to_string()))?;
    twilight_validate::command::command(&command).map_err(|error| wrong(&error.to_string()))
}
