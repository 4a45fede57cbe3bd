//! A model as the judge of a replay. Its cost is limited before each call, so that the cap holds for any replay.

use std::collections::HashSet;
use std::sync::Arc;

use aizuchi_llm::price::Prices;
use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_llm::scripted::ScriptedMind;
use aizuchi_llm::{Llm, LlmError, LlmResponse};
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::Usage;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::replay::judge::answer_cache::{AnswerCache, CachedAnswer, answer_key};
use crate::replay::judge::bystander;

/// The number of failed calls in a row after which the model is not asked any more.
const MAX_FAILURES: u32 = 5;
/// The output tokens of a typical judgment, for the estimate.
const JUDGMENT_TOKENS: u64 = 120;

/// The limits on the calls.
#[derive(Clone, Debug)]
pub struct CallBudget {
    pub prices: Prices,
    /// In millionths of the prices' currency.
    pub max_cost_micros: u64,
    pub max_calls: Option<u64>,
    pub timeout: SignedDuration,
}

/// A model that is asked about past moments.
#[derive(Clone)]
pub struct ShadowModel {
    pub llm: Arc<dyn Llm>,
    /// The parameters of its requests, which are part of the cache key.
    pub parameters: String,
    /// The answers that it gave before.
    pub cache: Arc<AnswerCache>,
    pub limits: CallBudget,
    /// The runtime for its calls. `None` if it is not asked, and its cost is only estimated.
    pub runtime: Option<Handle>,
}

impl ShadowModel {
    pub fn judge(&self) -> ModelJudge {
        let mode = self.runtime.clone().map_or(AskMode::Never, AskMode::Live);
        ModelJudge::new(self.clone(), mode)
    }
}

/// A judge that asks a model, or only counts the calls that it would make.
pub struct ModelJudge {
    model: ShadowModel,
    asking: AskMode,
    bystander: ScriptedMind,
    clock: Clock,
    state: Mutex<CallState>,
    /// The keys of the requests that were counted and not sent.
    priced: Mutex<HashSet<String>>,
    /// After this is cancelled, no call starts, and the calls in flight are abandoned.
    stop: CancellationToken,
    /// No call starts after this time.
    asks_until: Timestamp,
}

/// What a judge does about an answer that is not cached.
pub enum AskMode {
    /// Asks nothing. An answer that is not cached counts as a no.
    Dry,
    /// Asks nothing. An answer that is not cached is unknown.
    Never,
    /// Runs the calls on this runtime, which must not be that of the caller, while the replay waits.
    Live(Handle),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct CallState {
    counts: CallCounts,
    /// The maximum cost of the calls in flight.
    reserved_micros: u64,
    failures_in_a_row: u32,
}

/// The number of calls, and their cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CallCounts {
    pub calls: u64,
    pub from_cache: u64,
    /// Judgments that were not made, because the cap was reached, the time was over, or the model failed.
    pub unknown: u64,
    pub is_cap_reached: bool,
    /// Whether a call was not made because the time was over. A replay on the command line has no time limit.
    #[serde(skip)]
    pub is_late: bool,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cost_micros: u64,
    /// Why the first failed call failed.
    pub failure: Option<String>,
}

impl ModelJudge {
    pub fn new(model: ShadowModel, asking: AskMode) -> Self {
        let (bystander, clock) = (bystander(), Clock::system());
        Self {
            model,
            asking,
            bystander,
            clock,
            state: Mutex::default(),
            priced: Mutex::default(),
            stop: CancellationToken::new(),
            asks_until: Timestamp::MAX,
        }
    }

    /// Asks nothing after `stop` is cancelled, and starts no call later than `longest` from now.
    pub fn until(self, stop: CancellationToken, longest: SignedDuration) -> Self {
        let asks_until = self.clock.now() + longest;
        Self { stop, asks_until, ..self }
    }

    /// Whether the judge only counts the calls that it would make.
    pub fn is_pricing(&self) -> bool {
        match self.asking {
            AskMode::Dry | AskMode::Never => true,
            AskMode::Live(_) => false,
        }
    }

    pub fn counts(&self) -> CallCounts {
        self.state().counts.clone()
    }

    fn state(&self) -> MutexGuard<'_, CallState> {
        self.state.lock()
    }

    fn cost_micros(&self, usage: Usage) -> u64 {
        self.model.limits.prices.cost(self.model.llm.model(), usage).map_or(0, |price| price.micros)
    }

    /// Reserves the maximum cost of a call. Fails if that exceeds the limits, if the time is over, or if the model
    /// failed too often.
    fn reserve(&self, prompt: &Prompt) -> Result<u64, LlmError> {
        let most = Usage {
            input_tokens: prompt.total_tokens() * 2,
            output_tokens: self.model.llm.max_output_tokens(prompt),
            ..Usage::default()
        };
        let micros = self.cost_micros(most);
        let mut state = self.state();
        let is_broken = state.failures_in_a_row >= MAX_FAILURES;
        let spent = state.counts.cost_micros + state.reserved_micros + micros;
        let has_called = self.model.limits.max_calls.is_some_and(|most| state.counts.calls >= most);
        let is_late = self.stop.is_cancelled() || self.clock.now() > self.asks_until;
        let is_over = has_called || spent > self.model.limits.max_cost_micros;
        let why = match (is_broken, is_late, is_over) {
            (true, ..) => Some("it failed too often"),
            (false, true, _) => Some("it is too late"),
            (false, false, true) => Some("the cap is reached"),
            (false, false, false) => None,
        };
        if let Some(why) = why {
            state.counts.unknown += 1;
            state.counts.is_late |= is_late && !is_broken;
            state.counts.is_cap_reached |= is_over && !is_late && !is_broken;
            return Err(LlmError::Refused(format!("the model is not asked: {why}")));
        }
        state.reserved_micros += micros;
        state.counts.calls += 1;
        Ok(micros)
    }

    /// Counts a call that is not made. Equal requests count once, because the answer would be cached from then on, also
    /// for other policies.
    fn count_once(&self, key: String, prompt: &Prompt) {
        if !self.priced.lock().insert(key) {
            return;
        }
        let usage = Usage {
            input_tokens: prompt.total_tokens(),
            output_tokens: JUDGMENT_TOKENS,
            ..Usage::default()
        };
        let cost = self.cost_micros(usage);
        let mut state = self.state();
        state.counts.calls += 1;
        state.counts.input_tokens += usage.input_tokens;
        state.counts.output_tokens += usage.output_tokens;
        state.counts.cost_micros += cost;
    }

    /// Answers a prompt of any kind, from the cache or, if it may ask, by a call.
    pub async fn answer(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let key = answer_key(self.model.llm.model(), &self.model.parameters, prompt);
        if let Some(CachedAnswer { answer, usage, .. }) = self.model.cache.find(&key) {
            self.state().counts.from_cache += 1;
            return Ok(LlmResponse::new(answer, usage));
        }
        match &self.asking {
            AskMode::Live(_) => {}
            AskMode::Dry => {
                self.count_once(key, prompt);
                return self.bystander.ask(prompt).await;
            }
            AskMode::Never => {
                self.count_once(key, prompt);
                return Err(LlmError::Refused("there is no answer on record".to_owned()));
            }
        }
        let response = self.call(prompt).await?;
        let (answer, model) = (response.text.clone(), self.model().to_owned());
        let answer = CachedAnswer { answer, model, usage: response.usage };
        if let Err(error) = self.model.cache.insert(&key, prompt, answer) {
            self.state().counts.failure.get_or_insert_with(|| format!("{error:#}"));
        }
        Ok(response)
    }

    async fn call(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let reserved = self.reserve(prompt)?;
        let ask = self
            .clock
            .timeout(self.model.limits.timeout, aizuchi_llm::ask(&*self.model.llm, prompt));
        let asked = self.stop.run_until_cancelled(ask).await;
        let gave_up = || Err(LlmError::TimedOut("no answer within the timeout".to_owned()));
        let result = asked.and_then(Result::ok).unwrap_or_else(gave_up);
        let mut state = self.state();
        state.reserved_micros -= reserved;
        let (usage, cost) = match &result {
            Ok(response) => (response.usage, self.cost_micros(response.usage)),
            // The call may have been charged, and the amount is unknown.
            Err(LlmError::TimedOut(_)) => (Usage::default(), reserved),
            Err(
                error @ (LlmError::Busy { .. } | LlmError::Refused(_) | LlmError::Unusable { .. }),
            ) => (error.usage(), self.cost_micros(error.usage())),
        };
        state.counts.cost_micros += cost;
        state.counts.input_tokens += usage.input_tokens;
        state.counts.output_tokens += usage.output_tokens;
        match &result {
            Ok(_) => state.failures_in_a_row = 0,
            Err(error) => {
                state.failures_in_a_row += 1;
                state.counts.unknown += 1;
                state.counts.failure.get_or_insert_with(|| error.to_string());
            }
        }
        // A retry later, in virtual time, would be a different question.
        result.map_err(|error| LlmError::Refused(error.to_string()))
    }
}

#[async_trait]
impl Llm for ModelJudge {
    fn model(&self) -> &str {
        self.model.llm.model()
    }

    fn max_output_tokens(&self, prompt: &Prompt) -> u64 {
        self.model.llm.max_output_tokens(prompt)
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        if ![PromptVerb::Judge, PromptVerb::State].contains(&prompt.verb) {
            return self.bystander.ask(prompt).await;
        }
        match &self.asking {
            AskMode::Live(runtime) => runtime.block_on(self.answer(prompt)),
            AskMode::Dry | AskMode::Never => self.answer(prompt).await,
        }
    }
}
