//! The mind of a replay. Its answers take virtual time, and it records the judgments that it is asked for.

use std::sync::Arc;

use aizuchi_import::rows::IdHash;
use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_llm::{Llm, LlmError, LlmResponse};
use aizuchi_model::chat::MessageId;
use aizuchi_model::clock::{Clock, seeded_random};
use async_trait::async_trait;
use jiff::SignedDuration;

use crate::replay::ReplaySettings;
use crate::replay::record::{JudgeCall, Recorder, ReplayEventKind};

/// The standard deviation of the logarithm of a model's latency. With a median of 4 s, 80 of 100 calls take
/// between 2 and 8 s.
const LATENCY_SIGMA: f64 = 0.5;

/// A mind whose answers take virtual time.
pub(super) struct RecordingMind {
    pub(super) inner: Arc<dyn Llm>,
    pub(super) recorder: Arc<Recorder>,
    pub(super) clock: Clock,
    pub(super) settings: ReplaySettings,
}

#[async_trait]
impl Llm for RecordingMind {
    fn model(&self) -> &str {
        self.inner.model()
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        if let Some(moments) = &mut self.recorder.lock().moments {
            moments.add_call(prompt);
        }
        if prompt.verb == PromptVerb::Judge {
            self.record(prompt);
        }
        let latency = self.latency(prompt);
        if latency > SignedDuration::ZERO {
            self.clock.sleep_until(self.clock.now() + latency).await;
        }
        let answer = self.inner.ask(prompt).await;
        if let (Ok(response), Some(moments)) = (&answer, &mut self.recorder.lock().moments) {
            moments.add_answer(prompt.verb, response.usage);
        }
        answer
    }
}

impl RecordingMind {
    fn record(&self, prompt: &Prompt) {
        let mut record = self.recorder.lock();
        record.now = self.clock.now();
        let prefix_bytes =
            common_prefix_bytes(prompt.text.as_bytes(), record.last_prompt.as_bytes());
        let prompt_bytes = prompt.text.len();
        prompt.text.clone_into(&mut record.last_prompt);
        let thread = prompt.context.conversation.thread.as_ref();
        let thread = IdHash::from_thread(thread.map(MessageId::as_str));
        let (at, heard_rows) = (record.now, record.heard_rows);
        let is_second_look = record.notes(&prompt.context.conversation).is_second_look;
        let call = JudgeCall {
            at,
            thread,
            heard_rows,
            is_superseded: false,
            is_second_look,
            prompt_bytes,
            prefix_bytes,
        };
        record.calls.push(call);
        if record.events.is_some() {
            let mut event =
                record.event(ReplayEventKind::JudgeCalled, &prompt.context.conversation);
            event.prompt_bytes = Some(prompt_bytes);
            event.prefix_bytes = Some(prefix_bytes);
            record.write(&event);
        }
    }

    /// Draws a lognormal latency around the median (the Box–Muller transform of two uniform draws).
    fn latency(&self, prompt: &Prompt) -> SignedDuration {
        if self.settings.latency_ms == 0 {
            return SignedDuration::ZERO;
        }
        let conversation = prompt.context.conversation.to_string();
        let revision = prompt.context.revision.to_string();
        let draw = |which| {
            seeded_random(
                self.settings.seed,
                &[&conversation, &revision, prompt.verb.name(), which],
            )
        };
        let (one, other) = (1.0 - draw("latency"), draw("latency's angle"));
        let normal = (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * other).cos();
        let milliseconds = self.settings.latency_ms as f64 * (LATENCY_SIGMA * normal).exp();
        SignedDuration::from_millis(milliseconds.round() as i64)
    }
}

/// Returns the length of the longest common prefix. Comparing in chunks is faster than byte by byte.
fn common_prefix_bytes(one: &[u8], other: &[u8]) -> usize {
    const STEP: usize = 64;
    let steps = one.chunks_exact(STEP).zip(other.chunks_exact(STEP));
    let whole = steps.take_while(|(one, other)| one == other).count() * STEP;
    let rest = one[whole..].iter().zip(&other[whole..]);
    whole + rest.take_while(|(one, other)| one == other).count()
}
