//! The port to models, and its implementations. A mind answers prompts; it makes no decisions of its own.

pub mod prompt;
pub mod markup;
pub mod builtin;
pub mod fallback;
pub mod provider_list;
pub mod model_id;
pub mod price;
pub mod provider;
pub mod discover;
pub mod scripted;

use std::sync::Arc;

use aizuchi_model::chat::is_blank;
use aizuchi_model::decision::Usage;
use aizuchi_model::decision::model_problem::ModelProblem;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::markup::AnswerForm;
use crate::prompt::Prompt;
use crate::prompt::tool::{AssistantMessage, ToolCall};

/// The limits on a prompt and its answer, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextLength {
    /// The prompt and its answer together.
    pub tokens: u64,
    /// The maximum length of an answer, including thinking.
    pub output_tokens: u64,
}

#[async_trait]
pub trait Llm: Send + Sync {
    /// `provider/model`, for the ledger.
    fn model(&self) -> &str;

    /// The maximum number of output tokens for this prompt.
    fn max_output_tokens(&self, prompt: &Prompt) -> u64 {
        prompt.max_tokens.unwrap_or(0).into()
    }

    /// Whether calls use tokens.
    fn uses_tokens(&self) -> bool {
        true
    }

    /// The maximum number of calls for one prompt when answers are charged but unusable.
    fn max_attempts(&self) -> u32 {
        1
    }

    /// Why the last call failed. `None` once a call has succeeded.
    fn problem(&self) -> Option<ModelProblem> {
        None
    }

    /// When a call last failed, if it is known.
    fn failed_at(&self) -> Option<Timestamp> {
        None
    }

    /// Checks for a problem without using tokens. Returns `None` if the provider cannot be checked this way.
    async fn probe(&self) -> Option<ModelProblem> {
        None
    }

    /// Checks that it answers, at the cost of one token, and returns the usage.
    async fn check(&self) -> Result<Usage, LlmError> {
        Ok(Usage::default())
    }

    /// The context length of a prompt and its answer together, if it is known and the server silently truncates longer
    /// prompts.
    async fn context_length(&self) -> Option<ContextLength> {
        None
    }

    /// Answers one prompt with at most one charged request. Dropping the future cancels the call.
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
    /// Why the mind stays silent when nobody waits for an answer.
    pub silence: Option<String>,
    pub usage: Usage,
}

impl LlmResponse {
    /// A text response without tool calls.
    pub fn new(text: String, usage: Usage) -> Self {
        Self { text, tool_calls: Vec::new(), assistant_message: None, silence: None, usage }
    }

    /// A silent response with a reason, at no cost.
    pub fn silent(why: impl Into<String>) -> Self {
        Self { silence: Some(why.into()), ..Self::new(String::new(), Usage::default()) }
    }

    /// The text and the tool calls, as shown to an operator who opens the decision.
    pub fn full_text(&self) -> String {
        let text = Some(self.text.clone()).filter(|text| !text.is_empty());
        let calls = self.tool_calls.iter().map(|call| format!("→ {}", call.to_line()));
        text.into_iter().chain(calls).collect::<Vec<_>>().join("\n")
    }
}

/// Asks a model. The answer is without the model's own markup; an answer that says nothing is a failure, because another
/// call may give a better one.
pub async fn ask(llm: &dyn Llm, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
    let response = llm.ask(prompt).await?;
    // The built-in mind writes no markup but quotes that of others. What is heard in a recording may be anything.
    if !llm.uses_tokens() || prompt.recording.is_some() || is_blank(&response.text) {
        return Ok(response);
    }
    match markup::said_in(&response.text, AnswerForm::of(prompt)) {
        Ok(text) => Ok(LlmResponse { text, ..response }),
        // Beside a tool call or after what was said before one, a text need not say anything.
        Err(_) if !response.tool_calls.is_empty() || prompt.has_said() => {
            Ok(LlmResponse { text: String::new(), ..response })
        }
        Err(no_answer) => {
            let why = format!("{}: {}", llm.model(), no_answer.describe());
            Err(LlmError::Busy { why, retry_after: None, usage: response.usage })
        }
    }
}

/// The tracing target for model input and output. Such events go only to traces that an operator asks for, never to
/// the log.
pub const MODEL_CONTENT_TARGET: &str = "aizuchi_llm::model_content";

/// Why a call failed. The variant says what the caller does next. Messages never contain chat text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    /// Try again later. The failed attempts may have cost tokens.
    #[error("the model does not answer now: {why}")]
    Busy { why: String, retry_after: Option<SignedDuration>, usage: Usage },
    /// The call timed out, though the model may have used tokens. Try again later.
    #[error("the model does not answer now: {0}")]
    TimedOut(String),
    /// Retrying will not help.
    #[error("the model refuses: {0}")]
    Refused(String),
    /// The response cost tokens but is unusable.
    #[error("the model's answer is of no use: {why}")]
    Unusable { why: String, usage: Usage },
}

impl LlmError {
    /// The tokens that the failed call is known to have used.
    pub fn usage(&self) -> Usage {
        match self {
            LlmError::Busy { usage, .. } | LlmError::Unusable { usage, .. } => *usage,
            LlmError::TimedOut(_) | LlmError::Refused(_) => Usage::default(),
        }
    }
}
