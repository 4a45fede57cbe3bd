//! One model call: it has a timeout, is cancelled when the step is superseded, and is recorded in
//! the ledger however it ends.

use std::sync::Arc;

use futures_util::future::{Either, select};
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::agent::reserve::Calls;
use crate::agent::{Agent, Attempts, Mind, StepError};
use crate::decision::{Attempt, AttemptResult, ModelExchange, PromptOmission, Usage};
use crate::llm::{LlmError, LlmResponse};
use crate::prompt::Prompt;
use crate::prompt::budget::TrimmedSection;

/// How a call ended.
enum CallResult {
    Answered(LlmResponse),
    Failed(LlmError),
    /// The call was cancelled or timed out.
    Aborted(AttemptResult, StepError),
}

impl Agent {
    pub(super) async fn call_model(
        &self,
        mind: &Mind,
        prompt: &Prompt,
        calls: &mut Calls<'_>,
    ) -> Result<String, StepError> {
        let limit = self.settings.model_timeout;
        Ok(self.call_model_within(limit, mind, prompt, calls).await?.text)
    }

    /// Calls a model, if the budget allows it, and returns the whole response, if it comes within `limit`.
    pub(super) async fn call_model_within(
        &self,
        limit: SignedDuration,
        mind: &Mind,
        prompt: &Prompt,
        calls: &mut Calls<'_>,
    ) -> Result<LlmResponse, StepError> {
        self.reserve(mind, prompt, calls).await?;
        let attempts = &mut *calls.attempts;
        let began = self.now();
        let outcome = self.await_response(limit, mind, prompt, calls.superseded).await;
        let unanswered = self.start_attempt(mind, prompt, began);
        let (attempt, response) = match outcome {
            CallResult::Answered(mut response) => {
                for failed_call in std::mem::take(&mut response.failed_calls) {
                    let (error, usage) =
                        (failed_call.error.to_string(), failed_call.error.usage(prompt));
                    let result = AttemptResult::Failed;
                    let error = Some(error);
                    let model = failed_call.model;
                    self.record_attempt(
                        Attempt { model, usage, result, error, ..unanswered.clone() },
                        attempts,
                    );
                }
                let model = response.model.clone().unwrap_or(unanswered.model.clone());
                if !response.usage.is_estimated {
                    let reported = response.usage.input_tokens;
                    self.token_corrections.record(&model, prompt.total_tokens(), reported);
                }
                (Attempt { model, usage: response.usage, ..unanswered }, Ok(response))
            }
            CallResult::Failed(error) => {
                let (usage, result) = (error.usage(prompt), AttemptResult::Failed);
                (Attempt { usage, result, ..unanswered }, Err(StepError::from(error)))
            }
            CallResult::Aborted(result, error) => {
                (Attempt { usage: estimated_usage(prompt), result, ..unanswered }, Err(error))
            }
        };
        let tokens = attempt.usage.input_tokens + attempt.usage.output_tokens;
        if tokens > 0 {
            self.token_corrections.record_use(mind.llm.model(), prompt.verb.name(), tokens);
        }
        let error = response.as_ref().err().and_then(StepError::error_text);
        let exchange = Some(self.exchange(prompt, &response));
        self.record_attempt(Attempt { error, exchange, ..attempt }, attempts);
        response
    }

    async fn await_response(
        &self,
        limit: SignedDuration,
        mind: &Mind,
        prompt: &Prompt,
        superseded: &CancellationToken,
    ) -> CallResult {
        let response = self.clock.timeout(limit, mind.llm.ask(prompt));
        let (response, cancelled) =
            (std::pin::pin!(response), std::pin::pin!(superseded.cancelled()));
        match select(cancelled, response).await {
            Either::Left(_) => {
                CallResult::Aborted(AttemptResult::Superseded, StepError::Superseded)
            }
            Either::Right((Ok(Ok(response)), _)) => CallResult::Answered(response),
            Either::Right((Ok(Err(error)), _)) => CallResult::Failed(error),
            Either::Right((Err(_timed_out), _)) => {
                let why = format!("no answer within {limit:#}");
                CallResult::Aborted(AttemptResult::Failed, LlmError::TimedOut(why).into())
            }
        }
    }

    /// The record of an attempt that has no result yet.
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
            omissions: prompt.trimmed.iter().map(omission).collect(),
            exchange: None,
        }
    }

    /// The prompt and the response, with their lineage. The lineage is recorded even if the texts
    /// are not kept.
    fn exchange(
        &self,
        prompt: &Prompt,
        response: &Result<LlmResponse, StepError>,
    ) -> Arc<ModelExchange> {
        let lineage = prompt.lineage();
        if !lineage.memories.is_empty() {
            let (verb, conversation) = (prompt.verb.name(), &prompt.context.conversation);
            debug!(verb, conversation = %conversation, memories = ?lineage.memories, "used memories");
        }
        let is_kept = self.settings.keeps_exchanges;
        let response = response.as_ref().ok().filter(|_| is_kept);
        Arc::new(ModelExchange {
            prompt: if is_kept { prompt.full_text().into() } else { "".into() },
            answer: response.map(|response| response.full_text().into()),
            lineage,
            seen_revision: Some(prompt.context.revision),
        })
    }

    fn record_attempt(&self, attempt: Attempt, attempts: &mut Attempts) {
        let price = self.settings.prices.cost(&attempt.model, attempt.usage);
        let attempt = Attempt { price, ..attempt };
        self.metrics.record_model_call(&attempt);
        attempts.push(attempt);
    }
}

fn omission(trimmed: &TrimmedSection) -> PromptOmission {
    PromptOmission { section: trimmed.section.into(), count: trimmed.count, tokens: trimmed.tokens }
}

/// A call that was cut short has probably used its input tokens, so they are booked.
fn estimated_usage(prompt: &Prompt) -> Usage {
    Usage { input_tokens: prompt.total_tokens(), is_estimated: true, ..Usage::default() }
}

impl LlmError {
    /// The tokens that the failed call used.
    fn usage(&self, prompt: &Prompt) -> Usage {
        match self {
            LlmError::TimedOut(_) => estimated_usage(prompt),
            LlmError::Refused(_) => Usage::default(),
            LlmError::Busy { usage, .. } | LlmError::Unusable { usage, .. } => *usage,
        }
    }
}

impl StepError {
    fn error_text(&self) -> Option<String> {
        match self {
            StepError::Superseded | StepError::AwaitingBudget { .. } | StepError::OverBudget(_) => {
                None
            }
            StepError::Retryable { error, .. } | StepError::Permanent { error } => {
                Some(error.clone())
            }
        }
    }
}
