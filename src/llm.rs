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
    pub usage: Usage,
    /// The model that gave it, if not the one that was asked first.
    pub model: Option<Arc<str>>,
}

/// What the caller does next. The sentences never hold chat text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    /// Try again after a while.
    #[error("the model does not answer now: {why}")]
    Busy { why: String, retry_after: Option<SignedDuration> },
    /// It will not answer this.
    #[error("the model refuses: {0}")]
    Refused(String),
}

/// A rough number of tokens for text that nobody has counted: four bytes each.
pub fn estimated_tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}
