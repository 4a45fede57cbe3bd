//! Requests by which the app responds to interactions.

use serde_json::{Value, json};

use crate::discord::api::messages::MessageBody;
use crate::discord::api::response::ApiResponse;
use crate::discord::api_error::{ApiError, ApiResult, ErrorCode};
use crate::discord::command::{Interaction, InteractionResponse, InteractionStatus};
use crate::discord::command_actions::message_flags;
use crate::discord::id::MessageId;
use crate::discord::request::ParsedRequest;
use crate::discord::serialize::Transport;
use crate::discord::world::World;

pub fn acknowledge(world: &mut World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let kind = request.body["type"].as_u64().unwrap_or(0);
    let data = request.body["data"].clone();
    if kind == 4 {
        validate(&data)?;
    }
    world.acknowledge(
        request.path_id("interaction")?,
        request.path_parameter("token"),
        kind,
        &data,
    )?;
    if request.query_parameter("with_response") != Some("true") {
        return Ok(ApiResponse::no_content());
    }
    let interaction = find_interaction(world, request)?;
    let message =
        interaction.responses.first().map(|response| response_json(world, &interaction, response));
    Ok(ApiResponse::ok(json!({
        "interaction": { "id": interaction.id, "type": interaction.kind },
        "resource": { "type": kind, "message": message },
    })))
}

fn validate(data: &Value) -> ApiResult {
    let body: MessageBody = serde_json::from_value(data.clone()).map_err(|_| {
        ApiError::invalid_field("data", "MODEL_TYPE_CONVERT", "Only dictionaries may be used.")
    })?;
    body.validate()?;
    match body.is_empty() {
        true => Err(ErrorCode::EmptyMessage.into()),
        false => Ok(()),
    }
}

/// Finds the interaction by the token of a request.
fn find_interaction(world: &mut World, request: &ParsedRequest) -> ApiResult<Interaction> {
    let now = world.now();
    world.commands.by_token(request.path_parameter("token"), now).cloned()
}

fn response_json(
    world: &World,
    interaction: &Interaction,
    response: &InteractionResponse,
) -> Value {
    let channel = world.channels.get(&interaction.channel);
    channel.map_or(Value::Null, |channel| {
        world.message_json(channel, &response.message, Transport::Rest)
    })
}

/// Posts another response, or the deferred one.
pub fn follow_up(world: &mut World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let interaction = find_interaction(world, request)?;
    validate(&request.body)?;
    let flags = match interaction.status {
        InteractionStatus::Pending => return Err(ErrorCode::UnknownWebhook.into()),
        // The first response replaces the deferred one and inherits its flags.
        InteractionStatus::Deferred(flags) => flags,
        InteractionStatus::Responded => message_flags(&request.body),
    };
    let id = world.respond(&interaction, flags, &request.body)?;
    response_by_id(world, request, id)
}

fn response_by_id(
    world: &mut World,
    request: &ParsedRequest,
    id: MessageId,
) -> ApiResult<ApiResponse> {
    let interaction = find_interaction(world, request)?;
    let response = interaction.responses.iter().find(|response| response.message.id == id);
    let response = response.ok_or(ErrorCode::UnknownMessage)?;
    Ok(ApiResponse::ok(response_json(world, &interaction, response)))
}

/// Returns the id of the response that a request is about.
fn response_id(interaction: &Interaction, request: &ParsedRequest) -> ApiResult<MessageId> {
    match request.path_parameter("message") {
        "@original" => {
            let original = interaction.responses.first();
            original.map(|response| response.message.id).ok_or(ErrorCode::UnknownMessage.into())
        }
        _ => request.path_id("message"),
    }
}

pub fn update(world: &mut World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let interaction = find_interaction(world, request)?;
    validate(&request.body)?;
    // Editing a deferred response posts it.
    if let InteractionStatus::Deferred(flags) = interaction.status
        && request.path_parameter("message") == "@original"
    {
        let id = world.respond(&interaction, flags, &request.body)?;
        return response_by_id(world, request, id);
    }
    let id = response_id(&interaction, request)?;
    let text = request.body["content"].as_str().unwrap_or_default();
    world.edit_response(&interaction, id, text)?;
    response_by_id(world, request, id)
}

pub fn delete(world: &mut World, request: &ParsedRequest) -> ApiResult<ApiResponse> {
    let interaction = find_interaction(world, request)?;
    let id = response_id(&interaction, request)?;
    world.delete_response(&interaction, id)?;
    Ok(ApiResponse::no_content())
}
