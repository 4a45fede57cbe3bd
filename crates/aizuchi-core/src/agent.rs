//! The flow on one screen: what each event does. Handlers read, think and speak; they never write.

mod model_call;
pub mod judge;
mod command_reply;
mod post;
mod timing;
mod preview;
pub mod remember;
mod reply;
pub mod state;
pub mod tools;
pub mod defer;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::agent::defer::Deferrals;
use crate::agent::state::StateCache;
use crate::agent::tools::ToolSettings;
use crate::chat::{ConversationId, WorkspaceId};
use crate::clock::{Clock, duration_from_seconds, seeded_random};
use crate::command::reply::CommandReplies;
use crate::context::{Context, ContextLimits, ContextWindow};
use crate::decision::gate::{DEFAULT_GATES, Gate, GateInput};
use crate::decision::{Attempt, DecisionResult, Evaluation};
use crate::event::{Claim, DecisionClosing, Event, Outcome, StepResult};
use crate::llm::price::Prices;
use crate::llm::{Llm, LlmError};
use crate::memo::MemoChange;
use crate::metrics::Metrics;
use crate::persona::Persona;
use crate::platform::{PlatformError, Platforms};
use crate::prompt::budget::PromptBudget;
use crate::prompt::builder::{JudgeOptions, PromptBuilder, PromptOptions};
use crate::prompt::tokens::TokenCorrections;
use crate::rhythm::WaitStrategy;
use crate::rules::Rulebook;
use crate::store::{Store, StoreError};

/// How the persona decides and how patient it is.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentSettings {
    /// Of the gates that may be left out, those that count.
    pub gates: Vec<Gate>,
    /// What holds in each channel.
    pub rulebook: Arc<Rulebook>,
    /// How the wait before a judgment is found, and so what a new line does to work that has begun.
    pub wait: WaitStrategy,
    /// Which call names a conversation's state.
    pub state: StateCall,
    /// How much a prompt is made from.
    pub limits: ContextLimits,
    /// How long it may be.
    pub budget: PromptBudget,
    /// Where people's clocks are.
    pub zone: TimeZone,
    pub memory: remember::MemorySettings,
    /// So many old lines that fit are looked for before a reply.
    pub recall_limit: usize,
    /// When it speaks unasked, where the judge leaves the moment to it.
    pub timing: PostTiming,
    /// The same, in workspaces that have one of their own.
    pub workspace_timings: BTreeMap<WorkspaceId, PostTiming>,
    /// The longest delay that a judge may ask for, or that a person's timing comes to: an hour, after which
    /// people begin a new conversation ([`crate::rhythm::delays`]).
    pub max_delay_seconds: f64,
    /// What models cost.
    pub prices: Prices,
    /// Whether prompts and answers are kept, so that decisions can be opened and read.
    pub keeps_exchanges: bool,
    /// The longest that one model call may take.
    pub model_timeout: SignedDuration,
    /// The longest that one call to the platform may take.
    pub post_timeout: SignedDuration,
}

/// Which call names the state of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateCall {
    /// The judge's own.
    #[default]
    Fused,
    /// One before it, to a model of its own (seed 004).
    Separate,
}

/// When it speaks unasked, where the judge leaves the moment to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PostTiming {
    /// At once.
    #[default]
    Immediate,
    /// When a person of the channel would, who types besides.
    HumanLike,
}

impl AgentSettings {
    fn post_timing(&self, workspace: &WorkspaceId) -> PostTiming {
        self.workspace_timings.get(workspace).copied().unwrap_or(self.timing)
    }

    /// The longest that a step may take: a judge may ask twice, after whoever names the state, and a
    /// reply that uses tools takes no longer.
    pub fn max_step_duration(&self) -> SignedDuration {
        let calls = match self.state {
            StateCall::Fused => 2,
            StateCall::Separate => 3,
        };
        self.model_timeout * calls + self.post_timeout
    }
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            gates: DEFAULT_GATES.to_vec(),
            rulebook: Arc::default(),
            wait: WaitStrategy::default(),
            state: StateCall::Fused,
            limits: ContextLimits::default(),
            budget: PromptBudget::default(),
            zone: TimeZone::UTC,
            memory: remember::MemorySettings::default(),
            recall_limit: 8,
            timing: PostTiming::Immediate,
            workspace_timings: BTreeMap::new(),
            max_delay_seconds: 3600.0,
            prices: Prices::default(),
            keeps_exchanges: true,
            model_timeout: SignedDuration::from_secs(60),
            post_timeout: SignedDuration::from_secs(15),
        }
    }
}

pub struct Agent {
    pub store: Arc<dyn Store>,
    pub platforms: Platforms,
    pub minds: Minds,
    pub clock: Clock,
    pub metrics: Arc<Metrics>,
    pub persona: Arc<Persona>,
    pub prompt_builder: Arc<PromptBuilder>,
    /// What models count differently.
    pub token_corrections: TokenCorrections,
    /// What state conversations were in when a model named it last.
    pub state_cache: StateCache,
    /// What waits for its platform.
    pub deferrals: Deferrals,
    /// What commands are answered with.
    pub command_answers: Arc<CommandReplies>,
    /// What replies may use; without any, none is offered.
    pub tools: Option<ToolSettings>,
    pub settings: AgentSettings,
    /// Makes this installation's chance its own.
    pub seed: u64,
}

/// Who thinks, for each verb that takes thought.
pub struct Minds {
    pub judgment: Mind,
    pub response: Mind,
    pub memory: Mind,
    /// Asked with [`StateCall::Separate`] alone.
    pub state: Mind,
}

/// A model, and who it is to be.
#[derive(Clone)]
pub struct Mind {
    pub llm: Arc<dyn Llm>,
    /// The persona, with what the settings of this agent add to its prompt.
    pub persona: Arc<Persona>,
}

impl Minds {
    /// One model for everything.
    pub fn from_llm(llm: Arc<dyn Llm>, persona: &Arc<Persona>) -> Self {
        let mind = Mind { llm, persona: persona.clone() };
        Self { judgment: mind.clone(), response: mind.clone(), memory: mind.clone(), state: mind }
    }
}

impl Agent {
    /// `overtaken` is cancelled when people move on while this is worked at.
    pub async fn handle(&self, claim: &Claim, overtaken: &CancellationToken) -> Outcome {
        if claim.attempt > MAX_ATTEMPTS {
            let error = format!("it did not come to an end in {MAX_ATTEMPTS} attempts");
            return Outcome::new(self.give_up(claim, error));
        }
        if let Some(end) = self.deferral(claim) {
            return Outcome::new(end);
        }
        let mut notes = StepTrace::default();
        let handled = match &claim.event {
            Event::Judge(conversation) => {
                self.judge(claim, conversation, overtaken, &mut notes).await
            }
            Event::Reply(conversation) => {
                self.reply(claim, conversation, overtaken, &mut notes).await
            }
            Event::Post(piece) => self.post(claim, piece, &mut notes).await,
        };
        let end = handled.unwrap_or_else(|trouble| self.handle_error(claim, trouble));
        let StepTrace { attempts, evaluation: weighed, considered, memo_changes: memos } = notes;
        Outcome {
            attempts,
            evaluation: weighed,
            seen_revision: considered,
            memo_changes: memos,
            result: end,
        }
    }

    /// Trouble that passes is waited out; what lasts ends as failed, never as chosen silence
    /// (invariant 7).
    fn handle_error(&self, claim: &Claim, trouble: StepError) -> StepResult {
        let most = if claim.is_owed { MAX_OWED_ATTEMPTS } else { MAX_UNSOLICITED_ATTEMPTS };
        match trouble {
            StepError::Superseded => StepResult::Superseded,
            StepError::Retryable { retry_after, .. } if claim.attempt < most => {
                let wait = capped_retry_after(retry_after).max(self.backoff(claim));
                StepResult::Retry { due: self.clock.now() + wait }
            }
            StepError::Retryable { error, .. } | StepError::Permanent { error } => {
                self.give_up(claim, error)
            }
        }
    }

    fn give_up(&self, claim: &Claim, error: String) -> StepResult {
        let language = self.persona.language;
        let why = language.pick("something went wrong", "問題が起きました").to_owned();
        match &claim.event {
            Event::Judge(_) => {
                StepResult::Silent(DecisionClosing::new(DecisionResult::Failed, why))
            }
            Event::Reply(_) if !claim.is_owed => {
                StepResult::Silent(DecisionClosing::new(DecisionResult::Failed, why))
            }
            Event::Reply(_) | Event::Post(_) => StepResult::Failed { error, why },
        }
    }

    /// 2, 8, 32 … seconds, spread by a fifth to both sides, at most five minutes.
    fn backoff(&self, claim: &Claim) -> SignedDuration {
        let token = claim.token.to_string();
        let spread = 0.8 + 0.4 * seeded_random(self.seed, &[&token, "backoff"]);
        let exponent = i32::try_from(claim.attempt.saturating_sub(1)).unwrap_or(i32::MAX).min(8);
        duration_from_seconds((2.0 * 4_f64.powi(exponent)).min(300.0) * spread)
    }

    /// What gates look at.
    fn gate_input<'a>(&'a self, context: &'a Context) -> GateInput<'a> {
        let book = &*self.settings.rulebook;
        let channel = &context.conversation.channel;
        let rules = book.channel_rules(channel, &context.conversation_history.channel_name);
        GateInput { context, rules, rulebook: book, now: self.now(), zone: &self.settings.zone }
    }

    /// What a conversation's prompt is made from.
    async fn load_context(&self, conversation: &ConversationId) -> Result<Context, StoreError> {
        let began = Instant::now();
        let compared = self.settings.rulebook.max_compare_window();
        let window = ContextWindow {
            intervention_messages: compared,
            ..self.settings.limits.window(self.now())
        };
        let context = self.store.context(conversation, &window).await?;
        self.metrics.context_seconds.observe(began.elapsed().as_secs_f64());
        Ok(context)
    }

    /// What a prompt for this mind needs to know besides its context.
    fn prompt_options(&self, mind: &Mind) -> PromptOptions {
        PromptOptions {
            now: self.now(),
            zone: self.settings.zone.clone(),
            budget: self.settings.budget,
            token_factor: self.token_corrections.factor(mind.llm.model()),
            judge_options: JudgeOptions::default(),
        }
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// What a busy model or platform asks for, within reason.
fn capped_retry_after(retry_after: Option<SignedDuration>) -> SignedDuration {
    retry_after.unwrap_or_default().min(SignedDuration::from_mins(30))
}

/// How often a step is taken up at all, whatever became of it: it may be what ends the process.
const MAX_ATTEMPTS: u32 = 100;
/// How often a step is tried for somebody who waits for it.
const MAX_OWED_ATTEMPTS: u32 = 4;
/// How often a step is tried that nobody waits for.
const MAX_UNSOLICITED_ATTEMPTS: u32 = 3;

/// Why a step could not be done, by what happens next.
#[derive(Debug)]
pub enum StepError {
    /// People moved on.
    Superseded,
    /// Try again after a while.
    Retryable { error: String, retry_after: Option<SignedDuration> },
    /// Trying again will not help.
    Permanent { error: String },
}

impl From<StoreError> for StepError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy(_) | StoreError::Broken(_) => {
                StepError::Retryable { error: error.to_string(), retry_after: None }
            }
            StoreError::Refused(_) => StepError::Permanent { error: error.to_string() },
        }
    }
}

impl From<LlmError> for StepError {
    fn from(error: LlmError) -> Self {
        let sentence = error.to_string();
        match error {
            LlmError::Busy { retry_after, .. } => {
                StepError::Retryable { error: sentence, retry_after }
            }
            LlmError::TimedOut(_) => StepError::Retryable { error: sentence, retry_after: None },
            LlmError::Refused(_) | LlmError::Unusable { .. } => {
                StepError::Permanent { error: sentence }
            }
        }
    }
}

impl From<PlatformError> for StepError {
    fn from(error: PlatformError) -> Self {
        let sentence = error.to_string();
        match error {
            PlatformError::Busy { retry_after, .. } => {
                StepError::Retryable { error: sentence, retry_after }
            }
            PlatformError::Queued { wait } => {
                StepError::Retryable { error: sentence, retry_after: Some(wait) }
            }
            PlatformError::OutcomeUnknown(_) => {
                StepError::Retryable { error: sentence, retry_after: None }
            }
            PlatformError::Refused(_) => StepError::Permanent { error: sentence },
        }
    }
}

/// Model calls made so far for a claim.
pub type Attempts = Vec<Attempt>;

/// What is to be known of a thought, whatever comes of it.
#[derive(Default)]
pub struct StepTrace {
    attempts: Attempts,
    evaluation: Option<Evaluation>,
    /// The revision that was looked at.
    considered: Option<u64>,
    memo_changes: Vec<MemoChange>,
}
