//! The flow on one screen: what each event does. Handlers read, think and speak; they never write.

mod ask;
pub mod judge;
mod obey;
mod post;
mod moment;
mod preview;
pub mod remember;
mod reply;
pub mod state;
pub mod tools;
pub mod wait;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::agent::state::NamedStates;
use crate::agent::tools::Tools;
use crate::agent::wait::Waits;
use crate::chat::{ConversationId, WorkspaceId};
use crate::clock::{Clock, chance, seconds};
use crate::command::answer::Answers;
use crate::context::{Context, Limits, Window};
use crate::decision::gate::{Facts, Gate, USUAL};
use crate::decision::{Attempt, Ended, Weighed};
use crate::event::{Claim, Closing, End, Event, Outcome};
use crate::llm::price::Prices;
use crate::llm::{Llm, LlmError};
use crate::memo::MemoChange;
use crate::metrics::Metrics;
use crate::persona::Persona;
use crate::platform::{PlatformError, Platforms};
use crate::prompt::budget::Budget;
use crate::prompt::prompts::{Judging, Prompts, Scene};
use crate::prompt::tokens::Corrections;
use crate::rhythm::Wait;
use crate::rules::Rulebook;
use crate::store::{Store, StoreError};

/// How the persona decides and how patient it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Of the gates that may be left out, those that count.
    pub gates: Vec<Gate>,
    /// What holds in each channel.
    pub rulebook: Arc<Rulebook>,
    /// How the wait before a judgment is found, and so what a new line does to work that has begun.
    pub wait: Wait,
    /// Which call names a conversation's state.
    pub state: StateCall,
    /// How much a prompt is made from.
    pub limits: Limits,
    /// How long it may be.
    pub budget: Budget,
    /// Where people's clocks are.
    pub zone: TimeZone,
    pub remembering: remember::Settings,
    /// So many old lines that fit are looked for before a reply.
    pub recalled_lines: usize,
    /// When it speaks unasked, where the judge leaves the moment to it.
    pub timing: Timing,
    /// The same, in workspaces that have one of their own.
    pub timings: BTreeMap<WorkspaceId, Timing>,
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
pub enum Timing {
    /// At once.
    #[default]
    Plain,
    /// When a person of the channel would, who types besides.
    Human,
}

impl Settings {
    fn timing_in(&self, workspace: &WorkspaceId) -> Timing {
        self.timings.get(workspace).copied().unwrap_or(self.timing)
    }

    /// The longest that a step may take: a judge may ask twice, after whoever names the state, and a
    /// reply that uses tools takes no longer.
    pub fn longest_step(&self) -> SignedDuration {
        let calls = match self.state {
            StateCall::Fused => 2,
            StateCall::Separate => 3,
        };
        self.model_timeout * calls + self.post_timeout
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            gates: USUAL.to_vec(),
            rulebook: Arc::default(),
            wait: Wait::default(),
            state: StateCall::Fused,
            limits: Limits::default(),
            budget: Budget::default(),
            zone: TimeZone::UTC,
            remembering: remember::Settings::default(),
            recalled_lines: 8,
            timing: Timing::Plain,
            timings: BTreeMap::new(),
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
    pub prompts: Arc<Prompts>,
    /// What models count differently.
    pub corrections: Corrections,
    /// What state conversations were in when a model named it last.
    pub named_states: NamedStates,
    /// What waits for its platform.
    pub waits: Waits,
    /// What commands are answered with.
    pub answers: Arc<Answers>,
    /// What replies may use; without any, none is offered.
    pub tools: Option<Tools>,
    pub settings: Settings,
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
    pub fn alike(llm: Arc<dyn Llm>, persona: &Arc<Persona>) -> Self {
        let mind = Mind { llm, persona: persona.clone() };
        Self { judgment: mind.clone(), response: mind.clone(), memory: mind.clone(), state: mind }
    }
}

impl Agent {
    /// `overtaken` is cancelled when people move on while this is worked at.
    pub async fn handle(&self, claim: &Claim, overtaken: &CancellationToken) -> Outcome {
        if claim.attempt > MOST_ATTEMPTS {
            let error = format!("it did not come to an end in {MOST_ATTEMPTS} attempts");
            return Outcome::of(self.give_up(claim, error));
        }
        if let Some(end) = self.held_up(claim) {
            return Outcome::of(end);
        }
        let mut notes = Notes::default();
        let handled = match &claim.event {
            Event::Judge(conversation) => {
                self.judge(claim, conversation, overtaken, &mut notes).await
            }
            Event::Reply(conversation) => {
                self.reply(claim, conversation, overtaken, &mut notes).await
            }
            Event::Post(piece) => self.post(claim, piece, &mut notes).await,
        };
        let end = handled.unwrap_or_else(|trouble| self.cope(claim, trouble));
        let Notes { attempts, weighed, considered, memos } = notes;
        Outcome { attempts, weighed, considered, memos, end }
    }

    /// Trouble that passes is waited out; what lasts ends as failed, never as chosen silence
    /// (invariant 7).
    fn cope(&self, claim: &Claim, trouble: Trouble) -> End {
        let most = if claim.is_owed { OWED_ATTEMPTS } else { UNSOLICITED_ATTEMPTS };
        match trouble {
            Trouble::Overtaken => End::Overtaken,
            Trouble::Passing { retry_after, .. } if claim.attempt < most => {
                let wait = patience(retry_after).max(self.backoff(claim));
                End::Again { due: self.clock.now() + wait }
            }
            Trouble::Passing { error, .. } | Trouble::Lasting { error } => {
                self.give_up(claim, error)
            }
        }
    }

    fn give_up(&self, claim: &Claim, error: String) -> End {
        let language = self.persona.language;
        let why = language.pick("something went wrong", "問題が起きました").to_owned();
        match &claim.event {
            Event::Judge(_) => End::Silent(Closing::new(Ended::Failed, why)),
            Event::Reply(_) if !claim.is_owed => End::Silent(Closing::new(Ended::Failed, why)),
            Event::Reply(_) | Event::Post(_) => End::GivenUp { error, why },
        }
    }

    /// 2, 8, 32 … seconds, spread by a fifth to both sides, at most five minutes.
    fn backoff(&self, claim: &Claim) -> SignedDuration {
        let token = claim.token.to_string();
        let spread = 0.8 + 0.4 * chance(self.seed, &[&token, "backoff"]);
        let exponent = i32::try_from(claim.attempt.saturating_sub(1)).unwrap_or(i32::MAX).min(8);
        seconds((2.0 * 4_f64.powi(exponent)).min(300.0) * spread)
    }

    /// What gates look at.
    fn facts<'a>(&'a self, context: &'a Context) -> Facts<'a> {
        let book = &*self.settings.rulebook;
        let channel = &context.conversation.channel;
        let rules = book.of(channel, &context.conversation_history.channel_name);
        Facts { context, rules, book, now: self.now(), zone: &self.settings.zone }
    }

    /// What a conversation's prompt is made from.
    async fn context(&self, conversation: &ConversationId) -> Result<Context, StoreError> {
        let began = Instant::now();
        let compared = self.settings.rulebook.longest_comparison();
        let window = Window { compared, ..self.settings.limits.window(self.now()) };
        let context = self.store.context(conversation, &window).await?;
        self.metrics.context_seconds.observe(began.elapsed().as_secs_f64());
        Ok(context)
    }

    /// What a prompt for this mind needs to know besides its context.
    fn scene(&self, mind: &Mind) -> Scene {
        Scene {
            now: self.now(),
            zone: self.settings.zone.clone(),
            budget: self.settings.budget,
            factor: self.corrections.factor(mind.llm.model()),
            judging: Judging::default(),
        }
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// What a busy model or platform asks for, within reason.
fn patience(retry_after: Option<SignedDuration>) -> SignedDuration {
    retry_after.unwrap_or_default().min(SignedDuration::from_mins(30))
}

/// How often a step is taken up at all, whatever became of it: it may be what ends the process.
const MOST_ATTEMPTS: u32 = 100;
/// How often a step is tried for somebody who waits for it.
const OWED_ATTEMPTS: u32 = 4;
/// How often a step is tried that nobody waits for.
const UNSOLICITED_ATTEMPTS: u32 = 3;

/// Why a step could not be done, by what happens next.
#[derive(Debug)]
pub enum Trouble {
    /// People moved on.
    Overtaken,
    /// Try again after a while.
    Passing { error: String, retry_after: Option<SignedDuration> },
    /// Trying again will not help.
    Lasting { error: String },
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy(_) | StoreError::Broken(_) => {
                Trouble::Passing { error: error.to_string(), retry_after: None }
            }
            StoreError::Refused(_) => Trouble::Lasting { error: error.to_string() },
        }
    }
}

impl From<LlmError> for Trouble {
    fn from(error: LlmError) -> Self {
        let sentence = error.to_string();
        match error {
            LlmError::Busy { retry_after, .. } => Trouble::Passing { error: sentence, retry_after },
            LlmError::Late(_) => Trouble::Passing { error: sentence, retry_after: None },
            LlmError::Refused(_) | LlmError::Useless { .. } => Trouble::Lasting { error: sentence },
        }
    }
}

impl From<PlatformError> for Trouble {
    fn from(error: PlatformError) -> Self {
        let sentence = error.to_string();
        match error {
            PlatformError::Busy { retry_after, .. } => {
                Trouble::Passing { error: sentence, retry_after }
            }
            PlatformError::Queued { wait } => {
                Trouble::Passing { error: sentence, retry_after: Some(wait) }
            }
            PlatformError::Unknown(_) => Trouble::Passing { error: sentence, retry_after: None },
            PlatformError::Refused(_) => Trouble::Lasting { error: sentence },
        }
    }
}

/// Model calls made so far for a claim.
pub type Attempts = Vec<Attempt>;

/// What is to be known of a thought, whatever comes of it.
#[derive(Default)]
pub struct Notes {
    attempts: Attempts,
    weighed: Option<Weighed>,
    /// The revision that was looked at.
    considered: Option<u64>,
    memos: Vec<MemoChange>,
}
