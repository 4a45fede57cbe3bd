//! Anthropic's messages.

use serde_json::{Value, json};

use crate::prompt::tool::ToolCall;
use crate::provider::chat::{
    ChatRequest, ChatResponse, MINIMAL_USER_TURN, Stop, joined, list, without_nulls,
};
use crate::provider::output_limit::{claude_version, is_always_thinking};
use crate::provider::prefix_cache::marked_parts;
use crate::provider::tools::ToolTurn;

/// The smallest budget for thinking that the API takes.
const MIN_BUDGET: u32 = 1024;
/// What a budget leaves of the limit for the answer, if the limit has room for both, and at least.
const ANSWER_TOKENS: u32 = 1024;
const MIN_ANSWER_TOKENS: u32 = 256;

pub fn body(request: &ChatRequest) -> Value {
    let params = &request.params;
    let system = match &*request.cache_marks {
        [] => json!(request.system),
        marks => json!(marked_parts(&request.system, marks)),
    };
    let mut messages = vec![json!({ "role": "user", "content": user_content(request) })];
    messages.extend(request.turns.iter().flat_map(turn_messages));
    let tools = request.tools.iter().map(|tool| {
        let (name, description, schema) = (&tool.name, &tool.description, &tool.parameters);
        json!({ "name": name, "description": description, "input_schema": schema })
    });
    let effort = params.reasoning_effort.as_deref();
    let (thinking, effort) = effort.map_or_else(Default::default, |effort| {
        thinking(request.model_name, effort, request.max_tokens)
    });
    let schema = request.schema.as_ref();
    let output = without_nulls(json!({
        "effort": effort,
        "format": schema.map(|(_, schema)| json!({ "type": "json_schema", "schema": schema })),
    }));
    json!({
        "model": request.model_name,
        "stream": false,
        "system": system,
        "tools": (!request.tools.is_empty()).then(|| tools.collect::<Vec<_>>()),
        "messages": messages,
        "thinking": thinking,
        "output_config": Some(output).filter(|output| *output != json!({})),
        "temperature": params.temperature,
        "stop_sequences": (!params.stop.is_empty()).then_some(&params.stop),
        "max_tokens": request.max_tokens,
        "top_p": params.top_p,
    })
}

fn user_content(request: &ChatRequest) -> Value {
    let Some(picture) = request.picture else { return MINIMAL_USER_TURN.into() };
    let (kind, data) = (picture.media_type, picture.to_base64());
    json!([
        { "type": "image", "source": { "type": "base64", "media_type": kind, "data": data } },
        { "type": "text", "text": MINIMAL_USER_TURN },
    ])
}

/// The switch for thinking, and the effort, as far as a model knows them.
fn thinking<'e>(
    model_name: &str,
    effort: &'e str,
    max_tokens: u32,
) -> (Option<Value>, Option<&'e str>) {
    let name = model_name.to_lowercase();
    let version = claude_version(&name).unwrap_or_default();
    let has_effort = version >= (4, 6) || (version == (4, 5) && name.contains("opus"));
    match effort {
        "none" if version >= (5, 0) && !is_always_thinking(&name) => {
            (Some(json!({ "type": "disabled" })), None)
        }
        "none" => (None, None),
        effort if has_effort => {
            let thinking = (version >= (4, 6)).then(|| json!({ "type": "adaptive" }));
            (thinking, Some(if effort == "minimal" { "low" } else { effort }))
        }
        effort => {
            let budget = match effort {
                "minimal" | "low" => MIN_BUDGET,
                "medium" => 8000,
                _ => 24_000,
            };
            // Thinking counts towards the limit, and a budget at or above the limit is refused.
            let budget = budget.min(max_tokens.saturating_sub(ANSWER_TOKENS).max(MIN_BUDGET));
            let thinking = json!({ "type": "enabled", "budget_tokens": budget });
            (Some(thinking).filter(|_| budget + MIN_ANSWER_TOKENS <= max_tokens), None)
        }
    }
}

fn turn_messages(turn: &ToolTurn) -> [Value; 2] {
    let rebuilt = || {
        let text = turn.text.map(|text| json!({ "type": "text", "text": text }));
        text.into_iter().chain(turn.calls.iter().map(|_| json!({ "type": "tool_use" }))).collect()
    };
    let blocks = turn.original.map_or_else(rebuilt, |original| list(original).to_vec());
    let mut calls = turn.calls.iter();
    let blocks = blocks.into_iter().filter_map(|mut block| {
        if block["type"] == "tool_use" {
            // A call without a result is left out.
            let call = calls.next()?;
            block["id"] = json!(call.id);
            block["name"] = json!(call.name);
            block["input"] = call.arguments.clone();
        }
        Some(block)
    });
    let results = turn.calls.iter().map(
        |call| json!({ "type": "tool_result", "tool_use_id": call.id, "content": call.result }),
    );
    [
        json!({ "role": "assistant", "content": blocks.collect::<Vec<_>>() }),
        json!({ "role": "user", "content": results.collect::<Vec<_>>() }),
    ]
}

fn is_blank_text(block: &Value) -> bool {
    block["type"] == "text" && block["text"].as_str().is_none_or(|text| text.trim().is_empty())
}

pub fn parse(body: &Value) -> ChatResponse {
    let blocks = list(&body["content"]);
    let of_kind = |kind: &'static str| blocks.iter().filter(move |block| block["type"] == kind);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let calls = of_kind("tool_use").map(|block| ToolCall {
        id: text(&block["id"]),
        name: text(&block["name"]),
        arguments: block["input"].clone(),
    });
    ChatResponse {
        text: joined(of_kind("text").map(|block| &block["text"]), "\n\n"),
        thinking: joined(of_kind("thinking").map(|block| &block["thinking"]), "\n"),
        calls: calls.collect(),
        stop: Stop::from_reason(&body["stop_reason"]),
        // The API refuses a blank text that it has sent itself.
        message: blocks.iter().filter(|block| !is_blank_text(block)).cloned().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_for_thinking_stays_below_the_limit() {
        for (effort, limit, expected) in [
            ("high", 100_000, Some(24_000)),
            ("high", 2048, Some(1024)),
            ("medium", 8200, Some(7176)),
            ("low", 1280, Some(1024)),
            ("low", 1279, None),
            ("low", 1, None),
        ] {
            let (thinking, _) = thinking("claude-opus-4-1", effort, limit);
            let budget = thinking.and_then(|thinking| thinking["budget_tokens"].as_u64());
            assert_eq!(budget, expected, "{effort} within {limit}");
        }
    }

    #[test]
    fn a_blank_text_beside_a_call_is_not_sent_back() {
        let call = json!({ "type": "tool_use", "id": "1", "name": "clock", "input": {} });
        let thought = json!({ "type": "thinking", "thinking": "", "signature": "s" });
        let body = json!({ "content": [thought, { "type": "text", "text": " \n" }, call] });
        assert_eq!(parse(&body).message, json!([thought, call]));
    }
}
