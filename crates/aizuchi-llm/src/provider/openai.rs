//! OpenAI's chat completions, which most other providers and servers speak, too.

use serde_json::{Map, Value, json};

use crate::prompt::tool::ToolCall;
use crate::provider::chat::{ChatRequest, ChatResponse, MINIMAL_USER_TURN, Stop, joined, list};
use crate::provider::tools::ToolTurn;
use crate::provider_list::Provider;

/// What the names of models begin with that know the limit by its newer name only.
const NEW_LIMIT_NAMES: [&str; 5] = ["gpt-5", "gpt-6", "o1", "o3", "o4"];
/// Fields of a call that are sent back with it: Gemini's signature behind this API, as sent by its own server and by
/// LiteLLM.
const CALL_FIELDS: [&str; 2] = ["extra_content", "provider_specific_fields"];
/// Fields of a message with calls that are sent back with it: the signed thinking of an Anthropic model behind
/// OpenRouter and behind LiteLLM.
const MESSAGE_FIELDS: [&str; 2] = ["reasoning_details", "thinking_blocks"];

pub fn body(request: &ChatRequest) -> Value {
    let params = &request.params;
    let mut messages = vec![json!({ "role": "system", "content": request.system })];
    if request.has_user_turn {
        messages.push(json!({ "role": "user", "content": user_content(request) }));
    }
    messages.extend(request.turns.iter().flat_map(turn_messages));
    let tools = request.tools.iter().map(|tool| {
        let (name, description, parameters) = (&tool.name, &tool.description, &tool.parameters);
        let function = json!({
            "name": name, "description": description, "parameters": parameters, "strict": false,
        });
        json!({ "type": "function", "function": function })
    });
    let schema = request.schema.as_ref().map(|(name, schema)| {
        let schema = json!({ "name": name, "strict": true, "schema": schema });
        json!({ "type": "json_schema", "json_schema": schema })
    });
    let (thinking, effort) = match (request.provider, params.reasoning_effort.as_deref()) {
        // DeepSeek has a switch for thinking.
        (Provider::DeepSeek, Some("none")) => (Some(json!({ "type": "disabled" })), None),
        (Provider::DeepSeek, Some(effort)) => (Some(json!({ "type": "enabled" })), Some(effort)),
        (_, effort) => (None, effort),
    };
    let has_new_limit = NEW_LIMIT_NAMES.iter().any(|name| request.model_name.starts_with(name));
    let limit = match has_new_limit || request.is_limit_renamed {
        true => "max_completion_tokens",
        false => "max_tokens",
    };
    let seed = if request.provider == Provider::Mistral { "random_seed" } else { "seed" };
    json!({
        "model": request.model_name,
        "stream": false,
        "thinking": thinking,
        "reasoning_effort": effort,
        "tools": (!request.tools.is_empty()).then(|| tools.collect::<Vec<_>>()),
        "messages": messages,
        "response_format": schema,
        "temperature": params.temperature,
        "stop": (!params.stop.is_empty()).then_some(&params.stop),
        (limit): request.max_tokens,
        "top_p": params.top_p,
        (seed): params.seed,
        "prompt_cache_key": request.cache_key,
    })
}

fn user_content(request: &ChatRequest) -> Value {
    let Some(picture) = request.picture else { return MINIMAL_USER_TURN.into() };
    let url = format!("data:{};base64,{}", picture.media_type, picture.to_base64());
    json!([
        { "type": "image_url", "image_url": { "url": url } },
        { "type": "text", "text": MINIMAL_USER_TURN },
    ])
}

fn turn_messages(turn: &ToolTurn) -> Vec<Value> {
    let rebuilt = || json!({ "role": "assistant", "content": turn.text });
    let mut message = turn.original.cloned().unwrap_or_else(rebuilt);
    let calls = turn.calls.iter().enumerate().map(|(index, call)| {
        let mut sent = message["tool_calls"][index].clone();
        sent["id"] = json!(call.id);
        sent["type"] = json!("function");
        sent["function"] = json!({ "name": call.name, "arguments": call.arguments.to_string() });
        sent
    });
    let calls = calls.collect();
    message["tool_calls"] = calls;
    let results = turn
        .calls
        .iter()
        .map(|call| json!({ "role": "tool", "tool_call_id": call.id, "content": call.result }));
    [message].into_iter().chain(results).collect()
}

pub fn parse(body: &Value) -> ChatResponse {
    let choice = &body["choices"][0];
    let message = &choice["message"];
    let content = &message["content"];
    // Mistral's models that think write a list of parts.
    let parts = list(content);
    let text = match content {
        Value::String(text) => text.trim().to_owned(),
        _ => joined(parts.iter().map(|part| &part["text"]), "").trim().to_owned(),
    };
    let shown = ["reasoning", "reasoning_content"].iter().find_map(|key| message[*key].as_str());
    let inner = parts.iter().map(|part| &part["thinking"]);
    let inner = inner.flat_map(|thinking| match thinking {
        Value::Array(parts) => parts.iter().map(|part| &part["text"]).collect(),
        thinking => vec![thinking],
    });
    let thinking = shown.map_or_else(|| joined(inner, ""), |shown| shown.trim().to_owned());
    let raw_calls = list(&message["tool_calls"]);
    let mut sent_back = with_fields(message, &MESSAGE_FIELDS);
    sent_back["role"] = json!("assistant");
    sent_back["content"] = match content {
        Value::Array(_) => content.clone(),
        // A proxy that translates for another provider may replace an empty text with a placeholder, which the model
        // then reads as its own words.
        _ => json!(Some(&text).filter(|text| !text.is_empty())),
    };
    // Groq sends it as `reasoning` and takes it back under neither name.
    if message["reasoning_content"].is_string() && !thinking.is_empty() {
        sent_back["reasoning_content"] = json!(thinking);
    }
    sent_back["tool_calls"] =
        raw_calls.iter().map(|call| with_fields(call, &CALL_FIELDS)).collect();
    let has_refused = message["refusal"].as_str().is_some_and(|refusal| !refusal.is_empty());
    ChatResponse {
        text,
        thinking,
        calls: raw_calls.iter().map(parse_call).collect(),
        stop: if has_refused {
            Stop::Declined
        } else {
            Stop::from_reason(&choice["finish_reason"])
        },
        message: sent_back,
    }
}

/// The fields of an object that have these names.
fn with_fields(object: &Value, names: &[&str]) -> Value {
    let fields = names.iter().map(|name| (*name, &object[*name]));
    let fields = fields.filter(|(_, value)| !value.is_null());
    fields.map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

fn parse_call(call: &Value) -> ToolCall {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let arguments = &call["function"]["arguments"];
    let arguments = match arguments {
        Value::String(text) if text.trim().is_empty() => Value::Object(Map::new()),
        Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| arguments.clone()),
        Value::Null => Value::Object(Map::new()),
        Value::Object(_) | Value::Array(_) | Value::Bool(_) | Value::Number(_) => arguments.clone(),
    };
    ToolCall { id: text(&call["id"]), name: text(&call["function"]["name"]), arguments }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinking_goes_back_under_the_name_that_servers_take() {
        for (name, is_sent_back) in [("reasoning_content", true), ("reasoning", false)] {
            let mut message = json!({ "content": "It is noon." });
            message[name] = json!("They ask for the time.");
            let response = parse(&json!({ "choices": [{ "message": message }] }));
            assert_eq!(response.thinking, "They ask for the time.", "{name}");
            assert_eq!(response.message["reasoning_content"].is_string(), is_sent_back, "{name}");
        }
    }

    #[test]
    fn only_a_refusal_with_words_is_one() {
        for (refusal, stop) in [
            (json!(""), Stop::Finished),
            (json!(null), Stop::Finished),
            (json!("No."), Stop::Declined),
        ] {
            let message = json!({ "content": "Noon.", "refusal": refusal });
            let choice = json!({ "message": message, "finish_reason": "stop" });
            assert_eq!(parse(&json!({ "choices": [choice] })).stop, stop, "{refusal}");
        }
    }
}
