//! Tools on the wire: offering them, reading calls, and sending calls and results back. Providers reject a
//! conversation with malformed calls, so malformed parts are replaced before they are sent back; the tool's result
//! tells the model what was wrong.

use std::collections::BTreeSet;
use std::sync::Arc;

use genai::Error;
use genai::chat::{
    ChatMessage, ChatResponse, ContentPart, CustomPart, MessageContent, StopReason, Tool,
    ToolResponse, Usage,
};
use serde_json::{Map, Value};

use crate::prompt::tool::{AssistantMessage, CallFields, ToolCall, ToolRound, ToolSpec};

/// Fields of a call that `genai` drops: Gemini's signature behind an OpenAI-compatible API, as sent by its own
/// server and by LiteLLM.
const CALL_FIELDS: [&str; 2] = ["extra_content", "provider_specific_fields"];
/// Fields of the message with the calls that `genai` drops: the signed thinking of an Anthropic model behind
/// LiteLLM.
const MESSAGE_FIELDS: [&str; 1] = ["thinking_blocks"];
/// Replaces an invalid tool name.
const UNKNOWN_TOOL_NAME: &str = "unknown";

pub fn to_genai_tools(tools: &[ToolSpec]) -> Vec<Tool> {
    let offered = tools.iter().map(|tool| {
        let schema = tool.parameters.clone();
        let (name, description) = (&*tool.name, &*tool.description);
        Tool::new(name).with_description(description).with_schema(schema)
    });
    offered.collect()
}

/// The tool calls of a response, in order.
pub fn tool_calls(response: &ChatResponse) -> Vec<ToolCall> {
    let calls = response.content.tool_calls().into_iter().map(|call| ToolCall {
        id: call.call_id.clone(),
        name: call.fn_name.clone(),
        arguments: call.fn_arguments.clone(),
    });
    calls.collect()
}

/// The response as it was received, if it calls tools.
pub fn assistant_message(response: &ChatResponse, model: &str) -> Option<Arc<AssistantMessage>> {
    let message = response.clone().into_assistant_message_for_tool_use()?;
    let message = serde_json::to_value(without_model_names(message)).ok()?;
    let body = response.captured_raw_body.as_ref();
    let call_fields =
        body.and_then(|body| body.pointer("/choices/0/message")).map(fields_beside_calls);
    let call_fields = call_fields.unwrap_or_default();
    Some(Arc::new(AssistantMessage { model: model.to_owned(), message, call_fields }))
}

/// The fields to send back with the calls of a message of OpenAI's API.
fn fields_beside_calls(message: &Value) -> CallFields {
    let calls = message.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
    let calls = calls.filter_map(|call| Some((call.get("id")?.as_str()?, call)));
    let calls: Vec<(&str, &Value)> = calls.collect();
    let of_calls = calls.iter().filter_map(|(id, call)| {
        let fields = fields_of(call, &CALL_FIELDS);
        (!fields.is_empty()).then(|| ((*id).to_owned(), fields))
    });
    let of_message = fields_of(message, &MESSAGE_FIELDS);
    let first = calls.first().filter(|_| !of_message.is_empty());
    let of_messages = first.map(|(id, _)| ((*id).to_owned(), of_message.clone()));
    CallFields { of_calls: of_calls.collect(), of_messages: of_messages.into_iter().collect() }
}

/// The fields of an object that have these names.
fn fields_of(object: &Value, names: &[&str]) -> Map<String, Value> {
    let fields = names.iter().filter_map(|name| Some(((*name).to_owned(), object.get(*name)?)));
    let fields = fields.filter(|(_, value)| !value.is_null());
    fields.map(|(name, value)| (name, value.clone())).collect()
}

/// Removes the model's name from hidden thinking. `genai` stores it there but can neither read it back nor needs it.
fn without_model_names(message: ChatMessage) -> ChatMessage {
    let parts = message.content.into_parts().into_iter().map(|part| match part {
        ContentPart::Custom(custom) => {
            ContentPart::Custom(CustomPart { model_iden: None, ..custom })
        }
        part => part,
    });
    ChatMessage { content: MessageContent::from_parts(parts.collect::<Vec<_>>()), ..message }
}

/// The calls and results so far, as turns after the system message.
pub fn to_chat_messages(rounds: &[ToolRound], model: &str) -> Vec<ChatMessage> {
    rounds
        .iter()
        .enumerate()
        .flat_map(|(number, round)| round_to_messages(number, round, model))
        .collect()
}

/// The fields to send back with the calls of [`to_chat_messages`].
pub fn call_fields(rounds: &[ToolRound], model: &str) -> CallFields {
    let mut fields = CallFields::default();
    for original in rounds.iter().filter_map(|round| original(round, model)) {
        let CallFields { of_calls, of_messages } = original.call_fields.clone();
        fields.of_calls.extend(of_calls);
        fields.of_messages.extend(of_messages);
    }
    fields
}

/// The response as it was received, if this model sent it.
fn original<'r>(round: &'r ToolRound, model: &str) -> Option<&'r AssistantMessage> {
    round.assistant_message.as_deref().filter(|original| original.model == model)
}

fn round_to_messages(number: usize, round: &ToolRound, model: &str) -> [ChatMessage; 2] {
    let original = original(round, model);
    let original: Option<ChatMessage> =
        original.and_then(|original| serde_json::from_value(original.message.clone()).ok());
    let has_own_ids = original.as_ref().is_some_and(has_distinct_ids);
    // The length that the strictest provider requires.
    let new_id = |index: usize| format!("call{:05}", number * 100 + index);
    let id = |index: usize, call: &ToolCall| {
        if has_own_ids { call.id.clone() } else { new_id(index) }
    };
    let message = match original {
        Some(message) if has_own_ids => message,
        Some(message) => with_ids(message, &new_id),
        None => rebuild_message(round, &id),
    };
    let results = round.results.iter().enumerate().map(|(index, result)| {
        let name = sendable_name(&result.call.name);
        ToolResponse::new(id(index, &result.call), &*result.text).with_fn_name(name)
    });
    [sanitize_calls(message, round), ChatMessage::from(results.collect::<Vec<_>>())]
}

/// Whether each call has its own id. Providers match results to calls by id.
fn has_distinct_ids(message: &ChatMessage) -> bool {
    let calls = message.content.tool_calls();
    let ids = calls.iter().map(|call| &*call.call_id).filter(|id| !id.is_empty());
    ids.collect::<BTreeSet<&str>>().len() == calls.len()
}

/// The same message with new call ids.
fn with_ids(message: ChatMessage, new_id: &impl Fn(usize) -> String) -> ChatMessage {
    let mut index = 0;
    let parts = message.content.into_parts().into_iter().map(|part| match part {
        ContentPart::ToolCall(call) => {
            let call_id = new_id(index);
            index += 1;
            ContentPart::ToolCall(genai::chat::ToolCall { call_id, ..call })
        }
        part => part,
    });
    ChatMessage { content: MessageContent::from_parts(parts.collect::<Vec<_>>()), ..message }
}

/// Rebuilds a response that another model sent.
fn rebuild_message(round: &ToolRound, id: &impl Fn(usize, &ToolCall) -> String) -> ChatMessage {
    let text = Some(&round.text).filter(|text| !text.trim().is_empty());
    let text = text.map(|text| ContentPart::Text(text.clone()));
    let calls = round.results.iter().enumerate().map(|(index, result)| {
        ContentPart::ToolCall(genai::chat::ToolCall {
            call_id: id(index, &result.call),
            fn_name: result.call.name.clone(),
            fn_arguments: result.call.arguments.clone(),
            thought_signatures: None,
        })
    });
    ChatMessage::assistant(MessageContent::from_parts(
        text.into_iter().chain(calls).collect::<Vec<_>>(),
    ))
}

/// Keeps only the calls that have results, and replaces what a provider would reject.
fn sanitize_calls(message: ChatMessage, round: &ToolRound) -> ChatMessage {
    let mut remaining = round.results.len();
    let parts = message.content.into_parts().into_iter().filter_map(|part| match part {
        ContentPart::ToolCall(call) => {
            remaining = remaining.checked_sub(1)?;
            let fn_arguments = match call.fn_arguments {
                arguments @ Value::Object(_) => arguments,
                _ => Value::Object(Map::new()),
            };
            let fn_name = sendable_name(&call.fn_name).to_owned();
            Some(ContentPart::ToolCall(genai::chat::ToolCall { fn_name, fn_arguments, ..call }))
        }
        part => Some(part),
    });
    ChatMessage { content: MessageContent::from_parts(parts.collect::<Vec<_>>()), ..message }
}

fn sendable_name(name: &str) -> &str {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let is_name = (1..=64).contains(&name.len()) && name.bytes().all(is_allowed);
    if is_name { name } else { UNKNOWN_TOOL_NAME }
}

/// Recovers tool calls from the raw body. `genai` fails on a whole response if the arguments of one call are empty
/// or invalid JSON.
pub fn recover_tool_calls(error: Error) -> Result<ChatResponse, Error> {
    let Error::ChatResponseGeneration { model_iden, response_body, .. } = &error else {
        return Err(error);
    };
    let message = response_body.pointer("/choices/0/message");
    let calls = message.and_then(|message| message["tool_calls"].as_array());
    let Some((message, calls)) = message.zip(calls).filter(|(_, calls)| !calls.is_empty()) else {
        return Err(error);
    };
    let to_text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let text = Some(to_text(&message["content"])).filter(|text| !text.trim().is_empty());
    let calls = calls.iter().map(|call| {
        ContentPart::ToolCall(genai::chat::ToolCall {
            call_id: to_text(&call["id"]),
            fn_name: to_text(&call["function"]["name"]),
            fn_arguments: parse_arguments(&call["function"]["arguments"]),
            thought_signatures: None,
        })
    });
    // OpenRouter expects these back unchanged, before the rest.
    let details = message["reasoning_details"].as_array().into_iter().flatten();
    let details = details.filter(|detail| detail.is_object());
    let details =
        details.map(|detail| ContentPart::from_custom(detail.clone(), Some(model_iden.clone())));
    let parts = details.chain(text.map(ContentPart::Text)).chain(calls).collect::<Vec<_>>();
    let thought = ["reasoning", "reasoning_content"].iter().find_map(|key| message[*key].as_str());
    let stopped = response_body.pointer("/choices/0/finish_reason").and_then(Value::as_str);
    let usage = serde_json::from_value::<Usage>(response_body["usage"].clone());
    Ok(ChatResponse {
        content: MessageContent::from_parts(parts),
        reasoning_content: thought.map(str::to_owned),
        model_iden: model_iden.clone(),
        provider_model_iden: model_iden.clone(),
        stop_reason: stopped.map(|stopped| StopReason::from(stopped.to_owned())),
        usage: usage.unwrap_or_default(),
        captured_raw_body: Some((**response_body).clone()),
        response_id: None,
    })
}

fn parse_arguments(arguments: &Value) -> Value {
    match arguments {
        Value::String(text) if text.trim().is_empty() => Value::Object(Map::new()),
        Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| arguments.clone()),
        Value::Null => Value::Object(Map::new()),
        Value::Object(_) | Value::Array(_) | Value::Bool(_) | Value::Number(_) => arguments.clone(),
    }
}
