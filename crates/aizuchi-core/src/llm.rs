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
use crate::prompt::tool::{Echo, ToolCall};

#[async_trait]
pub trait Llm: Send + Sync {
    /// `provider/model`, for the ledger.
    fn model(&self) -> &str;

    /// Answers one prompt. Dropping the future gives the call up.
    async fn ask(&self, prompt: &Prompt) -> Result<Answer, LlmError>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub text: String,
    /// The tools that it wants to use first; empty when it has come to its end.
    pub calls: Vec<ToolCall>,
    /// The answer as it came, where its provider wants to see it again behind the tools' results.
    pub echo: Option<Arc<Echo>>,
    pub usage: Usage,
    /// The model that gave it, if not the one that was asked first.
    pub model: Option<Arc<str>>,
    /// Models that were asked before, and why they gave none.
    pub missed: Vec<Missed>,
}

impl Answer {
    /// Words by the model that was asked.
    pub fn of(text: String, usage: Usage) -> Self {
        Self { text, calls: Vec::new(), echo: None, usage, model: None, missed: Vec::new() }
    }

    /// All that it says, calls included, for people who open the decision.
    pub fn shown(&self) -> String {
        let words = Some(self.text.clone()).filter(|text| !text.is_empty());
        let calls = self.calls.iter().map(|call| format!("→ {}", call.shown()));
        words.into_iter().chain(calls).collect::<Vec<_>>().join("\n")
    }
}

/// A model that was asked in vain, before another one answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
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
    Late(String),
    /// It will not answer this.
    #[error("the model refuses: {0}")]
    Refused(String),
    /// It answered, for what that costs, and the answer is of no use.
    #[error("the model's answer is of no use: {why}")]
    Useless { why: String, usage: Usage },
}
