//! Judges a replay of the same messages by the verdicts in a ledger, and by a model where the ledger has none.

use std::sync::Arc;

use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_llm::scripted::ScriptedMind;
use aizuchi_llm::{Llm, LlmError, LlmResponse};
use aizuchi_model::decision::Usage;
use async_trait::async_trait;
use jiff::Timestamp;

use crate::replay::judge::bystander;
use crate::replay::judge::model::ModelJudge;
use crate::replay::judge::recorded::RecordedAnswers;

/// A judge that repeats the verdicts of the ledger.
pub struct LedgerJudge {
    recorded: RecordedAnswers,
    /// The model that is asked, or only priced, if the ledger has no verdict.
    model: Arc<ModelJudge>,
    /// Messages before this time are heard only to learn the channel's rhythm, so their verdicts do not matter.
    since: Timestamp,
    bystander: ScriptedMind,
}

impl LedgerJudge {
    pub fn new(recorded: RecordedAnswers, model: Arc<ModelJudge>, since: Timestamp) -> Self {
        Self { recorded, model, since, bystander: bystander() }
    }
}

#[async_trait]
impl Llm for LedgerJudge {
    fn model(&self) -> &str {
        self.model.model()
    }

    fn max_output_tokens(&self, prompt: &Prompt) -> u64 {
        self.model.max_output_tokens(prompt)
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        if prompt.verb != PromptVerb::Judge {
            return self.bystander.ask(prompt).await;
        }
        if let Some(answer) = self.recorded.find(prompt) {
            let usage = Usage { input_tokens: prompt.total_tokens(), ..Usage::default() };
            return Ok(LlmResponse::new(answer, usage));
        }
        let newest = prompt.context.target_messages().last();
        match newest.is_some_and(|newest| newest.at < self.since) {
            true => self.bystander.ask(prompt).await,
            false => self.model.ask(prompt).await,
        }
    }
}
