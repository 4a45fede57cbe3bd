//! Tool calls as they are sent back with their results. Providers reject a conversation with malformed calls, so what is
//! malformed is replaced; the tool's result tells the model what was wrong.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::prompt::tool::ToolRound;

/// Replaces an invalid tool name.
const UNKNOWN_TOOL_NAME: &str = "unknown";

/// A message that called tools, with the results.
#[derive(Clone)]
pub struct ToolTurn<'p> {
    /// What the provider wants back with the calls, if this model made them.
    pub original: Option<&'p Value>,
    /// The text beside the calls.
    pub text: Option<&'p str>,
    pub calls: Vec<AnsweredCall<'p>>,
}

#[derive(Clone)]
pub struct AnsweredCall<'p> {
    pub id: String,
    pub name: &'p str,
    /// An object.
    pub arguments: Value,
    pub result: &'p str,
}

/// The rounds as turns for this model.
pub fn to_turns<'p>(rounds: &'p [ToolRound], model: &str) -> Vec<ToolTurn<'p>> {
    let rounds = rounds.iter().enumerate();
    rounds.map(|(number, round)| to_turn(number, round, model)).collect()
}

fn to_turn<'p>(number: usize, round: &'p ToolRound, model: &str) -> ToolTurn<'p> {
    let original = round.assistant_message.as_deref();
    let original = original.filter(|original| original.model == model);
    // Providers match results to calls by id.
    let ids = round.results.iter().map(|result| &*result.call.id).filter(|id| !id.is_empty());
    let has_distinct_ids = ids.collect::<BTreeSet<&str>>().len() == round.results.len();
    let has_own_ids = original.is_some() && has_distinct_ids;
    let calls = round.results.iter().enumerate().map(|(index, result)| AnsweredCall {
        id: match has_own_ids {
            true => result.call.id.clone(),
            // The length that the strictest provider requires.
            false => format!("call{:05}", number * 100 + index),
        },
        name: sendable_name(&result.call.name),
        arguments: match &result.call.arguments {
            arguments @ Value::Object(_) => arguments.clone(),
            _ => Value::Object(Map::new()),
        },
        result: &result.text,
    });
    ToolTurn {
        original: original.map(|original| &original.message),
        text: Some(&*round.text).filter(|text| !text.trim().is_empty()),
        calls: calls.collect(),
    }
}

fn sendable_name(name: &str) -> &str {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let is_name = (1..=64).contains(&name.len()) && name.bytes().all(is_allowed);
    if is_name { name } else { UNKNOWN_TOOL_NAME }
}
