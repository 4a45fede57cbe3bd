//! Gemini's `generateContent`, which Vertex AI has, too.

use serde_json::{Value, json};

use crate::prompt::tool::ToolCall;
use crate::provider::chat::{
    ChatRequest, ChatResponse, MINIMAL_USER_TURN, Stop, joined, list, without_nulls,
};
use crate::provider::output_limit::thinks_by_default;
use crate::provider::tools::ToolTurn;

/// The smallest budget of models that cannot turn thinking off.
const LEAST_BUDGET: u32 = 128;
/// What Gemini 3 takes in place of the signature that the first call of a turn must have.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

pub fn body(request: &ChatRequest) -> Value {
    let params = &request.params;
    let mut contents = vec![json!({ "role": "user", "parts": user_parts(request) })];
    contents.extend(request.turns.iter().flat_map(|turn| turn_contents(turn, request.model_name)));
    let tools = request.tools.iter().map(|tool| {
        let (name, description, schema) = (&tool.name, &tool.description, &tool.parameters);
        json!({ "name": name, "description": description, "parametersJsonSchema": schema })
    });
    let schema = request.schema.as_ref().map(|(_, schema)| schema);
    let effort = params.reasoning_effort.as_deref();
    let config = without_nulls(json!({
        "thinkingConfig": effort.and_then(|effort| thinking(request.model_name, effort)),
        "responseMimeType": schema.map(|_| "application/json"),
        "responseJsonSchema": schema,
        "temperature": params.temperature,
        "stopSequences": (!params.stop.is_empty()).then_some(&params.stop),
        "maxOutputTokens": request.max_tokens,
        "topP": params.top_p,
        "seed": params.seed,
    }));
    let declared = || json!([{ "functionDeclarations": tools.collect::<Vec<_>>() }]);
    json!({
        "systemInstruction": { "parts": [{ "text": request.system }] },
        "tools": (!request.tools.is_empty()).then(declared),
        "contents": contents,
        "generationConfig": config,
    })
}

fn user_parts(request: &ChatRequest) -> Value {
    let Some(picture) = request.picture else { return json!([{ "text": MINIMAL_USER_TURN }]) };
    let data = json!({ "mime_type": picture.media_type, "data": picture.to_base64() });
    json!([{ "inline_data": data }, { "text": MINIMAL_USER_TURN }])
}

/// Newer models take a level, older ones a budget. The larger ones cannot turn thinking off.
fn thinking(name: &str, effort: &str) -> Option<Value> {
    let has_levels = ["gemini-3", "gemma-4"].iter().any(|known| name.contains(known));
    let is_large = name.contains("pro");
    if has_levels {
        let level = match effort {
            "none" if is_large => "LOW".to_owned(),
            "none" => "MINIMAL".to_owned(),
            effort => effort.to_uppercase(),
        };
        return Some(json!({ "thinkingLevel": level }));
    }
    let budget = match effort {
        // A model that does not think rejects a budget.
        "none" if !thinks_by_default(name) => return None,
        "none" if is_large => LEAST_BUDGET,
        "none" => 0,
        "minimal" | "low" => 1000,
        "medium" => 8000,
        _ => 24_000,
    };
    Some(json!({ "thinkingBudget": budget }))
}

fn turn_contents(turn: &ToolTurn, model_name: &str) -> [Value; 2] {
    let rebuilt = || {
        let text = turn.text.map(|text| json!({ "text": text }));
        let calls = turn.calls.iter().map(|call| json!({ "functionCall": { "id": call.id } }));
        text.into_iter().chain(calls).collect()
    };
    let parts = turn.original.map_or_else(rebuilt, |original| list(original).to_vec());
    let mut calls = turn.calls.iter();
    let (mut sent, mut results) = (Vec::new(), Vec::new());
    for mut part in parts {
        if let Some(function) = part.get_mut("functionCall") {
            // A call without a result is left out.
            let Some(call) = calls.next() else { continue };
            // Calls that came without an id are matched in order.
            let id = function.get("id").map(|_| &call.id);
            let response = json!({ "name": call.name, "content": call.result });
            let result = json!({ "id": id, "name": call.name, "response": response });
            let result = without_nulls(result);
            *function =
                without_nulls(json!({ "id": id, "name": call.name, "args": call.arguments }));
            let is_unsigned = results.is_empty() && part.get("thoughtSignature").is_none();
            if is_unsigned && model_name.contains("gemini-3") {
                part["thoughtSignature"] = json!(NO_SIGNATURE);
            }
            results.push(json!({ "functionResponse": result }));
        }
        sent.push(part);
    }
    [json!({ "role": "model", "parts": sent }), json!({ "role": "user", "parts": results })]
}

pub fn parse(body: &Value) -> ChatResponse {
    let candidate = &body["candidates"][0];
    let is_blocked = candidate.is_null() && body.get("promptFeedback").is_some();
    let parts = list(&candidate["content"]["parts"]);
    let is_thought = |part: &&Value| part["thought"] == true;
    let (thoughts, parts): (Vec<&Value>, Vec<&Value>) = parts.iter().partition(is_thought);
    let functions = parts.iter().filter_map(|part| part.get("functionCall"));
    let calls = functions.enumerate().map(|(index, call)| {
        let name = call["name"].as_str().unwrap_or_default();
        let id = call["id"].as_str().map(str::to_owned);
        ToolCall {
            id: id.unwrap_or_else(|| format!("{name}#{index}")),
            name: name.to_owned(),
            arguments: call["args"].clone(),
        }
    });
    let calls = calls.collect();
    // Signatures are sent back in the place where they were.
    let is_sent_back = |part: &&&Value| {
        let has = |key| part.get(key).is_some();
        has("functionCall") || has("thoughtSignature") || part["text"].as_str() > Some("")
    };
    ChatResponse {
        text: joined(parts.iter().map(|part| &part["text"]), ""),
        thinking: joined(thoughts.iter().map(|part| &part["text"]), ""),
        calls,
        stop: match is_blocked {
            true => Stop::Declined,
            false => Stop::from_reason(&candidate["finishReason"]),
        },
        message: parts.iter().filter(is_sent_back).map(|part| (*part).clone()).collect(),
    }
}
