//! Chooses the model to ask next for a prompt: the primary, the primary again after a charged but unusable answer,
//! then the fallback. While the primary is known to be down, the fallback is asked first, so that users do not wait
//! for the primary's timeout each time. Both can be replaced while the program runs.

use std::collections::VecDeque;
use std::sync::Arc;

use aizuchi_model::clock::{Clock, duration_from_seconds, seeded_random};
use aizuchi_model::decision::Usage;
use aizuchi_model::decision::model_problem::ModelProblem;
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, MutexGuard, RwLock};
use tracing::{info, warn};

use crate::prompt::Prompt;
use crate::{Llm, LlmError, LlmResponse, ask};

/// How long the fallback is asked first after a failure. A longer `Retry-After` of the primary is not waited for: a
/// failed call before the fallback's costs little, and the primary may answer long before.
const PAUSE: SignedDuration = SignedDuration::from_secs(60);

/// A model and an optional fallback. A prompt keeps the models that it started with.
pub struct Models(RwLock<Arc<ModelPair>>);

struct ModelPair {
    primary: Arc<dyn Llm>,
    fallback: Option<Arc<dyn Llm>>,
    down_until: Mutex<Option<Timestamp>>,
}

impl Models {
    pub fn new(primary: Arc<dyn Llm>, fallback: Option<Arc<dyn Llm>>) -> Self {
        Self(RwLock::new(Arc::new(ModelPair::new(primary, fallback))))
    }

    /// Replaces the models, from the next prompt on.
    pub fn replace(&self, primary: Arc<dyn Llm>, fallback: Option<Arc<dyn Llm>>) {
        *self.0.write() = Arc::new(ModelPair::new(primary, fallback));
    }

    /// The name of the primary model.
    pub fn name(&self) -> String {
        self.pair().primary.model().to_owned()
    }

    /// Both models, the primary first.
    pub fn all(&self) -> Vec<Arc<dyn Llm>> {
        let pair = self.pair();
        [&pair.primary].into_iter().chain(&pair.fallback).cloned().collect()
    }

    /// Why the last prompt got no answer, if a model was the cause.
    pub fn problem(&self) -> Option<ModelProblem> {
        self.all().iter().find_map(|model| model.problem())
    }

    /// The calls that a prompt may take. Each is a separate request and may be charged.
    pub fn tries<'p>(&self, prompt: &'p Prompt, now: Timestamp) -> Tries<'p> {
        let models = self.pair();
        let mut queue = VecDeque::from([(ModelRole::Primary, models.primary.clone())]);
        match models.fallback.clone() {
            Some(fallback) if models.is_down(now) => {
                queue.push_front((ModelRole::Fallback, fallback));
            }
            Some(fallback) => queue.push_back((ModelRole::Fallback, fallback)),
            None => {}
        }
        let wait = SignedDuration::ZERO;
        Tries { models, prompt, queue, attempt: 1, wait, error: None }
    }

    fn pair(&self) -> Arc<ModelPair> {
        self.0.read().clone()
    }

    /// Asks until there is an answer, for callers that do not reserve budget.
    pub async fn ask(
        &self,
        prompt: &Prompt,
        limit: SignedDuration,
        clock: &Clock,
    ) -> Result<LlmResponse, LlmError> {
        let deadline = clock.now() + limit;
        let mut tries = self.tries(prompt, clock.now());
        while let Some(next) = tries.next_try() {
            clock.sleep_until(clock.now() + next.wait).await;
            let left = deadline.duration_since(clock.now());
            let asked = clock.timeout(left, ask(&*next.llm, prompt)).await;
            let result = asked.unwrap_or_else(|_timed_out| {
                Err(LlmError::TimedOut(format!("no answer within {limit:#}")))
            });
            match result {
                Ok(response) => {
                    tries.succeed();
                    return Ok(response);
                }
                Err(error) => tries.fail(error, clock.now(), deadline),
            }
        }
        Err(tries.into_error())
    }
}

impl ModelPair {
    fn new(primary: Arc<dyn Llm>, fallback: Option<Arc<dyn Llm>>) -> Self {
        Self { primary, fallback, down_until: Mutex::default() }
    }

    fn record_answer(&self) {
        if self.down_until().take().is_some() {
            info!(model = self.primary.model(), "the model answers again");
        }
    }

    fn record_failure(&self, error: &LlmError, now: Timestamp) {
        match error {
            // A charged answer of no use says something of this prompt, not of the model.
            LlmError::Busy { usage, .. } if *usage != Usage::default() => {}
            LlmError::Busy { .. } | LlmError::TimedOut(_) => *self.down_until() = Some(now + PAUSE),
            // Only this prompt may be refused, and a refusal costs no time.
            LlmError::Refused(_) | LlmError::Unusable { .. } => {}
        }
    }

    fn is_down(&self, now: Timestamp) -> bool {
        self.down_until().is_some_and(|until| until > now)
    }

    fn down_until(&self) -> MutexGuard<'_, Option<Timestamp>> {
        self.down_until.lock()
    }
}

/// The remaining calls for one prompt.
pub struct Tries<'p> {
    models: Arc<ModelPair>,
    prompt: &'p Prompt,
    /// The models that may still be asked, the next one first.
    queue: VecDeque<(ModelRole, Arc<dyn Llm>)>,
    /// The number of the next attempt with the first of these models.
    attempt: u32,
    wait: SignedDuration,
    /// Why the previous models failed.
    error: Option<LlmError>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ModelRole {
    Primary,
    Fallback,
}

/// The next call.
pub struct NextTry {
    pub llm: Arc<dyn Llm>,
    /// How long to wait before the call.
    pub wait: SignedDuration,
}

impl Tries<'_> {
    pub fn next_try(&self) -> Option<NextTry> {
        let (_, llm) = self.queue.front()?.clone();
        Some(NextTry { llm, wait: self.wait })
    }

    /// Records that the call succeeded.
    pub fn succeed(&self) {
        match self.queue.front() {
            Some((ModelRole::Primary, _)) => self.models.record_answer(),
            Some((ModelRole::Fallback, _)) | None => {}
        }
    }

    /// Records that the call failed. The same model is asked again if its answer was charged, another answer may be
    /// better, and there is time before `deadline`.
    pub fn fail(&mut self, error: LlmError, now: Timestamp, deadline: Timestamp) {
        let Some((role, llm)) = self.queue.front().cloned() else { return };
        if let LlmError::Busy { retry_after, usage, .. } = &error {
            let wait = retry_after.unwrap_or_default().max(self.backoff(&*llm));
            let is_charged = *usage != Usage::default();
            if is_charged && self.attempt < llm.max_attempts() && now + wait < deadline {
                self.attempt += 1;
                self.wait = wait;
                return;
            }
        }
        match role {
            ModelRole::Primary => self.models.record_failure(&error, now),
            ModelRole::Fallback => {}
        }
        self.queue.pop_front();
        (self.attempt, self.wait) = (1, SignedDuration::ZERO);
        if now >= deadline {
            self.queue.clear();
        }
        if let Some((_, next)) = self.queue.front() {
            let (model, fallback) = (llm.model(), next.model());
            warn!(model, fallback, error = %error, "the model failed; asking the other one");
        }
        self.error = Some(match self.error.take() {
            Some(first) => combined_error(&first, &error),
            None => error,
        });
    }

    /// Why no model answered.
    pub fn into_error(self) -> LlmError {
        self.error.unwrap_or_else(|| LlmError::Refused("no model is left to ask".to_owned()))
    }

    fn backoff(&self, llm: &dyn Llm) -> SignedDuration {
        let keys = [&*self.prompt.hash(), llm.model(), &self.attempt.to_string()];
        backoff(self.attempt, seeded_random(0, &keys))
    }
}

/// Exponential backoff: 0.5, 1, 2 … seconds, each times a random factor between 0.5 and 1.5, so that callers do not
/// retry at the same time.
pub fn backoff(attempt: u32, draw: f64) -> SignedDuration {
    let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX).min(5);
    duration_from_seconds(0.5 * 2_f64.powi(exponent) * (0.5 + draw))
}

/// The error if both models failed. It is retryable if either error is.
fn combined_error(first: &LlmError, second: &LlmError) -> LlmError {
    let why = format!("{}, and {}", error_text(first), error_text(second));
    let usage = first.usage().plus(second.usage());
    let waits = [retry_wait(first), retry_wait(second)];
    if let Some(retry_after) = waits.into_iter().flatten().min() {
        let retry_after = Some(retry_after).filter(|wait| !wait.is_zero());
        return LlmError::Busy { why, retry_after, usage };
    }
    let is_unusable = |error: &LlmError| matches!(error, LlmError::Unusable { .. });
    if is_unusable(first) || is_unusable(second) {
        LlmError::Unusable { why, usage }
    } else {
        LlmError::Refused(why)
    }
}

/// How long to wait before a retry, if the error is retryable.
fn retry_wait(error: &LlmError) -> Option<SignedDuration> {
    match error {
        LlmError::Busy { retry_after, .. } => Some(retry_after.unwrap_or_default()),
        LlmError::TimedOut(_) => Some(SignedDuration::ZERO),
        LlmError::Refused(_) | LlmError::Unusable { .. } => None,
    }
}

fn error_text(error: &LlmError) -> &str {
    match error {
        LlmError::Busy { why, .. }
        | LlmError::TimedOut(why)
        | LlmError::Refused(why)
        | LlmError::Unusable { why, .. } => why,
    }
}
