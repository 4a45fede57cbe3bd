//! Asking the mind: with a limit on time, given up when people move on, noted in the ledger
//! whatever comes of it.

use std::sync::Arc;

use futures_util::future::{Either, select};
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::agent::{Agent, Attempts, Mind, StepError};
use crate::decision::{Attempt, AttemptResult, ModelExchange, PromptOmission, Usage};
use crate::llm::{LlmError, LlmResponse};
use crate::prompt::Prompt;
use crate::prompt::budget::TrimmedSection;

/// What became of a question.
enum CallResult {
    Answered(LlmResponse),
    Failed(LlmError),
    /// Nobody waited for the answer.
    Aborted(AttemptResult, StepError),
}

impl Agent {
    pub(super) async fn call_model(
        &self,
        mind: &Mind,
        prompt: &Prompt,
        overtaken: &CancellationToken,
        attempts: &mut Attempts,
    ) -> Result<String, StepError> {
        let limit = self.settings.model_timeout;
        Ok(self.call_model_within(limit, mind, prompt, overtaken, attempts).await?.text)
    }

    /// The whole answer, if it comes within `limit`.
    pub(super) async fn call_model_within(
        &self,
        limit: SignedDuration,
        mind: &Mind,
        prompt: &Prompt,
        overtaken: &CancellationToken,
        attempts: &mut Attempts,
    ) -> Result<LlmResponse, StepError> {
        let began = self.now();
        let asked = self.wait_for_answer(limit, mind, prompt, overtaken).await;
        let blank = self.start_attempt(mind, prompt, began);
        let (attempt, answer) = match asked {
            CallResult::Answered(mut answer) => {
                for missed in std::mem::take(&mut answer.failed_calls) {
                    let (error, usage) = (missed.error.to_string(), missed.error.usage(prompt));
                    let end = AttemptResult::Failed;
                    let error = Some(error);
                    let model = missed.model;
                    self.record_attempt(
                        Attempt { model, usage, result: end, error, ..blank.clone() },
                        attempts,
                    );
                }
                let model = answer.model.clone().unwrap_or(blank.model.clone());
                let (estimated, reported) = (prompt.total_tokens(), answer.usage.input_tokens);
                self.token_corrections.record(&model, estimated, reported);
                (Attempt { model, usage: answer.usage, ..blank }, Ok(answer))
            }
            CallResult::Failed(error) => {
                let (usage, end) = (error.usage(prompt), AttemptResult::Failed);
                (Attempt { usage, result: end, ..blank }, Err(StepError::from(error)))
            }
            CallResult::Aborted(end, trouble) => {
                (Attempt { usage: estimated_usage(prompt), result: end, ..blank }, Err(trouble))
            }
        };
        let error = answer.as_ref().err().and_then(StepError::error_text);
        let exchange = Some(self.exchange(prompt, &answer));
        self.record_attempt(Attempt { error, exchange, ..attempt }, attempts);
        answer
    }

    async fn wait_for_answer(
        &self,
        limit: SignedDuration,
        mind: &Mind,
        prompt: &Prompt,
        overtaken: &CancellationToken,
    ) -> CallResult {
        let answer = self.clock.timeout(limit, mind.llm.ask(prompt));
        let (answer, moved_on) = (std::pin::pin!(answer), std::pin::pin!(overtaken.cancelled()));
        match select(moved_on, answer).await {
            Either::Left(_) => {
                CallResult::Aborted(AttemptResult::Superseded, StepError::Superseded)
            }
            Either::Right((Ok(Ok(answer)), _)) => CallResult::Answered(answer),
            Either::Right((Ok(Err(error)), _)) => CallResult::Failed(error),
            Either::Right((Err(_timed_out), _)) => {
                let why = format!("no answer within {limit:#}");
                CallResult::Aborted(AttemptResult::Failed, LlmError::TimedOut(why).into())
            }
        }
    }

    /// An attempt of which nothing came yet.
    fn start_attempt(&self, mind: &Mind, prompt: &Prompt, began: Timestamp) -> Attempt {
        Attempt {
            verb: prompt.verb.name().into(),
            at: began,
            model: mind.llm.model().into(),
            prompt_hash: prompt.hash().into(),
            prompt_bytes: prompt.full_text().len() as u64,
            usage: Usage::default(),
            price: None,
            latency: self.now().duration_since(began),
            result: AttemptResult::Kept,
            judgment: None,
            error: None,
            omissions: prompt.trimmed.iter().map(left_out).collect(),
            exchange: None,
        }
    }

    /// What was asked, and what it was made from: that is known even if the words are not kept.
    fn exchange(
        &self,
        prompt: &Prompt,
        answer: &Result<LlmResponse, StepError>,
    ) -> Arc<ModelExchange> {
        let made_from = prompt.lineage();
        if !made_from.memories.is_empty() {
            let (verb, conversation) = (prompt.verb.name(), &prompt.context.conversation);
            debug!("{verb} of {conversation} uses the memories {:?}", made_from.memories);
        }
        let is_kept = self.settings.keeps_exchanges;
        let answer = answer.as_ref().ok().filter(|_| is_kept);
        Arc::new(ModelExchange {
            prompt: if is_kept { prompt.full_text().into() } else { "".into() },
            answer: answer.map(|answer| answer.full_text().into()),
            lineage: made_from,
            seen_revision: prompt.context.revision,
        })
    }

    fn record_attempt(&self, attempt: Attempt, attempts: &mut Attempts) {
        let price = self.settings.prices.cost(&attempt.model, attempt.usage);
        let attempt = Attempt { price, ..attempt };
        self.metrics.record_model_call(&attempt);
        attempts.push(attempt);
    }
}

fn left_out(trimmed: &TrimmedSection) -> PromptOmission {
    PromptOmission { section: trimmed.section.into(), count: trimmed.count, tokens: trimmed.tokens }
}

/// The tokens of a call that is cut short are spent all the same.
fn estimated_usage(prompt: &Prompt) -> Usage {
    Usage { input_tokens: prompt.total_tokens(), ..Usage::default() }
}

impl LlmError {
    /// What it cost to learn this.
    fn usage(&self, prompt: &Prompt) -> Usage {
        match self {
            LlmError::TimedOut(_) => estimated_usage(prompt),
            LlmError::Busy { .. } | LlmError::Refused(_) => Usage::default(),
            LlmError::Unusable { usage, .. } => *usage,
        }
    }
}

impl StepError {
    fn error_text(&self) -> Option<String> {
        match self {
            StepError::Superseded => None,
            StepError::Retryable { error, .. } | StepError::Permanent { error } => {
                Some(error.clone())
            }
        }
    }
}
