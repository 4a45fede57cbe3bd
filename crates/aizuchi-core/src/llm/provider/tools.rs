//! Tools on the wire: how they are offered, how calls are read, and how calls and results are sent
//! back. Providers refuse a conversation in which a call is not as they would write it, so what a
//! model has garbled is not repeated to it; the result tells it what was wrong.

use std::collections::BTreeSet;
use std::sync::Arc;

use genai::Error;
use genai::chat::{
    ChatMessage, ChatResponse, ContentPart, MessageContent, StopReason, Tool, ToolResponse, Usage,
};
use serde_json::{Map, Value};

use crate::prompt::tool::{AssistantMessage, ToolCall, ToolRound, ToolSpec};

/// What stands for a name that no tool can have.
const UNKNOWN_TOOL_NAME: &str = "unknown";

pub fn to_genai_tools(tools: &[ToolSpec]) -> Vec<Tool> {
    let offered = tools.iter().map(|tool| {
        let schema = tool.parameters.clone();
        Tool::new(tool.name).with_description(tool.description).with_schema(schema)
    });
    offered.collect()
}

/// The calls of an answer, in their order.
pub fn tool_calls(response: &ChatResponse) -> Vec<ToolCall> {
    let called = response.content.tool_calls().into_iter().map(|call| ToolCall {
        id: call.call_id.clone(),
        name: call.fn_name.clone(),
        arguments: call.fn_arguments.clone(),
    });
    called.collect()
}

/// The answer as it came, unless its calls cannot be told apart.
pub fn assistant_message(response: &ChatResponse, model: &str) -> Option<Arc<AssistantMessage>> {
    let ids: Vec<&str> =
        response.content.tool_calls().into_iter().map(|call| &*call.call_id).collect();
    let distinct: BTreeSet<&str> = ids.iter().copied().filter(|id| !id.is_empty()).collect();
    if ids.is_empty() || distinct.len() != ids.len() {
        return None;
    }
    let message = response.clone().into_assistant_message_for_tool_use()?;
    let message = serde_json::to_value(message).ok()?;
    Some(Arc::new(AssistantMessage { model: model.to_owned(), message }))
}

/// What has been called and answered, as turns behind the question.
pub fn to_chat_messages(rounds: &[ToolRound], model: &str) -> Vec<ChatMessage> {
    rounds
        .iter()
        .enumerate()
        .flat_map(|(number, round)| round_to_messages(number, round, model))
        .collect()
}

fn round_to_messages(number: usize, round: &ToolRound, model: &str) -> [ChatMessage; 2] {
    let own = round.assistant_message.as_ref().filter(|echo| echo.model == model);
    let own = own.and_then(|echo| serde_json::from_value(echo.message.clone()).ok());
    let has_own_ids = own.is_some();
    let id = |place: usize, call: &ToolCall| {
        // As long as the provider that is the most particular about it wants it.
        if has_own_ids { call.id.clone() } else { format!("call{:05}", number * 100 + place) }
    };
    let called = own.unwrap_or_else(|| rebuild_message(round, &id));
    let results = round.results.iter().enumerate().map(|(place, done)| {
        let name = sendable_name(&done.call.name);
        ToolResponse::new(id(place, &done.call), &*done.text).with_fn_name(name)
    });
    [sanitize_calls(called, round), ChatMessage::from(results.collect::<Vec<_>>())]
}

/// The answer of another model, or of one whose calls had no names of their own.
fn rebuild_message(round: &ToolRound, id: &impl Fn(usize, &ToolCall) -> String) -> ChatMessage {
    let said = Some(&round.text).filter(|said| !said.trim().is_empty());
    let words = said.map(|said| ContentPart::Text(said.clone()));
    let calls = round.results.iter().enumerate().map(|(place, done)| {
        ContentPart::ToolCall(genai::chat::ToolCall {
            call_id: id(place, &done.call),
            fn_name: done.call.name.clone(),
            fn_arguments: done.call.arguments.clone(),
            thought_signatures: None,
        })
    });
    ChatMessage::assistant(MessageContent::from_parts(
        words.into_iter().chain(calls).collect::<Vec<_>>(),
    ))
}

/// Only calls that have results, and nothing in them that a provider would refuse.
fn sanitize_calls(message: ChatMessage, round: &ToolRound) -> ChatMessage {
    let mut left = round.results.len();
    let parts = message.content.into_parts().into_iter().filter_map(|part| match part {
        ContentPart::ToolCall(call) => {
            left = left.checked_sub(1)?;
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
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let is_name = (1..=64).contains(&name.len()) && name.bytes().all(is_letter);
    if is_name { name } else { UNKNOWN_TOOL_NAME }
}

/// `genai` gives up a whole answer for one call whose arguments are no JSON, or nothing at all where
/// there are none. Such calls are read as they came.
pub fn recover_tool_calls(error: Error) -> Result<ChatResponse, Error> {
    let Error::ChatResponseGeneration { model_iden, response_body, .. } = &error else {
        return Err(error);
    };
    let message = response_body.pointer("/choices/0/message");
    let calls = message.and_then(|message| message["tool_calls"].as_array());
    let Some((message, calls)) = message.zip(calls).filter(|(_, calls)| !calls.is_empty()) else {
        return Err(error);
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let words = Some(text(&message["content"])).filter(|words| !words.trim().is_empty());
    let calls = calls.iter().map(|call| {
        ContentPart::ToolCall(genai::chat::ToolCall {
            call_id: text(&call["id"]),
            fn_name: text(&call["function"]["name"]),
            fn_arguments: parse_arguments(&call["function"]["arguments"]),
            thought_signatures: None,
        })
    });
    let parts = words.map(ContentPart::Text).into_iter().chain(calls).collect::<Vec<_>>();
    let stopped = response_body.pointer("/choices/0/finish_reason").and_then(Value::as_str);
    let usage = serde_json::from_value::<Usage>(response_body["usage"].clone());
    Ok(ChatResponse {
        content: MessageContent::from_parts(parts),
        reasoning_content: message["reasoning_content"].as_str().map(str::to_owned),
        model_iden: model_iden.clone(),
        provider_model_iden: model_iden.clone(),
        stop_reason: stopped.map(|stopped| StopReason::from(stopped.to_owned())),
        usage: usage.unwrap_or_default(),
        captured_raw_body: Some((**response_body).clone()),
        response_id: None,
    })
}

fn parse_arguments(sent: &Value) -> Value {
    match sent {
        Value::String(text) if text.trim().is_empty() => Value::Object(Map::new()),
        Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| sent.clone()),
        Value::Null => Value::Object(Map::new()),
        Value::Object(_) | Value::Array(_) | Value::Bool(_) | Value::Number(_) => sent.clone(),
    }
}
