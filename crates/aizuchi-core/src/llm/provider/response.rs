//! Parses a response: its text, its tool calls and its usage.

use genai::chat::{ChatResponse, StopReason};

use crate::decision::Usage;
use crate::decision::model_problem::ModelProblem;
use crate::llm::LlmResponse;
use crate::llm::provider::error::{CallError, DECLINED};
use crate::llm::provider::usage::complete_usage;
use crate::prompt::Prompt;
use crate::prompt::tool::ToolCall;

/// A longer text cannot be a chat message.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// A response with the usage that it reports.
pub struct ReportedResponse {
    pub response: ChatResponse,
    pub reported: Usage,
}

/// Returns the text of a response with these tool calls, if any of it is usable.
pub fn parse_response(
    ReportedResponse { response, reported }: ReportedResponse,
    calls: Vec<ToolCall>,
    prompt: &Prompt,
) -> Result<LlmResponse, CallError> {
    let lines = calls.iter().map(ToolCall::to_line);
    let output = response.reasoning_content.iter().cloned();
    let output = output.chain(response.content.texts().into_iter().map(str::to_owned)).chain(lines);
    let output = output.collect::<Vec<_>>().join("\n");
    let usage = complete_usage(reported, prompt.total_tokens(), &output);
    let unusable = |why: String| Err(CallError::Unusable { why, usage });
    let raw = response.captured_raw_body.as_ref();
    let refusal = raw.and_then(|body| body.pointer("/choices/0/message/refusal"));
    let has_refused = refusal.is_some_and(|refusal| !refusal.is_null());
    if has_refused || matches!(response.stop_reason, Some(StopReason::ContentFilter(_))) {
        return unusable(DECLINED.to_owned());
    }
    let was_cut = matches!(response.stop_reason, Some(StopReason::MaxTokens(_)));
    let mut text = response.content.into_joined_texts().unwrap_or_default();
    let call_bytes: usize = calls.iter().map(|call| call.to_line().len()).sum();
    if text.len() + call_bytes > MAX_ANSWER_BYTES {
        return unusable(format!("it is larger than {} KB", MAX_ANSWER_BYTES / 1024));
    }
    // Some models put their answer beside the tool calls and send nothing after the results.
    let has_said = prompt.tool_rounds.iter().any(|round| !round.text.trim().is_empty());
    if !calls.is_empty() || (text.trim().is_empty() && has_said) {
        return Ok(LlmResponse { tool_calls: calls, ..LlmResponse::new(text, usage) });
    }
    match (text.trim().is_empty(), was_cut) {
        (false, was_cut) => {
            // The ellipsis shows users that the text was cut off.
            text.push_str(if was_cut { "…" } else { "" });
            Ok(LlmResponse::new(text, usage))
        }
        (true, true) => {
            unusable("it used up max_tokens before it said anything; allow it more".to_owned())
        }
        (true, false) => {
            let why = "its answer is empty".to_owned();
            let problem = ModelProblem::Garbled;
            Err(CallError::Retryable { problem, why, retry_after: None, usage })
        }
    }
}
