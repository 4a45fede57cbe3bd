//! One model call: it has a timeout, is cancelled when the step is superseded, and is recorded in the ledger however it
//! ends. If the model has no usable answer, further requests follow, each of which is reserved and recorded separately.

use std::pin::pin;
use std::sync::Arc;

use aizuchi_llm::prompt::Prompt;
use aizuchi_llm::prompt::budget::TrimmedSection;
use aizuchi_llm::{Llm, LlmError, LlmResponse, MODEL_CONTENT_TARGET, ask};
use aizuchi_model::decision::{Attempt, AttemptResult, ModelExchange, PromptOmission, Usage};
use futures_util::future::{Either, select};
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, info_span};

use crate::agent::reserve_budget::Calls;
use crate::agent::{Attempts, Mind, StepError, Worker};

/// The recorded error of a request that was dropped before it ended.
const ABANDONED: &str = "the call was given up";

/// A request that was sent. If it is dropped before it ends, because its step was dropped, it is recorded anyway: the
/// provider may charge for it.
struct RequestInFlight<'a> {
    worker: &'a Worker<'a>,
    attempts: &'a mut Attempts,
    /// The record for a request that is dropped. `None` once the request has ended.
    unfinished: Option<Attempt>,
}

impl RequestInFlight<'_> {
    fn finish(mut self, attempt: Attempt) {
        self.unfinished = None;
        self.worker.record_attempt(attempt, self.attempts);
    }
}

impl Drop for RequestInFlight<'_> {
    fn drop(&mut self) {
        if let Some(attempt) = self.unfinished.take() {
            let latency = self.worker.now().duration_since(attempt.at);
            self.worker.record_attempt(Attempt { latency, ..attempt }, self.attempts);
        }
    }
}

impl Worker<'_> {
    pub(super) async fn call_model(
        &self,
        mind: &Mind,
        prompt: &Prompt,
        calls: &mut Calls<'_>,
    ) -> Result<String, StepError> {
        let limit = self.settings.model_timeout;
        Ok(self.call_model_within(limit, mind, prompt, calls).await?.text)
    }

    /// Calls a model, if the budget allows it, and returns the whole response, if it arrives within `limit`.
    pub(super) async fn call_model_within(
        &self,
        limit: SignedDuration,
        mind: &Mind,
        prompt: &Prompt,
        calls: &mut Calls<'_>,
    ) -> Result<LlmResponse, StepError> {
        let mut tries = mind.models.tries(prompt, self.now());
        let mut deadline = None;
        while let Some(next) = tries.next_try() {
            let waiting = self.clock.sleep_until(self.now() + next.wait);
            unless_superseded(calls.superseded, waiting).await?;
            self.reserve(&*next.llm, prompt, calls).await?;
            // Waiting for a reservation before the first request does not count against the time for the answer.
            let deadline = *deadline.get_or_insert(self.now() + limit);
            match self.request(&*next.llm, deadline, prompt, calls).await? {
                Ok(response) => {
                    tries.succeed();
                    return Ok(response);
                }
                Err(error) => tries.fail(error, self.now(), deadline),
            }
        }
        Err(StepError::from_llm(tries.into_error(), mind.models.problem()))
    }

    /// Makes one request and records it.
    async fn request(
        &self,
        llm: &dyn Llm,
        deadline: Timestamp,
        prompt: &Prompt,
        calls: &mut Calls<'_>,
    ) -> Result<Result<LlmResponse, LlmError>, StepError> {
        let began = self.now();
        let unfinished = self.unfinished_attempt(llm, prompt, began);
        let in_flight = RequestInFlight {
            worker: self,
            attempts: &mut *calls.attempts,
            unfinished: Some(unfinished.clone()),
        };
        let limit = deadline.duration_since(began);
        let response = self.clock.timeout(limit, ask(llm, prompt));
        let outcome = unless_superseded(calls.superseded, response).await;
        let outcome = outcome.map(|in_time| {
            let why = || LlmError::TimedOut(format!("no answer within {limit:#}"));
            in_time.unwrap_or_else(|_timed_out| Err(why()))
        });
        let latency = self.now().duration_since(began);
        let response = outcome.as_ref().ok().and_then(|response| response.as_ref().ok());
        let exchange = Some(self.exchange(prompt, response));
        let ended = Attempt { latency, exchange, ..unfinished };
        let attempt = match &outcome {
            Ok(Ok(response)) => {
                // The tokens of a picture or a recording say nothing about those of texts.
                let is_text = prompt.picture.is_none() && prompt.recording.is_none();
                if !response.usage.is_estimated && is_text {
                    let reported = response.usage.input_tokens;
                    self.token_corrections.record(llm.model(), prompt.total_tokens(), reported);
                }
                let result = AttemptResult::Kept;
                Attempt { usage: response.usage, result, error: None, ..ended }
            }
            Ok(Err(error)) => {
                let (usage, result) = (failed_usage(error, llm, prompt), AttemptResult::Failed);
                Attempt { usage, result, error: Some(error.to_string()), ..ended }
            }
            // Cut short, so the usage is an estimate.
            Err(_superseded) => Attempt { result: AttemptResult::Superseded, error: None, ..ended },
        };
        let tokens = attempt.usage.input_tokens + attempt.usage.output_tokens;
        if tokens > 0 {
            self.token_corrections.record_use(llm.model(), prompt.verb.name(), tokens);
        }
        in_flight.finish(attempt);
        outcome
    }

    /// Returns the record of a request that never ends. Its input tokens have probably been used, so they are counted.
    fn unfinished_attempt(&self, llm: &dyn Llm, prompt: &Prompt, began: Timestamp) -> Attempt {
        Attempt {
            verb: prompt.verb.name().into(),
            at: began,
            model: llm.model().into(),
            prompt_hash: prompt.hash().into(),
            prompt_bytes: prompt.full_text().len() as u64,
            usage: estimated_usage(llm, prompt),
            price: None,
            latency: SignedDuration::ZERO,
            result: AttemptResult::Failed,
            judgment: None,
            error: Some(ABANDONED.to_owned()),
            omissions: prompt.trimmed.iter().map(omission).collect(),
            exchange: None,
        }
    }

    /// Returns the prompt and the response with their lineage. The lineage is recorded even if the texts are not
    /// stored.
    fn exchange(&self, prompt: &Prompt, response: Option<&LlmResponse>) -> Arc<ModelExchange> {
        let lineage = prompt.lineage();
        if !lineage.memories.is_empty() {
            let (verb, conversation) = (prompt.verb.name(), &prompt.context.conversation);
            debug!(verb, conversation = %conversation, memories = ?lineage.memories, "used memories");
        }
        let is_kept = self.settings.keeps_exchanges;
        let response = response.filter(|_| is_kept);
        Arc::new(ModelExchange {
            prompt: if is_kept { prompt.full_text().into() } else { "".into() },
            answer: response.map(|response| response.full_text().into()),
            lineage,
            seen_revision: Some(prompt.context.revision),
        })
    }

    fn record_attempt(&self, attempt: Attempt, attempts: &mut Attempts) {
        // The span is not entered: log lines belong to the step.
        let span = info_span!(
            "model call",
            verb = &*attempt.verb,
            model = &*attempt.model,
            result = attempt.result.name(),
            input_tokens = attempt.usage.input_tokens,
            cached_tokens = attempt.usage.cached_tokens,
            output_tokens = attempt.usage.output_tokens,
            latency_ms = attempt.latency.as_millis() as i64,
        );
        if let Some(exchange) = &attempt.exchange {
            let answer = exchange.answer.as_deref();
            info!(target: MODEL_CONTENT_TARGET, parent: &span, prompt = &*exchange.prompt, answer);
        }
        let price = self.settings.prices.cost(&attempt.model, attempt.usage);
        attempts.push(Attempt { price, ..attempt });
    }
}

fn omission(trimmed: &TrimmedSection) -> PromptOmission {
    PromptOmission { section: trimmed.section.into(), count: trimmed.count, tokens: trimmed.tokens }
}

/// Runs `work`, unless a new message makes it obsolete.
pub(super) async fn unless_superseded<T>(
    superseded: &CancellationToken,
    work: impl Future<Output = T>,
) -> Result<T, StepError> {
    match select(pin!(superseded.cancelled()), pin!(work)).await {
        Either::Left(_) => Err(StepError::Superseded),
        Either::Right((done, _)) => Ok(done),
    }
}

/// Estimates the usage of a request that was cut short.
fn estimated_usage(llm: &dyn Llm, prompt: &Prompt) -> Usage {
    if !llm.uses_tokens() {
        return Usage::default();
    }
    Usage { input_tokens: prompt.total_tokens(), is_estimated: true, ..Usage::default() }
}

/// Returns the tokens that a failed call used.
fn failed_usage(error: &LlmError, llm: &dyn Llm, prompt: &Prompt) -> Usage {
    match error {
        LlmError::TimedOut(_) => estimated_usage(llm, prompt),
        LlmError::Refused(_) | LlmError::Busy { .. } | LlmError::Unusable { .. } => error.usage(),
    }
}
