//! One recorded room on a virtual clock: the real inbox, runner and agent around a volatile store,
//! with ports that note what passes through them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use async_trait::async_trait;
use futures_executor::LocalPool;
use futures_util::task::LocalSpawnExt;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::replay::history::{RecordedChannel, RecordedMessage};
use crate::replay::record::{JudgeCall, PostRecord, Recorder, ReplayEventKind};
use crate::replay::timing::UnsolicitedPost;
use crate::replay::{Policy, ReplayJudge, ReplaySettings};
use aizuchi_core::agent::defer::Deferrals;
use aizuchi_core::agent::state::StateCache;
use aizuchi_core::agent::{self, Agent, Minds};
use aizuchi_core::chat::{
    Arrival, Author, AuthorKind, Channel, ChannelId, ConversationId, Heard, Message, MessageId,
    Role, User, UserId, Visibility, WorkspaceId,
};
use aizuchi_core::clock::{Clock, seeded_random};
use aizuchi_core::command::reply::CommandReplies;
use aizuchi_core::context::{Context, ContextWindow};
use aizuchi_core::decision::{Attempt, AttemptResult, DecisionResult};
use aizuchi_core::event::memory_job::{MemoryJob, MemoryJobOutcome};
use aizuchi_core::event::{Claim, Event, OutboxItem, Outcome, PostedMessage, StepResult};
use aizuchi_core::inbox::channel_cache::ChannelCache;
use aizuchi_core::inbox::in_flight::InFlight;
use aizuchi_core::inbox::{Inbox, Redaction};
use aizuchi_core::llm::{Llm, LlmError, LlmResponse};
use aizuchi_core::memo::Memo;
use aizuchi_core::memory::{Lineage, Memory, MemoryId, MessageRef};
use aizuchi_core::metrics::Metrics;
use aizuchi_core::platform::{Platform, PlatformError, Platforms, local};
use aizuchi_core::prompt::builder::PromptBuilder;
use aizuchi_core::prompt::tokens::TokenCorrections;
use aizuchi_core::prompt::{Prompt, PromptVerb};
use aizuchi_core::recall::{RecallQuery, RecalledMessage};
use aizuchi_core::runner::Runner;
use aizuchi_core::store::volatile::VolatileStore;
use aizuchi_core::store::{
    CompletionReceipt, HearReceipt, InboxEntry, Order, StandingOrders, Store, StoreError,
};

/// The spread of the model's latency: the standard deviation of its logarithm. A judge call with a
/// median of 4 s then takes 2 to 8 s in 80 of 100 cases.
const LATENCY_SIGMA: f64 = 0.5;

/// Plays a room to its end, until nothing is pending.
pub fn run(
    room: &RecordedChannel,
    policy: &Policy,
    rules: &ReplaySettings,
    prompts: &Arc<PromptBuilder>,
    mind: Arc<dyn Llm>,
    recorder: &Arc<Recorder>,
) -> anyhow::Result<()> {
    let Some(first) = room.messages.first() else { return Ok(()) };
    let clock = Clock::manual(first.at());
    let workspace = WorkspaceId::new(room.name.as_str());
    let kept = Arc::new(VolatileStore::new());
    let store: Arc<dyn Store> = Arc::new(RecordingStore {
        inner: kept.clone(),
        recorder: recorder.clone(),
        clock: clock.clone(),
    });
    let under_way = Arc::new(InFlight::default());
    let metrics = Arc::new(Metrics::default());
    let inbox = Inbox {
        store: store.clone(),
        in_flight: under_way.clone(),
        clock: clock.clone(),
        metrics: metrics.clone(),
        channel_cache: Arc::new(ChannelCache::new(policy.config.agent_settings().rulebook)),
        wait_settings: policy.config.wait_settings(),
        redaction: Redaction::Drop,
        command_name: None,
        is_announcing: false,
        // Nobody here could read it.
        remember_delay: None,
        random_seed: rules.seed,
    };
    let mind = RecordingMind {
        inner: mind,
        recorder: recorder.clone(),
        clock: clock.clone(),
        settings: *rules,
    };
    let platform: Arc<dyn Platform> = Arc::new(ReplayPlatform { clock: clock.clone() });
    let persona = policy.config.persona();
    let answers = CommandReplies {
        store: kept.clone(),
        archive: kept,
        rulebook: policy.config.agent_settings().rulebook,
        persona: persona.clone(),
        zone: policy.config.time_zone_or(TimeZone::UTC),
    };
    let agent = Agent {
        command_answers: Arc::new(answers),
        store,
        platforms: Platforms(HashMap::from([(workspace.clone(), platform)])),
        minds: Minds::from_llm(Arc::new(mind), &persona),
        clock: clock.clone(),
        metrics,
        persona,
        tools: None,
        prompt_builder: prompts.clone(),
        token_corrections: TokenCorrections::default(),
        state_cache: StateCache::default(),
        deferrals: Deferrals::default(),
        settings: agent::AgentSettings {
            // Nobody will open these decisions and read.
            keeps_exchanges: false,
            // The same recording is the same everywhere.
            zone: policy.config.time_zone_or(TimeZone::UTC),
            // A scripted mind says the same whatever it recalls, and looking is slow in a long room.
            recall_limit: match rules.judge {
                ReplayJudge::Silent | ReplayJudge::Speak => 0,
                ReplayJudge::Builtin => agent::AgentSettings::default().recall_limit,
            },
            ..policy.config.agent_settings()
        },
        seed: rules.seed,
    };
    let runner = Runner::new(agent, under_way, policy.config.runner_settings())?;
    let mut stage =
        Simulation { pool: LocalPool::new(), clock, inbox, recorder, known_users: HashSet::new() };
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    let notes = recorder.clone();
    stage.pool.spawner().spawn_local(async move {
        if let Err(error) = runner.run(stopped).await {
            notes.lock().first_error.get_or_insert(error.context("the runner ended"));
        }
    })?;
    stage.hear_channel(&workspace);
    for recorded in &room.messages {
        stage.advance_to(recorded.at());
        stage.hear_recorded(&workspace, recorded, &policy.config.persona.name.0);
    }
    stage.advance_to(Timestamp::MAX);
    stop.cancel();
    stage.pool.run_until_stalled();
    Ok(())
}

struct Simulation<'a> {
    pool: LocalPool,
    clock: Clock,
    inbox: Inbox,
    recorder: &'a Recorder,
    known_users: HashSet<String>,
}

impl Simulation<'_> {
    fn hear_channel(&mut self, workspace: &WorkspaceId) {
        let channel = Channel {
            workspace: workspace.clone(),
            id: ChannelId::new(workspace.0.clone()),
            name: workspace.0.clone(),
            visibility: Visibility::Public,
        };
        self.hear(Heard::Channel(channel));
    }

    /// Everything that falls due until then happens, one moment after the other; at equal times
    /// due steps run before the next line is heard.
    fn advance_to(&mut self, until: Timestamp) {
        self.pool.run_until_stalled();
        while let Some(next) = self.clock.next_wake_at().filter(|next| *next <= until) {
            self.clock.advance_to(next);
            self.pool.run_until_stalled();
        }
        if until < Timestamp::MAX {
            self.clock.advance_to(until);
        }
    }

    fn hear_recorded(
        &mut self,
        workspace: &WorkspaceId,
        recorded: &RecordedMessage,
        persona: &str,
    ) {
        let kind = if recorded.bot { AuthorKind::Bot } else { AuthorKind::Human };
        let author = Author { id: UserId::new(recorded.author.as_str()), kind };
        if self.known_users.insert(recorded.author.clone())
            && let Some(name) = &recorded.name
        {
            let (workspace, id, role) = (workspace.clone(), author.id.clone(), Role::Member);
            self.hear(Heard::User(User { workspace, id, name: name.as_str().into(), kind, role }));
        }
        let conversation = ConversationId {
            workspace: workspace.clone(),
            channel: ChannelId::new(workspace.0.clone()),
            thread: recorded.thread.as_deref().map(MessageId::new),
        };
        let message = Message {
            id: MessageId::new(recorded.id.as_str()),
            at: recorded.at(),
            author,
            mentions: local::mention::parse_mentions(&recorded.text, persona, &[]),
            text: recorded.text.as_str().into(),
            edits: 0,
            conversation,
        };
        {
            let mut record = self.recorder.lock();
            record.now = message.at;
            if message.is_human() {
                *record.heard_humans.entry(message.conversation.thread.clone()).or_default() += 1;
            }
            if record.output.is_some() {
                let mut event = record.event(ReplayEventKind::Heard, &message.conversation);
                event.message = Some(message.id.clone());
                event.decision = None;
                record.write(&event);
            }
        }
        self.hear(Heard::Message(message, Arrival::Live));
        self.pool.run_until_stalled();
    }

    fn hear(&mut self, heard: Heard) {
        if let Err(error) = self.pool.run_until(self.inbox.hear(heard)) {
            let error = anyhow::Error::new(error).context("a line was not heard");
            self.recorder.lock().first_error.get_or_insert(error);
        }
    }
}

/// Passes everything on, and notes it.
struct RecordingStore {
    inner: Arc<VolatileStore>,
    recorder: Arc<Recorder>,
    clock: Clock,
}

#[async_trait]
impl Store for RecordingStore {
    async fn hear(&self, hearing: InboxEntry) -> Result<HearReceipt, StoreError> {
        self.inner.hear(hearing).await
    }

    async fn claim(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    ) -> Result<Vec<Claim>, StoreError> {
        let claims = self.inner.claim(now, lease, most).await?;
        let mut record = self.recorder.lock();
        for claim in &claims {
            record.decisions.insert(claim.event.conversation().clone(), claim.decision);
        }
        Ok(claims)
    }

    async fn complete(
        &self,
        claim: &Claim,
        outcome: Outcome,
        now: Timestamp,
    ) -> Result<CompletionReceipt, StoreError> {
        self.record(claim, &outcome);
        self.inner.complete(claim, outcome, now).await
    }

    async fn drop_exchanges(&self, before: Timestamp) -> Result<(), StoreError> {
        self.inner.drop_exchanges(before).await
    }

    async fn has_changed_since(
        &self,
        home: &ConversationId,
        revision: u64,
        made_from: &Lineage,
    ) -> Result<bool, StoreError> {
        self.inner.has_changed_since(home, revision, made_from).await
    }

    async fn next_ready(&self) -> Result<Option<Timestamp>, StoreError> {
        self.inner.next_ready().await
    }

    fn revisions(&self) -> watch::Receiver<u64> {
        self.inner.revisions()
    }

    async fn recall(&self, query: &RecallQuery) -> Result<Vec<RecalledMessage>, StoreError> {
        self.inner.recall(query).await
    }

    async fn context(
        &self,
        conversation: &ConversationId,
        window: &ContextWindow,
    ) -> Result<Context, StoreError> {
        let context = self.inner.context(conversation, window).await?;
        let newest = context.target_messages().last().map(|message| message.id.clone());
        self.recorder.lock().considered.insert(conversation.clone(), newest);
        Ok(context)
    }

    async fn memories(&self, workspace: &WorkspaceId) -> Result<Vec<Memory>, StoreError> {
        self.inner.memories(workspace).await
    }

    async fn memos(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
    ) -> Result<Vec<(MemoryId, Memo)>, StoreError> {
        self.inner.memos(workspace, channel).await
    }

    async fn order(&self, order: Order, now: Timestamp) -> Result<(), StoreError> {
        self.inner.order(order, now).await
    }

    async fn has_heard(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        line: &MessageId,
    ) -> Result<bool, StoreError> {
        self.inner.has_heard(workspace, channel, line).await
    }

    async fn orders(&self, workspace: &WorkspaceId) -> Result<StandingOrders, StoreError> {
        self.inner.orders(workspace).await
    }

    async fn source_messages(
        &self,
        workspace: &WorkspaceId,
        lines: &[MessageRef],
    ) -> Result<Vec<(Arc<Message>, Visibility)>, StoreError> {
        self.inner.source_messages(workspace, lines).await
    }

    async fn claim_memory_jobs(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    ) -> Result<Vec<MemoryJob>, StoreError> {
        self.inner.claim_memory_jobs(now, lease, most).await
    }

    async fn next_memory_job(&self) -> Result<Option<Timestamp>, StoreError> {
        self.inner.next_memory_job().await
    }

    async fn complete_memory_job(
        &self,
        chore: &MemoryJob,
        outcome: MemoryJobOutcome,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.inner.complete_memory_job(chore, outcome, now).await
    }
}

impl RecordingStore {
    fn record(&self, claim: &Claim, outcome: &Outcome) {
        let mut record = self.recorder.lock();
        record.now = self.clock.now();
        let conversation = claim.event.conversation();
        let overtaken = |attempt: &Attempt| {
            &*attempt.verb == PromptVerb::Judge.name()
                && attempt.result == AttemptResult::Superseded
        };
        if outcome.attempts.iter().any(overtaken) {
            let thread = &conversation.thread;
            let call = record.calls.iter_mut().rev().find(|call| call.thread == *thread);
            call.into_iter().for_each(|call| call.is_superseded = true);
        }
        record.failed += usize::from(match &outcome.result {
            StepResult::Silent(closing) => closing.ended == DecisionResult::Failed,
            StepResult::Failed { .. } => true,
            StepResult::Join { .. }
            | StepResult::React { .. }
            | StepResult::Drafted { .. }
            | StepResult::Posted(_)
            | StepResult::Withdrawn { .. }
            | StepResult::Redraft { .. }
            | StepResult::Retry { .. }
            | StepResult::Deferred { .. }
            | StepResult::NotSent { .. }
            | StepResult::Superseded => false,
        });
        if let StepResult::Join { .. } = &outcome.result {
            let thread = &conversation.thread;
            let call = record.calls.iter().rev().find(|call| call.thread == *thread);
            let decided = (record.now, call.and_then(|call| call.newest.clone()));
            record.join_decisions.insert(conversation.clone(), decided);
        }
        let kind = match &outcome.result {
            StepResult::Silent(closing) if closing.gate.is_some() => ReplayEventKind::Gate,
            StepResult::Silent(closing) if closing.ended == DecisionResult::Dropped => {
                ReplayEventKind::Dropped
            }
            StepResult::Withdrawn { .. } => ReplayEventKind::Dropped,
            StepResult::Posted(_) => match &claim.event {
                Event::Post(piece) if piece.reaction_to.is_some() => ReplayEventKind::React,
                Event::Post(_) | Event::Judge(_) | Event::Reply(_) => ReplayEventKind::Speak,
            },
            StepResult::Superseded => ReplayEventKind::Cancelled,
            StepResult::Silent(_)
            | StepResult::Join { .. }
            | StepResult::React { .. }
            | StepResult::Drafted { .. }
            | StepResult::Redraft { .. }
            | StepResult::Retry { .. }
            | StepResult::Deferred { .. }
            | StepResult::NotSent { .. }
            | StepResult::Failed { .. } => return,
        };
        record.gated += usize::from(kind == ReplayEventKind::Gate);
        if kind == ReplayEventKind::Speak {
            let thread = conversation.thread.clone();
            let heard = record.heard_humans.get(&thread).copied().unwrap_or(0);
            let at = record.now;
            record.all_posts.push(PostRecord { at, thread, heard });
        }
        record.reacted += usize::from(kind == ReplayEventKind::React);
        let mut event = record.event(kind, conversation);
        if let StepResult::Silent(closing) = &outcome.result {
            event.gate = closing.gate.map(|gate| gate.name());
        }
        if let Event::Post(piece) = &claim.event {
            event.about =
                piece.metadata.about.clone().or_else(|| piece.metadata.owed.first().cloned());
        }
        if let (ReplayEventKind::Speak, Event::Post(piece)) = (kind, &claim.event)
            && !claim.is_owed
            && piece.id == piece.first_in_draft
        {
            let thread = conversation.thread.clone();
            if let Some((decided, behind)) = record.join_decisions.get(conversation).cloned() {
                let at = record.now;
                record.unsolicited_posts.push(UnsolicitedPost {
                    at,
                    thread,
                    newest_human: behind,
                    decided_at: decided,
                });
            }
        }
        record.write(&event);
    }
}

/// A mind that takes its time, in virtual seconds.
struct RecordingMind {
    inner: Arc<dyn Llm>,
    recorder: Arc<Recorder>,
    clock: Clock,
    settings: ReplaySettings,
}

#[async_trait]
impl Llm for RecordingMind {
    fn model(&self) -> &str {
        self.inner.model()
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        if prompt.verb == PromptVerb::Judge {
            self.record(prompt);
        }
        let latency = self.latency(prompt);
        if latency > SignedDuration::ZERO {
            self.clock.sleep_until(self.clock.now() + latency).await;
        }
        self.inner.ask(prompt).await
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
        let thread = prompt.context.conversation.thread.clone();
        let heard = record.heard_humans.get(&thread).copied().unwrap_or(0);
        let at = record.now;
        let newest = prompt.context.newest_human_message().map(|line| line.id.clone());
        let call = JudgeCall {
            at,
            thread,
            heard,
            newest,
            is_superseded: false,
            prompt_bytes,
            prefix_bytes,
        };
        record.calls.push(call);
        if record.output.is_some() {
            let mut event =
                record.event(ReplayEventKind::JudgeCalled, &prompt.context.conversation);
            event.prompt_bytes = Some(prompt_bytes);
            event.prefix_bytes = Some(prefix_bytes);
            record.write(&event);
        }
    }

    /// Lognormal around the median (Box and Muller's transform of two even draws).
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

/// How many bytes two texts have in common before they part.
fn common_prefix_bytes(one: &[u8], other: &[u8]) -> usize {
    const STEP: usize = 64;
    let steps = one.chunks_exact(STEP).zip(other.chunks_exact(STEP));
    let whole = steps.take_while(|(one, other)| one == other).count() * STEP;
    let rest = one[whole..].iter().zip(&other[whole..]);
    whole + rest.take_while(|(one, other)| one == other).count()
}

/// The recorded room takes whatever is said.
struct ReplayPlatform {
    clock: Clock,
}

#[async_trait]
impl Platform for ReplayPlatform {
    async fn post(&self, piece: &OutboxItem) -> Result<PostedMessage, PlatformError> {
        let id = MessageId::new(format!("own-{}", piece.id));
        let thread = piece.conversation.thread.clone();
        Ok(PostedMessage { id, thread, at: self.clock.now(), author: UserId::new("persona") })
    }

    async fn find_posted(
        &self,
        _piece: &OutboxItem,
    ) -> Result<Option<PostedMessage>, PlatformError> {
        Ok(None)
    }

    fn settle_time(&self) -> SignedDuration {
        SignedDuration::ZERO
    }

    fn max_post_length(&self) -> usize {
        local::limits::MAX_MESSAGE_LENGTH
    }
}
