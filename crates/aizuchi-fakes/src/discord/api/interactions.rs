//! What the app answers to commands and buttons.

use serde_json::{Value, json};

use crate::discord::api::ParsedRequest;
use crate::discord::api::body::ApiResponse;
use crate::discord::api::messages::MessageBody;
use crate::discord::api_error::{ApiError, ErrorCode};
use crate::discord::command::{self, Interaction, InteractionStatus, message_flags};
use crate::discord::id::MessageId;
use crate::discord::serialize::Transport;
use crate::discord::world::World;

pub fn acknowledge(world: &mut World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let kind = asked.body["type"].as_u64().unwrap_or(0);
    let data = asked.body["data"].clone();
    if kind == 4 {
        validate(&data)?;
    }
    world.acknowledge(asked.path_id("interaction")?, asked.path_parameter("token"), kind, &data)?;
    if asked.query_parameter("with_response") != Some("true") {
        return Ok(ApiResponse::no_content());
    }
    let interaction = find_interaction(world, asked)?;
    let message =
        interaction.responses.first().map(|answer| response_json(world, &interaction, answer));
    Ok(ApiResponse::ok(json!({
        "interaction": { "id": interaction.id, "type": interaction.kind },
        "resource": { "type": kind, "message": message },
    })))
}

fn validate(data: &Value) -> Result<(), ApiError> {
    let written: MessageBody = serde_json::from_value(data.clone()).map_err(|_| {
        ApiError::invalid_field("data", "MODEL_TYPE_CONVERT", "Only dictionaries may be used.")
    })?;
    written.validate()?;
    match written.is_empty() {
        true => Err(ErrorCode::EmptyMessage.into()),
        false => Ok(()),
    }
}

/// The interaction of a request's token.
fn find_interaction(world: &mut World, asked: &ParsedRequest) -> Result<Interaction, ApiError> {
    let now = world.now();
    world.commands.by_token(asked.path_parameter("token"), now).cloned()
}

fn response_json(
    world: &World,
    interaction: &Interaction,
    answer: &command::InteractionResponse,
) -> Value {
    let channel = world.channels.get(&interaction.channel);
    channel.map_or(Value::Null, |channel| {
        world.message_json(channel, &answer.message, Transport::Rest)
    })
}

/// Another message, or the one that was being thought of.
pub fn follow_up(world: &mut World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let interaction = find_interaction(world, asked)?;
    validate(&asked.body)?;
    let flags = match interaction.status {
        InteractionStatus::Pending => return Err(ErrorCode::UnknownWebhook.into()),
        // The first one takes the place of the thought, and is as hidden.
        InteractionStatus::Deferred(flags) => flags,
        InteractionStatus::Responded => message_flags(&asked.body),
    };
    let id = world.respond(&interaction, flags, &asked.body)?;
    response_by_id(world, asked, id)
}

fn response_by_id(
    world: &mut World,
    asked: &ParsedRequest,
    id: MessageId,
) -> Result<ApiResponse, ApiError> {
    let interaction = find_interaction(world, asked)?;
    let answer = interaction.responses.iter().find(|answer| answer.message.id == id);
    let answer = answer.ok_or(ErrorCode::UnknownMessage)?;
    Ok(ApiResponse::ok(response_json(world, &interaction, answer)))
}

/// Which answer a request is about.
fn response_id(interaction: &Interaction, asked: &ParsedRequest) -> Result<MessageId, ApiError> {
    match asked.path_parameter("message") {
        "@original" => {
            let original = interaction.responses.first();
            original.map(|answer| answer.message.id).ok_or(ErrorCode::UnknownMessage.into())
        }
        _ => asked.path_id("message"),
    }
}

pub fn read(world: &mut World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let interaction = find_interaction(world, asked)?;
    let id = response_id(&interaction, asked)?;
    response_by_id(world, asked, id)
}

pub fn update(world: &mut World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let interaction = find_interaction(world, asked)?;
    validate(&asked.body)?;
    // To change a thought is to speak it.
    if let InteractionStatus::Deferred(flags) = interaction.status
        && asked.path_parameter("message") == "@original"
    {
        let id = world.respond(&interaction, flags, &asked.body)?;
        return response_by_id(world, asked, id);
    }
    let id = response_id(&interaction, asked)?;
    let text = asked.body["content"].as_str().unwrap_or_default();
    world.edit_response(&interaction, id, text)?;
    response_by_id(world, asked, id)
}

pub fn delete(world: &mut World, asked: &ParsedRequest) -> Result<ApiResponse, ApiError> {
    let interaction = find_interaction(world, asked)?;
    let id = response_id(&interaction, asked)?;
    world.delete_response(&interaction, id)?;
    Ok(ApiResponse::no_content())
}
