//! Judges a response: whether it is usable, complete and short enough.

use aizuchi_model::decision::Usage;
use aizuchi_model::decision::model_problem::ModelProblem;
use serde::de::IgnoredAny;

use crate::LlmResponse;
use crate::markup::{AnswerForm, NoAnswer, said_in};
use crate::prompt::Prompt;
use crate::prompt::tokens::estimate;
use crate::prompt::tool::ToolCall;
use crate::provider::chat::{ChatResponse, Stop};
use crate::provider::error::{CallError, DECLINED};
use crate::provider::output_limit::Allowance;
use crate::provider::usage::complete_usage;

/// The maximum length of an answer. A longer text cannot be a chat message.
const MAX_ANSWER_BYTES: usize = 256 * 1024;
/// Shows users that a text was cut off.
const ELLIPSIS: &str = "…";

/// A response with the usage that it reports.
pub struct ReportedResponse {
    pub response: ChatResponse,
    pub reported: Usage,
    /// Whether it contains thinking, or reports its length.
    pub has_thought: bool,
}

/// Returns the text and the tool calls of a response, if any of it is usable.
pub fn parse_response(
    ReportedResponse { response, reported, has_thought }: ReportedResponse,
    prompt: &Prompt,
    allowance: &Allowance,
) -> Result<LlmResponse, CallError> {
    let ChatResponse { mut text, thinking, calls, stop, .. } = response;
    let lines: Vec<String> = calls.iter().map(ToolCall::to_line).collect();
    let call_bytes: usize = lines.iter().map(String::len).sum();
    let output = [&thinking, &text].into_iter().chain(&lines).filter(|part| !part.is_empty());
    let output = output.map(String::as_str).collect::<Vec<_>>().join("\n");
    let usage = complete_usage(reported, prompt.total_tokens(), &output);
    let unusable = |why: String| Err(CallError::Unusable { why, usage });
    if stop == Stop::Declined {
        return unusable(DECLINED.to_owned());
    }
    if stop == Stop::Broken {
        let why = "its answer broke off".to_owned();
        let problem = ModelProblem::ServerFailed;
        return Err(CallError::Retryable { problem, why, retry_after: None, usage });
    }
    let was_cut = stop == Stop::CutOff;
    if text.len() + call_bytes > MAX_ANSWER_BYTES {
        return unusable(format!("it is larger than {} KB", MAX_ANSWER_BYTES / 1024));
    }
    // Some models put their answer next to the tool calls and send nothing after the results.
    if !calls.is_empty() || (text.trim().is_empty() && prompt.has_said()) {
        return Ok(LlmResponse { tool_calls: calls, ..LlmResponse::new(text, usage) });
    }
    if was_cut && !has_answer(&text, prompt) {
        let used = allowance.total(prompt.max_tokens);
        if !has_thought && !has_thought_aloud(&text) && !allowance.has_room_to_think() {
            return unusable(format!(
                "its answer was cut off by the limit of {used} tokens before it was complete"
            ));
        }
        return Err(cut_off(used, allowance, usage));
    }
    if text.trim().is_empty() {
        let why = "its answer is empty".to_owned();
        let problem = ModelProblem::Garbled;
        return Err(CallError::Retryable { problem, why, retry_after: None, usage });
    }
    // The provider's limit includes thinking, so the answer's length must be limited here.
    let is_ours_to_limit = allowance.has_room_to_think() && prompt.schema().is_none();
    let max_tokens = allowance.answer(prompt.max_tokens);
    if was_cut || is_ours_to_limit {
        let mut said = said_in(&text, AnswerForm::of(prompt)).unwrap_or_else(|_| text.clone());
        if was_cut || shorten(&mut said, max_tokens.into()) {
            text = said + ELLIPSIS;
        }
    }
    Ok(LlmResponse::new(text, usage))
}

/// Whether a truncated text is usable: the beginning of a text is, that of JSON is not.
fn has_answer(text: &str, prompt: &Prompt) -> bool {
    if said_in(text, AnswerForm::of(prompt)) == Err(NoAnswer::Markup) {
        return false;
    }
    let is_whole = |json: &str| serde_json::from_str::<IgnoredAny>(json).is_ok();
    let json = text.find('{').and_then(|begin| text.get(begin..=text.rfind('}')?));
    prompt.schema().is_none() || json.is_some_and(is_whole)
}

/// Whether a text without an answer shows that the model has thought: it is empty, or nothing but thinking.
fn has_thought_aloud(text: &str) -> bool {
    said_in(text, AnswerForm::Json) == Err(NoAnswer::Markup)
}

/// The model used up its tokens before it answered, and has thought. If it had no additional tokens for thinking,
/// the limit is raised and the call retried.
fn cut_off(used: u32, allowance: &Allowance, usage: Usage) -> CallError {
    let why = format!("its answer was cut off by the limit of {used} tokens");
    match allowance.allow_thinking() {
        Some(more) => CallError::Retryable {
            problem: ModelProblem::Garbled,
            why: format!("{why}; it seems to think, and is allowed {more} more from now on"),
            retry_after: None,
            usage,
        },
        None => CallError::Unusable {
            why: format!(
                "{why}, thinking included; params.thinking_tokens allows it more, and \
                 params.reasoning_effort makes it think less"
            ),
            usage,
        },
    }
}

/// Cuts a text that is clearly too long. Returns whether it did.
fn shorten(text: &mut String, max_tokens: u64) -> bool {
    // Estimates tend to be too high.
    if estimate(text) <= max_tokens.saturating_mul(5) / 4 {
        return false;
    }
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let kept = ends.partition_point(|end| estimate(&text[..*end]) <= max_tokens);
    text.truncate(ends.get(kept.saturating_sub(1)).copied().unwrap_or(0));
    text.truncate(text.trim_end().len());
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_text_and_an_open_thought_tell_of_thinking() {
        for (text, expected) in [
            ("", true),
            (" \n", true),
            ("<think>Well", true),
            ("\n<think>Well", true),
            ("{\"should_respond\": tr", false),
            ("I think", false),
        ] {
            assert_eq!(has_thought_aloud(text), expected, "{text}");
        }
    }

    #[test]
    fn only_a_text_that_is_clearly_longer_is_cut() {
        for (text, max_tokens, expected) in [
            ("one two three four", 4, None),
            ("one two three four five six", 4, Some("one two three four")),
            ("ねこがすき、いぬもすき", 4, Some("ねこがす")),
            ("", 0, None),
        ] {
            let mut cut = text.to_owned();
            let is_cut = shorten(&mut cut, max_tokens);
            assert_eq!((is_cut, &*cut), (expected.is_some(), expected.unwrap_or(text)));
            assert!(!is_cut || estimate(&cut) <= max_tokens, "{cut}");
        }
    }
}
