//! A second model for when the first is down. While it is known to be down, the first is left in
//! peace for a while, so that nobody waits for it in vain again and again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tracing::{info, warn};

use crate::clock::Clock;
use crate::llm::{Answer, Llm, LlmError};
use crate::prompt::Prompt;

/// How long the first model is left in peace after it failed, unless it asks for more.
const PEACE: SignedDuration = SignedDuration::from_secs(60);
/// It is looked after at least this often, whatever it asks for.
const LONGEST_PEACE: SignedDuration = SignedDuration::from_mins(15);

pub struct FallbackMind {
    first: Arc<dyn Llm>,
    second: Arc<dyn Llm>,
    clock: Clock,
    down_until: Mutex<Option<Timestamp>>,
}

impl FallbackMind {
    pub fn new(first: Arc<dyn Llm>, second: Arc<dyn Llm>, clock: Clock) -> Self {
        Self { first, second, clock, down_until: Mutex::default() }
    }

    async fn ask_first(&self, prompt: &Prompt) -> Result<Answer, LlmError> {
        let answered = self.first.ask(prompt).await;
        let mut down_until = self.down_until();
        match &answered {
            Ok(_) => {
                if down_until.take().is_some() {
                    info!(model = self.first.model(), "{} answers again", self.first.model());
                }
            }
            Err(LlmError::Busy { retry_after, .. }) => {
                let peace = retry_after.unwrap_or_default().clamp(PEACE, LONGEST_PEACE);
                *down_until = Some(self.clock.now() + peace);
            }
            // It may refuse this question only, and it does so quickly.
            Err(LlmError::Refused(_)) => {}
        }
        answered
    }

    async fn ask_second(&self, prompt: &Prompt) -> Result<Answer, LlmError> {
        let answer = self.second.ask(prompt).await?;
        let model = answer.model.clone().unwrap_or_else(|| self.second.model().into());
        Ok(Answer { model: Some(model), ..answer })
    }

    fn down_until(&self) -> MutexGuard<'_, Option<Timestamp>> {
        self.down_until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Llm for FallbackMind {
    fn model(&self) -> &str {
        self.first.model()
    }

    async fn ask(&self, prompt: &Prompt) -> Result<Answer, LlmError> {
        let is_down = self.down_until().is_some_and(|until| until > self.clock.now());
        if is_down {
            return self.ask_second(prompt).await;
        }
        let error = match self.ask_first(prompt).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let (first, second) = (self.first.model(), self.second.model());
        warn!(model = first, fallback = second, "{error}; {second} is asked instead");
        self.ask_second(prompt).await
    }
}
