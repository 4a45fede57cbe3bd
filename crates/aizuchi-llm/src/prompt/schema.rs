//! JSON schemas of responses. They use only what every provider's strict mode accepts: no ranges, every field
//! required, `anyOf` for nullable fields.

use aizuchi_model::context::state::ConversationState;
use aizuchi_model::rules::Mode;
use serde_json::{Map, Value, json};

use crate::prompt::Prompt;

/// The fields of [`aizuchi_model::decision::Judgment`] that the prompt asks for.
pub fn judgment_schema(prompt: &Prompt) -> Value {
    let or_null = |kind: &str| json!({ "anyOf": [{ "type": kind }, { "type": "null" }] });
    let mut fields = vec![
        ("should_respond", json!({ "type": "boolean" })),
        ("reason", json!({ "type": "string" })),
        ("confidence", json!({ "type": "number" })),
        ("delay_seconds", or_null("integer")),
        ("about", or_null("string")),
    ];
    let is_facilitator = prompt.judge_options.mode == Mode::Facilitator;
    if !is_facilitator {
        fields.push(("look_again_seconds", or_null("integer")));
    }
    if prompt.judge_options.known_state.is_none() {
        let states = ConversationState::ALL.map(ConversationState::name);
        fields.push(("conversation_state", json!({ "type": "string", "enum": states })));
    }
    if !prompt.judge_options.reactions.is_empty() {
        let emoji = json!({ "type": "string", "enum": prompt.judge_options.reactions });
        fields.push(("reaction", json!({ "anyOf": [emoji, { "type": "null" }] })));
    }
    let has_intervened = prompt.context.circumstances.last_intervention.is_some();
    if is_facilitator && has_intervened {
        fields.push(("same_conversation", json!({ "type": "boolean" })));
        fields.push(("situation_changed", json!({ "type": "boolean" })));
    }
    if !prompt.context.standing_orders.is_empty() {
        fields.push(("order", or_null("integer")));
    }
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let fields: Map<String, Value> =
        fields.iter().map(|(name, kind)| ((*name).to_owned(), kind.clone())).collect();
    json!({
        "type": "object",
        "properties": fields,
        "required": names,
        "additionalProperties": false,
    })
}

/// The schema of a memory: dated entries, each with the numbers of its sources.
pub fn memory_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "entries": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "date": { "type": "string" },
                        "text": { "type": "string" },
                        "sources": { "type": "array", "items": { "type": "integer" } },
                    },
                    "required": ["date", "text", "sources"],
                    "additionalProperties": false,
                },
            },
        },
        "required": ["entries"],
        "additionalProperties": false,
    })
}
