//! A second model for when the first is down. While the primary model is known to be down, the
//! fallback is asked first, so that users do not wait for the primary's timeout each time.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use tracing::{info, warn};

use crate::clock::Clock;
use crate::decision::Usage;
use crate::llm::{FailedCall, Llm, LlmError, LlmResponse};
use crate::prompt::Prompt;

/// How long the primary is not asked first after a failure, unless it asks for more.
const MIN_BACKOFF: SignedDuration = SignedDuration::from_secs(60);
/// The longest such pause, whatever the primary asks for.
const MAX_BACKOFF: SignedDuration = SignedDuration::from_mins(15);

pub struct FallbackMind {
    primary: Arc<dyn Llm>,
    fallback: Arc<dyn Llm>,
    clock: Clock,
    down_until: Mutex<Option<Timestamp>>,
}

impl FallbackMind {
    pub fn new(primary: Arc<dyn Llm>, fallback: Arc<dyn Llm>, clock: Clock) -> Self {
        Self { primary, fallback, clock, down_until: Mutex::default() }
    }

    async fn ask_primary(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let result = self.primary.ask(prompt).await;
        let mut down_until = self.down_until();
        match &result {
            Ok(_) => {
                if down_until.take().is_some() {
                    info!(model = self.primary.model(), "the model answers again");
                }
            }
            Err(LlmError::Busy { retry_after, .. }) => {
                let backoff = retry_after.unwrap_or_default().clamp(MIN_BACKOFF, MAX_BACKOFF);
                *down_until = Some(self.clock.now() + backoff);
            }
            Err(LlmError::TimedOut(_)) => *down_until = Some(self.clock.now() + MIN_BACKOFF),
            // It may refuse only this prompt, and refusing is quick.
            Err(LlmError::Refused(_) | LlmError::Unusable { .. }) => {}
        }
        result
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
        self.down_until.lock()
    }
}

#[async_trait]
impl Llm for FallbackMind {
    fn model(&self) -> &str {
        self.primary.model()
    }

    fn max_output_tokens(&self, prompt: &Prompt) -> u64 {
        self.primary.max_output_tokens(prompt).max(self.fallback.max_output_tokens(prompt))
    }

    /// Asks the primary first or, while it is down, the fallback first.
    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let is_down = self.is_down();
        let (first, second) =
            if is_down { (&self.fallback, &self.primary) } else { (&self.primary, &self.fallback) };
        let result =
            if is_down { self.ask_fallback(prompt).await } else { self.ask_primary(prompt).await };
        let error = match result {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let (first, second) = (first.model(), second.model());
        warn!(
            model = first,
            fallback = second,
            error = %error,
            "the model failed; asking the other one"
        );
        let result =
            if is_down { self.ask_primary(prompt).await } else { self.ask_fallback(prompt).await };
        let mut answer = result.map_err(|second| combined_error(&error, &second))?;
        answer.failed_calls.insert(0, FailedCall { model: first.into(), error });
        Ok(answer)
    }
}

/// The error if both models failed: a retry, if either error may pass.
fn combined_error(first: &LlmError, second: &LlmError) -> LlmError {
    let why = format!("{}, and {}", error_text(first), error_text(second));
    let usage = usage(first).plus(usage(second));
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

/// The tokens that a failed call is known to have used.
fn usage(error: &LlmError) -> Usage {
    match error {
        LlmError::Busy { usage, .. } | LlmError::Unusable { usage, .. } => *usage,
        LlmError::TimedOut(_) | LlmError::Refused(_) => Usage::default(),
    }
}

/// How long to wait before a retry, if the error may pass.
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
