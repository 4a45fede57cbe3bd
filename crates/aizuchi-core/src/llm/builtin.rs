//! The built-in mind: rules instead of a model, so that the program works without a key, an account or a network. It joins
//! in when a question to everyone was left unanswered, nods at good and bad news, and, when it is spoken to, it is a good
//! host: it says who it is, keeps what it is asked to keep, and answers by quoting what was said. It never pretends to be
//! a model.

mod phrases;
mod matching;
mod vocabulary;
mod preamble;
mod wording;
mod topic;
mod keeping;
mod request;
mod days;
mod sums;
mod asked;
mod quote;
mod ranking;
mod quotes;
mod questions;
mod unasked;
mod judge;
mod answer;
mod lookup;
mod files;
mod reply;
mod memory;

use async_trait::async_trait;

use crate::decision::Usage;
use crate::llm::{Llm, LlmError, LlmResponse};
use crate::prompt::{Prompt, PromptVerb};

pub struct BuiltinMind;

#[async_trait]
impl Llm for BuiltinMind {
    fn model(&self) -> &str {
        "builtin"
    }

    fn uses_tokens(&self) -> bool {
        false
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let response = match prompt.verb {
            PromptVerb::Judge => text(judge::judge(prompt)),
            PromptVerb::Reply => reply::reply(prompt),
            PromptVerb::Remember => text(memory::remember(prompt)),
            // The state is a judgment that keywords cannot make.
            PromptVerb::State => text("ACTIVE".to_owned()),
            // It has no eyes and no ears.
            PromptVerb::Describe | PromptVerb::Transcribe => text(String::new()),
        };
        Ok(response)
    }
}

/// The built-in mind in the place of a model, for replays: they ask when it would speak, and not what it would say. Where nothing
/// that was said helps, it brings the question back.
pub struct BuiltinStandIn;

#[async_trait]
impl Llm for BuiltinStandIn {
    fn model(&self) -> &str {
        BuiltinMind.model()
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let response = BuiltinMind.ask(prompt).await?;
        Ok(match response.silence {
            Some(_) => text(reply::bring_back(prompt)),
            None => response,
        })
    }
}

/// Rules use no tokens.
fn text(text: String) -> LlmResponse {
    LlmResponse::new(text, Usage::default())
}
