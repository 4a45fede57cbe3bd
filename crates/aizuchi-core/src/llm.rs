//! The port to models, and its implementations. A mind answers prompts; it decides nothing by
//! itself.

pub mod builtin;
pub mod fallback;
pub mod model;
pub mod price;
pub mod provider;
pub mod discover;
pub mod scripted;

use std::sync::Arc;

use async_trait::async_trait;
use jiff::SignedDuration;

use crate::decision::Usage;
use crate::decision::model_problem::ModelProblem;
use crate::prompt::Prompt;
use crate::prompt::tool::{AssistantMessage, ToolCall};

/// How long a prompt and its answer may be, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextLength {
    /// Both together.
    pub tokens: u64,
    /// The longest answer, thinking included.
    pub output_tokens: u64,
}

#[async_trait]
pub trait Llm: Send + Sync {
    /// `provider/model`, for the ledger.
    fn model(&self) -> &str;

    /// The most tokens that a response may have.
    fn max_output_tokens(&self, prompt: &Prompt) -> u64 {
        prompt.max_tokens.unwrap_or(0).into()
    }

    /// Whether its calls use tokens of somebody's.
    fn uses_tokens(&self) -> bool {
        true
    }

    /// How often one prompt is asked at most, if answers are charged and of no use.
    fn max_attempts(&self) -> u32 {
        1
    }

    /// Why its last call failed, while none has succeeded since.
    fn problem(&self) -> Option<ModelProblem> {
        None
    }

    /// Looks for a problem without using a token. What cannot be told so is no problem.
    async fn probe(&self) -> Option<ModelProblem> {
        None
    }

    /// How many tokens a prompt and its answer may have together, if the server tells and longer prompts are cut without
    /// an error.
    async fn context_length(&self) -> Option<ContextLength> {
        None
    }

    /// Answers one prompt, with at most one request that is charged. Dropping the future cancels the call.
    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LlmResponse {
    pub text: String,
    /// The tools to run before the model goes on. Empty in a final response.
    pub tool_calls: Vec<ToolCall>,
    /// The response as the provider sent it, for providers that want it back together with the
    /// tools' results.
    pub assistant_message: Option<Arc<AssistantMessage>>,
    /// Why it has nothing to say, where nobody waits for an answer.
    pub silence: Option<String>,
    pub usage: Usage,
}

impl LlmResponse {
    /// A text.
    pub fn new(text: String, usage: Usage) -> Self {
        Self { text, tool_calls: Vec::new(), assistant_message: None, silence: None, usage }
    }

    /// Nothing, for a reason, at no cost.
    pub fn silent(why: impl Into<String>) -> Self {
        Self { silence: Some(why.into()), ..Self::new(String::new(), Usage::default()) }
    }

    /// The text and the tool calls, for an operator who opens the decision.
    pub fn full_text(&self) -> String {
        let text = Some(self.text.clone()).filter(|text| !text.is_empty());
        let calls = self.tool_calls.iter().map(|call| format!("→ {}", call.to_line()));
        text.into_iter().chain(calls).collect::<Vec<_>>().join("\n")
    }
}

/// The target of events with what goes to a model and comes back: for the traces of an operator who asks for it, never for
/// the log.
pub const MODEL_CONTENT_TARGET: &str = "aizuchi_core::model_content";

/// Why a call failed. The variant says what the caller does next. Messages never hold chat text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    /// Try again later. What came until now may have cost tokens.
    #[error("the model does not answer now: {why}")]
    Busy { why: String, retry_after: Option<SignedDuration>, usage: Usage },
    /// No response in time, though the model may have used tokens. Try again later.
    #[error("the model does not answer now: {0}")]
    TimedOut(String),
    /// Trying again will not help.
    #[error("the model refuses: {0}")]
    Refused(String),
    /// The response cost tokens and is of no use.
    #[error("the model's answer is of no use: {why}")]
    Unusable { why: String, usage: Usage },
}
