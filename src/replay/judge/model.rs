//! A model as the judge of a replay. What it costs is limited before each call, so the cap holds whatever a replay is.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::replay::judge::answer_cache::{AnswerCache, CachedAnswer, answer_key};
use crate::replay::judge::bystander;
use aizuchi_core::clock::Clock;
use aizuchi_core::decision::Usage;
use aizuchi_core::llm::price::Prices;
use aizuchi_core::llm::scripted::ScriptedMind;
use aizuchi_core::llm::{Llm, LlmError, LlmResponse};
use aizuchi_core::prompt::{Prompt, PromptVerb};

/// After so many failed calls in a row, the model is not asked any more.
const MAX_FAILURES: u32 = 5;
/// The tokens of a usual judgment, for the estimate.
const JUDGMENT_TOKENS: u64 = 120;

/// What limits the calls.
#[derive(Clone, Debug)]
pub struct CallBudget {
    pub prices: Prices,
    /// In millionths of the prices' currency.
    pub max_cost_micros: u64,
    pub max_calls: Option<u64>,
    pub timeout: SignedDuration,
}

/// Asks a model, or only counts what it would be asked.
pub struct ModelJudge {
    llm: Arc<dyn Llm>,
    /// The parameters of its requests, which make other answers.
    parameters: String,
    cache: Arc<AnswerCache>,
    limits: CallBudget,
    asking: Asking,
    bystander: ScriptedMind,
    clock: Clock,
    state: Mutex<CallState>,
    /// What was counted and not asked.
    priced: Mutex<HashSet<String>>,
    /// No call begins after this, and one in flight is given up.
    stop: CancellationToken,
    /// No call begins after this time.
    asks_until: Timestamp,
}

enum Asking {
    /// Nothing is asked; what the cache does not have counts as a no.
    Dry,
    /// Nothing is asked; what the cache does not have is unknown.
    Never,
    /// The calls run there, while the replay waits.
    Live(Handle),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct CallState {
    counts: CallCounts,
    /// What the calls in flight may cost at most.
    reserved_micros: u64,
    failures_in_a_row: u32,
}

/// What was asked, and what it cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CallCounts {
    pub calls: u64,
    pub from_cache: u64,
    /// Judgments that were not made: the cap was reached, it was too late, or the model failed.
    pub unknown: u64,
    pub is_cap_reached: bool,
    /// Whether something was not asked because the time for it was over. A replay of the command line takes its time.
    #[serde(skip)]
    pub is_late: bool,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cost_micros: u64,
    /// Why a call failed first.
    pub failure: Option<String>,
}

impl ModelJudge {
    /// Counts what would be asked.
    pub fn dry(
        llm: Arc<dyn Llm>,
        parameters: String,
        cache: Arc<AnswerCache>,
        limits: CallBudget,
    ) -> Self {
        Self::new(llm, parameters, cache, limits, Asking::Dry)
    }

    /// Answers from the cache, and counts what else would be asked.
    pub fn pricing(
        llm: Arc<dyn Llm>,
        parameters: String,
        cache: Arc<AnswerCache>,
        limits: CallBudget,
    ) -> Self {
        Self::new(llm, parameters, cache, limits, Asking::Never)
    }

    /// Asks. The runtime must be another than that of the caller.
    pub fn live(
        llm: Arc<dyn Llm>,
        parameters: String,
        cache: Arc<AnswerCache>,
        limits: CallBudget,
        runtime: Handle,
    ) -> Self {
        Self::new(llm, parameters, cache, limits, Asking::Live(runtime))
    }

    fn new(
        llm: Arc<dyn Llm>,
        parameters: String,
        cache: Arc<AnswerCache>,
        limits: CallBudget,
        asking: Asking,
    ) -> Self {
        let (bystander, clock) = (bystander(), Clock::system());
        Self {
            llm,
            parameters,
            cache,
            limits,
            asking,
            bystander,
            clock,
            state: Mutex::default(),
            priced: Mutex::default(),
            stop: CancellationToken::new(),
            asks_until: Timestamp::MAX,
        }
    }

    /// Asks nothing after `stop` is cancelled, and begins no call `longest` from now on.
    pub fn until(self, stop: CancellationToken, longest: SignedDuration) -> Self {
        let asks_until = self.clock.now() + longest;
        Self { stop, asks_until, ..self }
    }

    /// Whether it only counts what it would be asked.
    pub fn is_pricing(&self) -> bool {
        match self.asking {
            Asking::Dry | Asking::Never => true,
            Asking::Live(_) => false,
        }
    }

    pub fn counts(&self) -> CallCounts {
        self.state().counts.clone()
    }

    fn state(&self) -> MutexGuard<'_, CallState> {
        self.state.lock()
    }

    fn cost_micros(&self, usage: Usage) -> u64 {
        self.limits.prices.cost(self.llm.model(), usage).map_or(0, |price| price.micros)
    }

    /// Reserves what a call may cost at most. Fails if that is more than is left, or if there is no time left for it.
    fn reserve(&self, prompt: &Prompt) -> Result<u64, LlmError> {
        let most = Usage {
            input_tokens: prompt.total_tokens() * 2,
            output_tokens: self.llm.max_output_tokens(prompt),
            ..Usage::default()
        };
        let micros = self.cost_micros(most);
        let mut state = self.state();
        let is_broken = state.failures_in_a_row >= MAX_FAILURES;
        let spent = state.counts.cost_micros + state.reserved_micros + micros;
        let has_called = self.limits.max_calls.is_some_and(|most| state.counts.calls >= most);
        let is_late = self.stop.is_cancelled() || self.clock.now() > self.asks_until;
        let is_over = has_called || spent > self.limits.max_cost_micros;
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

    /// Counts a call that is not made, once: its answer would be in the cache from then on, also for other policies.
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

    /// The answer to a prompt of any kind: kept, or given now if it asks.
    pub async fn answer(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let key = answer_key(self.llm.model(), &self.parameters, prompt);
        if let Some(CachedAnswer { answer, usage }) = self.cache.find(&key) {
            self.state().counts.from_cache += 1;
            return Ok(LlmResponse::new(answer, usage));
        }
        match &self.asking {
            Asking::Live(_) => {}
            Asking::Dry => {
                self.count_once(key, prompt);
                return self.bystander.ask(prompt).await;
            }
            Asking::Never => {
                self.count_once(key, prompt);
                return Err(LlmError::Refused("there is no answer on record".to_owned()));
            }
        }
        let response = self.call(prompt).await?;
        let answer = CachedAnswer { answer: response.text.clone(), usage: response.usage };
        if let Err(error) = self.cache.insert(&key, prompt, answer) {
            self.state().counts.failure.get_or_insert_with(|| format!("{error:#}"));
        }
        Ok(response)
    }

    async fn call(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let reserved = self.reserve(prompt)?;
        let ask = self.clock.timeout(self.limits.timeout, self.llm.ask(prompt));
        let asked = self.stop.run_until_cancelled(ask).await;
        let gave_up = || Err(LlmError::TimedOut("no answer within the timeout".to_owned()));
        let result = asked.and_then(Result::ok).unwrap_or_else(gave_up);
        let mut state = self.state();
        state.reserved_micros -= reserved;
        let (usage, cost) = match &result {
            Ok(response) => (response.usage, self.cost_micros(response.usage)),
            Err(LlmError::Busy { usage, .. } | LlmError::Unusable { usage, .. }) => {
                (*usage, self.cost_micros(*usage))
            }
            // It may have been charged, and nobody says how much.
            Err(LlmError::TimedOut(_)) => (Usage::default(), reserved),
            Err(LlmError::Refused(_)) => (Usage::default(), 0),
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
        // To ask again later, in virtual time, would be to ask another question.
        result.map_err(|error| LlmError::Refused(error.to_string()))
    }
}

#[async_trait]
impl Llm for ModelJudge {
    fn model(&self) -> &str {
        self.llm.model()
    }

    fn max_output_tokens(&self, prompt: &Prompt) -> u64 {
        self.llm.max_output_tokens(prompt)
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        match prompt.verb {
            PromptVerb::Judge | PromptVerb::State => {}
            PromptVerb::Reply
            | PromptVerb::Remember
            | PromptVerb::Describe
            | PromptVerb::Transcribe => {
                return self.bystander.ask(prompt).await;
            }
        }
        match &self.asking {
            Asking::Live(runtime) => runtime.block_on(self.answer(prompt)),
            Asking::Dry | Asking::Never => self.answer(prompt).await,
        }
    }
}
