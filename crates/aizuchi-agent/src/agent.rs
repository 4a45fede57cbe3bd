//! The agent: what each kind of work takes, on one screen. Handlers read, think and post; they never write to the store.

pub mod user_rate_limit;
mod reserve_budget;
mod channel_mind;
mod memory_filter;
mod model_call;
mod answer_object;
pub mod judge;
mod select_agent;
mod command_reply;
mod plan;
mod follow_up;
mod unasked_plan;
mod post;
mod post_timing;
mod companions;
mod prompt_preview;
pub mod remember;
pub mod files;
mod ended_calls;
mod withdraw_reply;
mod generate_reply;
mod draft;
mod quiet_request;
mod reply;
pub mod conversation_state;
pub mod tools;
pub mod backfill_deferral;
pub mod post_dispatches;

use std::collections::{BTreeMap, HashSet};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use aizuchi_actions::command_replies::CommandReplies;
use aizuchi_actions::standing_order_trial::LONGEST_TRIAL;
use aizuchi_llm::fallback::Models;
use aizuchi_llm::price::Prices;
use aizuchi_llm::prompt::budget::PromptBudget;
use aizuchi_llm::prompt::builder::{PromptBuilder, PromptOptions};
use aizuchi_llm::prompt::tokens::TokenCorrections;
use aizuchi_llm::{Llm, LlmError};
use aizuchi_model::chat::attachment::ReadAttachment;
use aizuchi_model::chat::{
    AuthorKind, Channel, ChannelId, ConversationId, MessageId, Visibility, WorkspaceId,
};
use aizuchi_model::clock::{Clock, duration_from_seconds, seeded_random};
use aizuchi_model::context::{Context, ContextLimits, ContextWindow};
use aizuchi_model::decision::consent::NewConsent;
use aizuchi_model::decision::gate::{Gate, GateInput, OPTIONAL_GATES};
use aizuchi_model::decision::limit::Limit;
use aizuchi_model::decision::model_problem::ModelProblem;
use aizuchi_model::decision::tolerance::WelcomeLabels;
use aizuchi_model::decision::{Attempt, DecisionResult, Evaluation};
use aizuchi_model::flow::quiet_order::QuietOrder;
use aizuchi_model::flow::{Claim, DecisionClosing, Outcome, StepResult, Work};
use aizuchi_model::memo::MemoChange;
use aizuchi_model::memory::MessageRef;
use aizuchi_model::outgoing;
use aizuchi_model::outgoing::secrets::SecretScanner;
use aizuchi_model::outgoing::urls::{CodeBlocks, KnownUrls};
use aizuchi_model::permalink::linked_message;
use aizuchi_model::persona::Persona;
use aizuchi_model::plan::Plan;
use aizuchi_model::platform::{PlatformError, Platforms};
use aizuchi_model::reloadable::Reloadable;
use aizuchi_model::rules::place::Place;
use aizuchi_model::rules::{ChannelRules, PostTiming, Rulebook};
use aizuchi_model::texts;
use aizuchi_store::{Store, StoreError};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::agent::backfill_deferral::Deferrals;
use crate::agent::conversation_state::StateCache;
use crate::agent::files::FileSettings;
use crate::agent::post_dispatches::Dispatches;
use crate::agent::select_agent::Words;
use crate::agent::tools::ToolSettings;
use crate::agent::user_rate_limit::UserRateLimit;
use crate::documents::DocumentReader;
use crate::inbox::WaitSettings;
use crate::metrics::Metrics;

/// How the agent decides and how long it waits.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentSettings {
    /// The optional gates that are enabled.
    pub gates: Vec<Gate>,
    /// The rules of each channel.
    pub rulebook: Reloadable<Rulebook>,
    /// The wait before a judgment. How it is computed also decides what a new message does to a pending step.
    pub wait_settings: WaitSettings,
    /// Which call names a conversation's state.
    pub state: StateCall,
    /// How much context a prompt is built from.
    pub limits: ContextLimits,
    /// How long a prompt may be.
    pub budget: PromptBudget,
    /// The time zone that prompts and memos show.
    pub zone: TimeZone,
    pub memory: remember::MemorySettings,
    pub files: FileSettings,
    /// How many relevant old messages are added to the context of a reply.
    pub recall_limit: usize,
    /// When the agent posts unasked, if the judge names no delay.
    pub timing: PostTiming,
    /// The workspaces that override `timing`.
    pub workspace_timings: BTreeMap<WorkspaceId, PostTiming>,
    /// The longest delay that a judge may ask for, or that human-like timing takes. The default is an hour, after which
    /// users start a new conversation.
    pub max_delay_seconds: f64,
    /// How long a user may take to approve a proposal.
    pub proposal_lifetime: SignedDuration,
    /// What model calls cost.
    pub prices: Prices,
    /// Whether prompts and responses are stored, so that an operator can open a decision and read them.
    pub keeps_exchanges: bool,
    /// Finds secrets in model output.
    pub secrets: SecretScanner,
    /// The hosts whose pages a reply may always link to.
    pub link_hosts: Vec<String>,
    /// How long one model call may take.
    pub model_timeout: SignedDuration,
    /// How long one call to the platform may take.
    pub post_timeout: SignedDuration,
}

/// Which call names the state of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateCall {
    /// The judge's call names it.
    #[default]
    Fused,
    /// A separate call to its own model, before the judge's.
    Separate,
}

impl AgentSettings {
    fn post_timing(&self, workspace: &WorkspaceId, rules: &ChannelRules) -> PostTiming {
        let here = rules.timing.post_timing;
        let here = here.or_else(|| self.workspace_timings.get(workspace).copied());
        here.unwrap_or(self.timing)
    }

    /// Returns how long a step may take. A judge step makes up to two model calls, after one for the state if that is
    /// separate. A reply that uses tools takes no longer, apart from the time for files. A reply to a command calls no
    /// model itself, but may try a standing order.
    pub fn max_step_duration(&self) -> SignedDuration {
        let calls = match self.state {
            StateCall::Fused => 2,
            StateCall::Separate => 3,
        };
        let asking = self.model_timeout * calls + self.post_timeout + self.files.time_limit;
        asking.max(LONGEST_TRIAL)
    }
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            gates: OPTIONAL_GATES.to_vec(),
            rulebook: Reloadable::default(),
            wait_settings: WaitSettings::default(),
            state: StateCall::Fused,
            limits: ContextLimits::default(),
            budget: PromptBudget::default(),
            zone: TimeZone::UTC,
            memory: remember::MemorySettings::default(),
            files: FileSettings::default(),
            recall_limit: 8,
            timing: PostTiming::Immediate,
            workspace_timings: BTreeMap::new(),
            max_delay_seconds: 3600.0,
            proposal_lifetime: SignedDuration::from_hours(1),
            prices: Prices::default(),
            keeps_exchanges: true,
            secrets: SecretScanner::default(),
            link_hosts: Vec::new(),
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
    pub prompt_builder: Reloadable<PromptBuilder>,
    /// How welcome posts were.
    pub welcome_labels: Arc<WelcomeLabels>,
    /// How each model's token count differs from the estimate.
    pub token_corrections: TokenCorrections,
    /// The last state that a model named for each conversation.
    pub state_cache: StateCache,
    /// Steps that wait until their platform has been backfilled.
    pub deferrals: Deferrals,
    /// When requests to post were made.
    pub dispatches: Dispatches,
    /// What users got lately.
    pub user_rate_limit: UserRateLimit,
    /// The replies to commands.
    pub command_answers: Arc<CommandReplies>,
    /// The tools that replies may use; `None` offers none.
    pub tools: Option<ToolSettings>,
    pub settings: AgentSettings,
    /// The seed of this installation's random draws.
    pub seed: u64,
    /// Reads the PDFs that users send. Without it, only their names are known.
    pub documents: Option<Arc<dyn DocumentReader>>,
    /// The same agent in the other language, if conversations may have either.
    pub translation: Option<Box<Agent>>,
    /// The agent of the demo in the local room, if there is one.
    pub demo: Option<Box<Agent>>,
}

/// The model behind each verb. Clones share the models.
#[derive(Clone)]
pub struct Minds {
    pub judgment: Mind,
    pub response: Mind,
    pub memory: Mind,
    /// Called only with [`StateCall::Separate`].
    pub state: Mind,
    /// Describes pictures. Without it, pictures are not looked at. Its persona only has what the operator adds to the
    /// request.
    pub vision: Option<Mind>,
    /// The models that channels and workspaces may choose, by name.
    pub named: BTreeMap<String, Arc<Models>>,
    /// Transcribes recordings. Without it, recordings are not listened to.
    pub transcription: Option<Mind>,
}

/// The models for a verb, and the persona that they play.
#[derive(Clone)]
pub struct Mind {
    pub models: Arc<Models>,
    /// The persona, with this agent's additions to its system prompt.
    pub persona: Arc<Persona>,
}

impl Mind {
    /// Returns a mind with one model and no fallback.
    pub fn from_llm(llm: Arc<dyn Llm>, persona: &Arc<Persona>) -> Self {
        Self { models: Arc::new(Models::new(llm, None)), persona: persona.clone() }
    }
}

impl Minds {
    /// Uses one model for everything.
    pub fn from_llm(llm: Arc<dyn Llm>, persona: &Arc<Persona>) -> Self {
        Self::from_models(Arc::new(Models::new(llm, None)), persona)
    }

    /// Uses the same models for everything.
    pub fn from_models(models: Arc<Models>, persona: &Arc<Persona>) -> Self {
        let mind = Mind { models, persona: persona.clone() };
        Self {
            judgment: mind.clone(),
            response: mind.clone(),
            memory: mind.clone(),
            state: mind,
            vision: None,
            named: BTreeMap::new(),
            transcription: None,
        }
    }
}

/// An agent at work on one step or memory job, under the rules that were in force when it began: orders that change the
/// rules in the meantime apply to what comes next.
struct Worker<'a> {
    agent: &'a Agent,
    rulebook: Arc<Rulebook>,
}

impl Deref for Worker<'_> {
    type Target = Agent;

    fn deref(&self) -> &Agent {
        self.agent
    }
}

impl Agent {
    /// Handles one claimed step. `superseded` is cancelled when a new message makes the step obsolete. The model calls
    /// are recorded in `attempts`, even if this panics.
    pub async fn handle(
        &self,
        claim: &Claim,
        superseded: &CancellationToken,
        attempts: &mut Attempts,
    ) -> Outcome {
        let worker = self.worker();
        let words = if claim.is_owed { Words::Owed } else { Words::Unasked };
        match worker.speaker(claim.work.conversation(), words).await {
            Ok(speaker) => speaker.handle_as_speaker(claim, superseded, attempts).await,
            Err(error) => Outcome::new(worker.handle_error(claim, error.into())),
        }
    }

    fn worker(&self) -> Worker<'_> {
        Worker { agent: self, rulebook: self.settings.rulebook.read() }
    }
}

impl Worker<'_> {
    async fn handle_as_speaker(
        &self,
        claim: &Claim,
        superseded: &CancellationToken,
        attempts: &mut Attempts,
    ) -> Outcome {
        if claim.attempt > MAX_ATTEMPTS {
            let error = format!("it did not come to an end in {MAX_ATTEMPTS} attempts");
            return Outcome::new(self.give_up(claim, error, None));
        }
        if let Some(result) = self.deferral(claim).await {
            return Outcome::new(result);
        }
        let mut trace = StepTrace {
            attempts,
            evaluation: None,
            seen_revision: None,
            memo_changes: Vec::new(),
            plans: Vec::new(),
            wanted_calls: Vec::new(),
            read_attachments: Vec::new(),
            quiet_order: None,
        };
        let handled = match &claim.work {
            Work::Judge(conversation) => {
                self.judge(claim, conversation, superseded, &mut trace).await
            }
            Work::Reply(conversation) => match &claim.plan {
                Some(plan) if plan.kind.is_unasked() => {
                    self.decide_unasked(claim, plan, superseded, &mut trace).await
                }
                Some(plan) => self.draft_planned(claim, plan, superseded, &mut trace).await,
                None => self.reply(claim, conversation, superseded, &mut trace).await,
            },
            Work::Post(item) => self.post(claim, item, &mut trace).await,
        };
        if let (Err(error), Some(evaluation)) = (&handled, &mut trace.evaluation) {
            // The gate was passed at first.
            let closed = error.limit().map(Gate::from_limit);
            evaluation.passed_gates.retain(|gate| Some(*gate) != closed);
        }
        let result = handled.unwrap_or_else(|error| self.handle_error(claim, error));
        if let (StepResult::Posted(posted), Work::Post(item)) = (&result, &claim.work) {
            match self.after_own_question(item, posted).await {
                Ok(follow_up) => trace.plans.extend(follow_up),
                // It is posted, whatever else happens.
                Err(error) => warn!(error = %error, "a question is not come back to"),
            }
        }
        let StepTrace {
            evaluation,
            seen_revision,
            memo_changes,
            plans,
            wanted_calls,
            read_attachments,
            quiet_order,
            ..
        } = trace;
        Outcome {
            attempts: Vec::new(),
            evaluation,
            seen_revision,
            memo_changes,
            plans,
            wanted_calls,
            read_attachments,
            quiet_order,
            result,
        }
    }

    /// Retries errors that may be transient. A permanent error ends the decision as failed, never as chosen silence
    /// (invariant 7).
    fn handle_error(&self, claim: &Claim, error: StepError) -> StepResult {
        let max_attempts = if claim.is_owed { MAX_OWED_ATTEMPTS } else { MAX_UNSOLICITED_ATTEMPTS };
        match error {
            StepError::Superseded => StepResult::Superseded,
            StepError::AwaitingBudget { wait } => {
                StepResult::Deferred { due: self.clock.now() + wait }
            }
            StepError::OverBudget(limit) => {
                StepResult::Silent(self.close_by_gate(Gate::from_limit(limit), Some(limit)))
            }
            StepError::Retryable { retry_after, .. } if claim.attempt < max_attempts => {
                let wait = capped_retry_after(retry_after).max(self.backoff(claim));
                StepResult::Retry { due: self.clock.now() + wait }
            }
            StepError::Retryable { error, problem, .. }
            | StepError::Permanent { error, problem } => self.give_up(claim, error, problem),
        }
    }

    fn give_up(&self, claim: &Claim, error: String, problem: Option<ModelProblem>) -> StepResult {
        let language = self.persona.language;
        let why = problem.map_or(texts::replies::something_went_wrong(language), |problem| {
            texts::models::problem(language, problem)
        });
        let why = why.to_owned();
        match &claim.work {
            Work::Judge(_) => StepResult::Silent(DecisionClosing::new(DecisionResult::Failed, why)),
            Work::Reply(_) if !claim.is_owed => {
                StepResult::Silent(DecisionClosing::new(DecisionResult::Failed, why))
            }
            Work::Reply(_) | Work::Post(_) => StepResult::Failed { error, why },
        }
    }

    /// Returns 2, 8, 32 … seconds, at most five minutes, each with a random factor between 0.8 and 1.2.
    fn backoff(&self, claim: &Claim) -> SignedDuration {
        let token = claim.token.to_string();
        let jitter = 0.8 + 0.4 * seeded_random(self.seed, &[&token, "backoff"]);
        let exponent = i32::try_from(claim.attempt.saturating_sub(1)).unwrap_or(i32::MAX).min(8);
        duration_from_seconds((2.0 * 4_f64.powi(exponent)).min(300.0) * jitter)
    }

    fn gate_input<'b>(&'b self, context: &'b Context) -> GateInput<'b> {
        let rulebook = &self.rulebook;
        let rules = rulebook.rules_in(&place_of(context));
        GateInput { context, rules, rulebook, now: self.now(), zone: &self.settings.zone }
    }

    /// Loads the context that a conversation's prompts are built from.
    async fn load_context(&self, conversation: &ConversationId) -> Result<Context, StoreError> {
        let began = Instant::now();
        let intervention_messages = self.rulebook.max_compare_window();
        let window =
            ContextWindow { intervention_messages, ..self.settings.limits.window(self.now()) };
        let mut context = self.store.context(conversation, &window).await?;
        self.metrics.context_seconds.observe(began.elapsed().as_secs_f64());
        self.leave_out_memories(&mut context).await?;
        context.companions = self.companions_in(&context);
        self.add_replied_to(&mut context).await?;
        Ok(context)
    }

    /// Adds messages that are not in the history, but that the newest messages of the target refer to: the parent of
    /// each reply, and for a message that is no reply, the message that it links to.
    async fn add_replied_to(&self, context: &mut Context) -> Result<(), StoreError> {
        let here = context.conversation.channel.clone();
        let is_inside = |context: &Context, id: &MessageId| {
            context.conversation_history.iter().any(|it| it.id == *id)
        };
        let newest = || context.target_messages().iter().rev();
        let parents = newest().filter_map(|message| context.parent_given(message));
        let parents = parents.filter(|parent| !is_inside(context, parent));
        let parents = parents.map(|parent| (None, MessageRef(here.clone(), parent.clone())));
        let links = newest().filter(|message| context.parent_given(message).is_none());
        let links = links.filter(|message| message.author.kind != AuthorKind::Persona);
        let links = links.filter_map(|it| Some((Some(it.id.clone()), linked_message(it)?)));
        // Many links keep no reply from being shown.
        let parents = parents.take(MAX_REPLIED_TO).chain(links.take(MAX_REPLIED_TO));
        let parents: Vec<_> = parents.collect();
        for (linking, MessageRef(channel, id)) in parents {
            let workspace = &context.conversation.workspace;
            let archive = &self.command_answers.archive;
            let mut parent = archive.message(workspace, &channel, &id).await?;
            if parent.is_none() && linking.is_some() {
                // A link into a thread of Discord names the thread instead of its channel.
                parent = archive.message(workspace, &here, &id).await?;
            }
            let Some(parent) = parent else { continue };
            let channel = &parent.message.conversation.channel;
            let is_elsewhere = *channel != here;
            let is_visible = parent.visibility == Visibility::Public
                || parent.visibility == context.visibility && !is_elsewhere;
            let is_shown = !parent.is_deleted && !parent.is_withheld && is_visible;
            if !is_shown
                || is_elsewhere && self.channels_without_memory(workspace).await?.contains(channel)
            {
                continue;
            }
            let is_outside = is_elsewhere || !is_inside(context, &id);
            let linked = linking.map(|linking| (linking, MessageRef(channel.clone(), id)));
            context.linked.extend(linked);
            if is_outside && !context.replied_to.contains(&parent.message) {
                let author = parent.message.author.id.clone();
                context.names.entry(author).or_insert(parent.author_name);
                context.replied_to.push(parent.message);
            }
        }
        Ok(())
    }

    /// Removes memories from the context if the channel is not remembered, and those of other channels that are not
    /// remembered.
    async fn leave_out_memories(&self, context: &mut Context) -> Result<(), StoreError> {
        let rulebook = &self.rulebook;
        if !rulebook.remembers(&place_of(context)) {
            context.leave_out_memories();
        }
        let (here, visibility) = (&context.conversation, context.visibility);
        for channel in &mut context.channel_memories {
            let visibility =
                if channel.channel_id == here.channel { visibility } else { Visibility::Public };
            let (id, name) = (&channel.channel_id, &*channel.channel_name);
            if !rulebook.remembers(&Place::new(&here.workspace, id, name, visibility)) {
                (channel.long_term_memory, channel.short_term_memory) = (None, None);
            }
        }
        let name = context.conversation_history.channel_name.clone();
        let in_thread = Place::new(&here.workspace, &here.channel, &name, visibility);
        context.thread_memories.retain(|memory| {
            rulebook.remembers(&Place { thread: Some(&memory.thread), ..in_thread })
        });
        let left_out = self.channels_without_memory(&context.conversation.workspace).await?;
        for memos in [&mut context.important_memos, &mut context.recent_memos] {
            memos.retain(|memo| !left_out.contains(&memo.channel));
        }
        Ok(())
    }

    /// Returns the channels that are not remembered but may still have memos from before.
    async fn channels_without_memory(
        &self,
        workspace: &WorkspaceId,
    ) -> Result<HashSet<ChannelId>, StoreError> {
        let rulebook = &self.rulebook;
        if !rulebook.may_leave_out_memories() {
            return Ok(HashSet::new());
        }
        let channels = self.command_answers.archive.channels(workspace).await?.into_iter();
        let is_left_out = |it: &Channel| !rulebook.remembers(&Place::of_channel(it));
        Ok(channels.filter(is_left_out).map(|channel| channel.id).collect())
    }

    /// Returns the persona that a mind plays in a channel.
    fn persona_in(&self, mind: &Mind, rules: &ChannelRules) -> Arc<Persona> {
        match &rules.persona {
            None => mind.persona.clone(),
            Some(rule) => Arc::new(rule.apply_to(&self.persona, &mind.persona)),
        }
    }

    /// Returns what a prompt for this mind depends on besides its context.
    fn prompt_options(&self, mind: &Mind) -> PromptOptions {
        PromptOptions {
            zone: self.settings.zone.clone(),
            budget: self.settings.budget,
            token_factor: self.token_corrections.factor(&mind.models.name()),
            ..PromptOptions::new(self.now())
        }
    }

    /// Screens a text that a model wrote before users see it.
    fn screen(&self, text: &str, known: &KnownUrls, code: CodeBlocks) -> String {
        outgoing::screen(text, known, code, &self.settings.secrets, self.persona.language)
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// Returns the wait that a busy model or platform asked for, at most 30 minutes.
fn capped_retry_after(retry_after: Option<SignedDuration>) -> SignedDuration {
    retry_after.unwrap_or_default().min(SignedDuration::from_mins(30))
}

/// The maximum number of attempts of a step. A step that crashes the process is claimed again after every restart, so
/// there must be a limit that counts claims.
const MAX_ATTEMPTS: u32 = 100;
/// How many messages outside the history are added because others reply to them.
const MAX_REPLIED_TO: usize = 3;
/// The maximum number of attempts while a user waits for the answer.
const MAX_OWED_ATTEMPTS: u32 = 4;
/// The maximum number of attempts of an unsolicited step.
const MAX_UNSOLICITED_ATTEMPTS: u32 = 3;

/// Why a step could not be completed. The variant says what happens next.
#[derive(Debug)]
pub enum StepError {
    /// A new message made the step obsolete.
    Superseded,
    /// Model calls in flight may use up the rest of the budget. No call was made.
    AwaitingBudget { wait: SignedDuration },
    /// A limit forbids the next model call.
    OverBudget(Limit),
    /// Retry later.
    Retryable {
        error: String,
        retry_after: Option<SignedDuration>,
        /// Set if the model is at fault.
        problem: Option<ModelProblem>,
    },
    /// Retrying will not help.
    Permanent { error: String, problem: Option<ModelProblem> },
}

impl StepError {
    fn retryable(error: String, retry_after: Option<SignedDuration>) -> Self {
        Self::Retryable { error, retry_after, problem: None }
    }

    fn permanent(error: String) -> Self {
        Self::Permanent { error, problem: None }
    }

    /// Converts the error of a model call that got no answer, caused by this problem if it is known.
    fn from_llm(failure: LlmError, problem: Option<ModelProblem>) -> Self {
        let error = failure.to_string();
        match failure {
            LlmError::Busy { retry_after, .. } => Self::Retryable { error, retry_after, problem },
            LlmError::TimedOut(_) => Self::Retryable { error, retry_after: None, problem },
            LlmError::Refused(_) | LlmError::Unusable { .. } => Self::Permanent { error, problem },
        }
    }
}

impl From<StoreError> for StepError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy(_) | StoreError::Broken(_) => {
                StepError::retryable(error.to_string(), None)
            }
            StoreError::Refused(_) => StepError::permanent(error.to_string()),
        }
    }
}

impl From<PlatformError> for StepError {
    fn from(error: PlatformError) -> Self {
        let message = error.to_string();
        match error {
            PlatformError::Busy { retry_after, .. } => StepError::retryable(message, retry_after),
            PlatformError::Queued { wait } => StepError::retryable(message, Some(wait)),
            PlatformError::OutcomeUnknown(_) => StepError::retryable(message, None),
            PlatformError::Refused(_) => StepError::permanent(message),
        }
    }
}

/// The model calls made so far for a claim.
pub type Attempts = Vec<Attempt>;

/// What the ledger records about a step, however it ends.
struct StepTrace<'a> {
    attempts: &'a mut Attempts,
    evaluation: Option<Evaluation>,
    /// The revision of the store that was read.
    seen_revision: Option<u64>,
    memo_changes: Vec<MemoChange>,
    plans: Vec<Plan>,
    wanted_calls: Vec<NewConsent>,
    read_attachments: Vec<ReadAttachment>,
    quiet_order: Option<QuietOrder>,
}

/// Returns the place of a context's conversation, whose rules apply.
fn place_of(context: &Context) -> Place<'_> {
    let name = &context.conversation_history.channel_name;
    Place::of_conversation(&context.conversation, name, context.visibility)
}
