//! Models, and what answers like one. A mind answers prompts; it decides nothing by itself.

pub mod builtin;
pub mod fallback;
pub mod model;
pub mod price;
pub mod provider;
pub mod scripted;

use std::sync::Arc;

use async_trait::async_trait;
use jiff::SignedDuration;

use crate::decision::Usage;
use crate::prompt::Prompt;
use crate::prompt::tool::{AssistantMessage, ToolCall};

#[async_trait]
pub trait Llm: Send + Sync {
    /// `provider/model`, for the ledger.
    fn model(&self) -> &str;

    /// Answers one prompt. Dropping the future gives the call up.
    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LlmResponse {
    pub text: String,
    /// The tools that it wants to use first; empty when it has come to its end.
    pub tool_calls: Vec<ToolCall>,
    /// The answer as it came, where its provider wants to see it again behind the tools' results.
    pub assistant_message: Option<Arc<AssistantMessage>>,
    pub usage: Usage,
    /// The model that gave it, if not the one that was asked first.
    pub model: Option<Arc<str>>,
    /// Models that were asked before, and why they gave none.
    pub failed_calls: Vec<FailedCall>,
}

impl LlmResponse {
    /// Words by the model that was asked.
    pub fn new(text: String, usage: Usage) -> Self {
        Self {
            text,
            tool_calls: Vec::new(),
            assistant_message: None,
            usage,
            model: None,
            failed_calls: Vec::new(),
        }
    }

    /// All that it says, calls included, for people who open the decision.
    pub fn full_text(&self) -> String {
        let words = Some(self.text.clone()).filter(|text| !text.is_empty());
        let calls = self.tool_calls.iter().map(|call| format!("→ {}", call.to_line()));
        words.into_iter().chain(calls).collect::<Vec<_>>().join("\n")
    }
}

/// A model that was asked in vain, before another one answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCall {
    pub model: Arc<str>,
    pub error: LlmError,
}

/// What the caller does next. The sentences never hold chat text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    /// Try again after a while.
    #[error("the model does not answer now: {why}")]
    Busy { why: String, retry_after: Option<SignedDuration> },
    /// It did not answer in time, though it may have thought about it. Try again after a while.
    #[error("the model does not answer now: {0}")]
    TimedOut(String),
    /// It will not answer this.
    #[error("the model refuses: {0}")]
    Refused(String),
    /// It answered, for what that costs, and the answer is of no use.
    #[error("the model's answer is of no use: {why}")]
    Unusable { why: String, usage: Usage },
}
