//! The built-in mind: rules instead of a model, so that the program works without a key, an account or a network. It
//! joins in when a question to everyone was left unanswered, reacts to good and bad news, and is a good host when it
//! is spoken to: it introduces itself, keeps what it is asked to keep, and answers by quoting earlier posts. It
//! never pretends to be a model.

mod phrases;
mod matching;
mod vocabulary;
mod preamble;
mod wording;
mod topic;
mod keeping;
mod request;
mod asked;
mod quote;
mod ranking;
mod quotes;
mod split_questions;
mod silence_reasons;
mod judge;
mod answer;
mod lookup;
mod files;
mod reply;
mod memory;

use aizuchi_model::decision::Usage;
use async_trait::async_trait;

use crate::prompt::{Prompt, PromptVerb};
use crate::{Llm, LlmError, LlmResponse};

/// A quote has no more characters of a message than these.
pub const MAX_QUOTE_CHARS: usize = vocabulary::MAX_QUOTE_CHARS;

/// The name of its model.
pub const MODEL: &str = "builtin";

pub struct BuiltinMind;

#[async_trait]
impl Llm for BuiltinMind {
    fn model(&self) -> &str {
        MODEL
    }

    fn uses_tokens(&self) -> bool {
        false
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let response = match prompt.verb {
            PromptVerb::Judge => text(judge::judge(prompt)),
            PromptVerb::Reply => reply::reply(prompt),
            PromptVerb::Remember => text(memory::remember(prompt)),
            // Judging the state of a conversation is beyond keywords.
            PromptVerb::State => text("ACTIVE".to_owned()),
            // The built-in mind can neither see nor hear.
            PromptVerb::Describe | PromptVerb::Transcribe => text(String::new()),
        };
        Ok(response)
    }
}

/// The built-in mind as a stand-in for a model in replays, which test when it would speak and not what it would say.
/// If no earlier post helps, it repeats the question.
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
