//! Tools in the APIs of three providers: what each rejects, and the format of its calls.

use serde_json::{Map, Value, json};

use crate::providers::ProviderApi;

/// A call as the model wrote it: its id, its name, and its arguments, valid JSON or not.
pub type Written = (String, String, String);

/// Why the provider would reject the tools and the tool results of a request, if it would.
pub fn complaint(api: ProviderApi, body: &Value) -> Option<&'static str> {
    match api {
        ProviderApi::OpenAi => openai(body),
        ProviderApi::Anthropic => anthropic(body),
        ProviderApi::Gemini => gemini(body),
    }
}

fn openai(body: &Value) -> Option<&'static str> {
    let functions = list(&body["tools"]).iter().map(|tool| &tool["function"]);
    if !functions.clone().all(|function| is_tool(function, "parameters")) {
        return Some("tools: not a function");
    }
    let messages = list(&body["messages"]);
    for (place, message) in messages.iter().enumerate() {
        let calls = list(&message["tool_calls"]);
        let results = &messages[(place + 1).min(messages.len())..];
        let results = results.iter().take(calls.len()).filter(|result| result["role"] == "tool");
        let answered: Vec<&Value> = results.clone().map(|result| &result["tool_call_id"]).collect();
        let called: Vec<&Value> = calls.iter().map(|call| &call["id"]).collect();
        let is_object = |call: &Value| {
            let text = call["function"]["arguments"].as_str().unwrap_or_default();
            serde_json::from_str::<Map<String, Value>>(text).is_ok()
        };
        match () {
            () if called != answered => return Some("each tool_call_id must be answered"),
            () if !calls.iter().all(is_object) => return Some("arguments are no JSON object"),
            () if !results.clone().all(|result| is_text(&result["content"])) => {
                return Some("a tool message has no content");
            }
            () if !calls.iter().all(|call| is_name(&call["function"]["name"])) => {
                return Some("invalid function name");
            }
            () => {}
        }
    }
    let tool_messages = messages.iter().filter(|message| message["role"] == "tool").count();
    let calls = messages.iter().map(|message| list(&message["tool_calls"]).len()).sum::<usize>();
    (tool_messages != calls).then_some("a tool message answers no call")
}

fn anthropic(body: &Value) -> Option<&'static str> {
    let tools = list(&body["tools"]);
    if !tools.iter().all(|tool| is_tool(tool, "input_schema")) {
        return Some("tools: not a custom tool");
    }
    let messages = list(&body["messages"]);
    let blocks = |place: usize, kind: &str| -> Vec<&Value> {
        let content = messages.get(place).map_or(&[][..], |message| list(&message["content"]));
        content.iter().filter(|block| block["type"] == kind).collect()
    };
    for (place, message) in messages.iter().enumerate() {
        let (uses, results) = (blocks(place, "tool_use"), blocks(place + 1, "tool_result"));
        let called: Vec<&Value> = uses.iter().map(|block| &block["id"]).collect();
        let answered: Vec<&Value> = results.iter().map(|block| &block["tool_use_id"]).collect();
        let role = if place % 2 == 0 { "user" } else { "assistant" };
        match () {
            () if message["role"] != role => return Some("roles must alternate"),
            () if called != answered => return Some("tool_use ids without tool_result blocks"),
            () if !called.is_empty() && tools.is_empty() => return Some("define the tools"),
            () if !uses.iter().all(|block| block["input"].is_object()) => {
                return Some("input should be a valid dictionary");
            }
            () if !uses.iter().all(|block| is_name(&block["name"]) && is_name(&block["id"])) => {
                return Some("string should match pattern");
            }
            () if !results.iter().all(|block| is_text(&block["content"])) => {
                return Some("tool_result without content");
            }
            () => {}
        }
    }
    None
}

fn gemini(body: &Value) -> Option<&'static str> {
    let declared = list(&body["tools"]).iter();
    let mut declared = declared.flat_map(|tool| list(&tool["functionDeclarations"]));
    if !declared.all(|tool| is_tool(tool, "parametersJsonSchema")) {
        return Some("tools: not a declaration");
    }
    let contents = list(&body["contents"]);
    let parts = |place: usize, kind: &str| -> Vec<&Value> {
        let parts = contents.get(place).map_or(&[][..], |content| list(&content["parts"]));
        parts.iter().map(|part| &part[kind]).filter(|part| !part.is_null()).collect()
    };
    for (place, content) in contents.iter().enumerate() {
        let (calls, results) = (parts(place, "functionCall"), parts(place + 1, "functionResponse"));
        let called: Vec<[&Value; 2]> =
            calls.iter().map(|call| [&call["id"], &call["name"]]).collect();
        let answered: Vec<[&Value; 2]> =
            results.iter().map(|result| [&result["id"], &result["name"]]).collect();
        let role = if place % 2 == 0 { "user" } else { "model" };
        match () {
            () if content["role"] != role => return Some("please ensure that turns alternate"),
            () if called != answered => return Some("function response parts do not match calls"),
            () if !calls.iter().all(|call| call["args"].is_object()) => {
                return Some("args: Struct");
            }
            () if !calls.iter().all(|call| is_name(&call["name"])) => return Some("invalid name"),
            () if !results.iter().all(|result| result["response"].is_object()) => {
                return Some("response: Struct");
            }
            () => {}
        }
    }
    None
}

/// The part of the assistant's message that holds these calls.
pub fn message(api: ProviderApi, text: &str, calls: &[Written]) -> Value {
    let object = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
    match api {
        ProviderApi::OpenAi => {
            let calls = calls.iter().enumerate().map(|(place, (id, name, arguments))| {
                let mut call = json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
                // Gemini does this behind this API.
                if place == 0 {
                    call["extra_content"] =
                        json!({ "google": { "thought_signature": "signed-beside-the-call" } });
                }
                call
            });
            let content = if text.is_empty() { Value::Null } else { json!(text) };
            // OpenRouter does this.
            let thought = json!({ "type": "reasoning.encrypted", "data": "signed-by-openrouter", "index": 0 });
            // LiteLLM does this for Anthropic.
            let hidden = json!({ "type": "redacted_thinking", "data": "hidden-behind-litellm" });
            json!({
                "role": "assistant", "content": content, "tool_calls": calls.collect::<Vec<_>>(),
                "reasoning_details": [thought], "thinking_blocks": [hidden],
            })
        }
        ProviderApi::Anthropic => {
            // The model thinks before it calls, and its thoughts are signed or hidden.
            let thought =
                json!({ "type": "thinking", "thinking": "hm", "signature": "signed-by-anthropic" });
            let hidden = json!({ "type": "redacted_thinking", "data": "hidden-by-anthropic" });
            let words = (!text.is_empty()).then(|| json!({ "type": "text", "text": text }));
            let calls = calls.iter().map(|(id, name, arguments)| {
                json!({ "type": "tool_use", "id": id, "name": name, "input": object(arguments) })
            });
            [thought, hidden].into_iter().chain(words).chain(calls).collect()
        }
        ProviderApi::Gemini => {
            let words = (!text.is_empty()).then(|| json!({ "text": text }));
            let calls = calls.iter().enumerate().map(|(place, (_, name, arguments))| {
                let mut part =
                    json!({ "functionCall": { "name": name, "args": object(arguments) } });
                if place == 0 {
                    part["thoughtSignature"] = json!("signed-by-gemini");
                }
                part
            });
            words.into_iter().chain(calls).collect()
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn is_tool(tool: &Value, parameters: &str) -> bool {
    is_name(&tool["name"]) && is_text(&tool["description"]) && tool[parameters]["type"] == "object"
}

fn is_name(value: &Value) -> bool {
    value.as_str().is_some_and(|name| {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        (1..=64).contains(&name.len()) && name.bytes().all(is_allowed)
    })
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}
