//! A second model for when the first is down. While it is known to be down, the first is left in
//! peace for a while, so that nobody waits for it in vain again and again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tracing::{info, warn};

use crate::clock::Clock;
use crate::llm::{FailedCall, Llm, LlmError, LlmResponse};
use crate::prompt::Prompt;

/// How long the first model is left in peace after it failed, unless it asks for more.
const MIN_BACKOFF: SignedDuration = SignedDuration::from_secs(60);
/// It is looked after at least this often, whatever it asks for.
const MAX_BACKOFF: SignedDuration = SignedDuration::from_mins(15);

pub struct FallbackMind {
    primary: Arc<dyn Llm>,
    fallback: Arc<dyn Llm>,
    clock: Clock,
    down_until: Mutex<Option<Timestamp>>,
}

impl FallbackMind {
    pub fn new(first: Arc<dyn Llm>, second: Arc<dyn Llm>, clock: Clock) -> Self {
        Self { primary: first, fallback: second, clock, down_until: Mutex::default() }
    }

    async fn ask_primary(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let answered = self.primary.ask(prompt).await;
        let mut down_until = self.down_until();
        match &answered {
            Ok(_) => {
                if down_until.take().is_some() {
                    info!(model = self.primary.model(), "{} answers again", self.primary.model());
                }
            }
            Err(LlmError::Busy { retry_after, .. }) => {
                let peace = retry_after.unwrap_or_default().clamp(MIN_BACKOFF, MAX_BACKOFF);
                *down_until = Some(self.clock.now() + peace);
            }
            Err(LlmError::TimedOut(_)) => *down_until = Some(self.clock.now() + MIN_BACKOFF),
            // It may refuse this question only, and it does so quickly.
            Err(LlmError::Refused(_) | LlmError::Unusable { .. }) => {}
        }
        answered
    }

    async fn ask_fallback(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let answer = self.fallback.ask(prompt).await?;
        let model = answer.model.clone().unwrap_or_else(|| self.fallback.model().into());
        Ok(LlmResponse { model: Some(model), ..answer })
    }

    fn is_down(&self) -> bool {
        self.down_until().is_some_and(|until| until > self.clock.now())
    }

    fn down_until(&self) -> MutexGuard<'_, Option<Timestamp>> {
        self.down_until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Llm for FallbackMind {
    fn model(&self) -> &str {
        self.primary.model()
    }

    /// The first is asked before the second or, while it is left in peace, only after it.
    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let is_down = self.is_down();
        let (one, other) =
            if is_down { (&self.fallback, &self.primary) } else { (&self.primary, &self.fallback) };
        let asked =
            if is_down { self.ask_fallback(prompt).await } else { self.ask_primary(prompt).await };
        let error = match asked {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let (one, other) = (one.model(), other.model());
        warn!(model = one, "{error}; {other} is asked instead");
        let asked =
            if is_down { self.ask_primary(prompt).await } else { self.ask_fallback(prompt).await };
        let mut answer = asked.map_err(|second| combined_error(&error, &second))?;
        answer.failed_calls.insert(0, FailedCall { model: one.into(), error });
        Ok(answer)
    }
}

/// What is to be done when neither answers: what one of them may still get over is waited for.
fn combined_error(one: &LlmError, other: &LlmError) -> LlmError {
    let why = format!("{}, and {}", error_text(one), error_text(other));
    let waits = [retry_wait(one), retry_wait(other)];
    if let Some(retry_after) = waits.into_iter().flatten().min() {
        let retry_after = Some(retry_after).filter(|wait| !wait.is_zero());
        return LlmError::Busy { why, retry_after };
    }
    let mut usages = [one, other].into_iter().filter_map(|error| match error {
        LlmError::Unusable { usage, .. } => Some(*usage),
        LlmError::Busy { .. } | LlmError::TimedOut(_) | LlmError::Refused(_) => None,
    });
    match usages.next() {
        Some(usage) => LlmError::Unusable { why, usage },
        None => LlmError::Refused(why),
    }
}

/// How long it may take to pass, if it does.
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
