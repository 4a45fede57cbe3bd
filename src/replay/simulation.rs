//! Simulates one recorded channel on a virtual clock: the real inbox, runner and agent around a volatile store, with
//! ports that record what passes through them.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use async_trait::async_trait;
use futures_executor::LocalPool;
use futures_util::task::LocalSpawnExt;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::config::budget::ModelCosts;
use crate::replay::companions::Companions;
use crate::replay::history::{RecordedChannel, RecordedMessage};
use crate::replay::learning::ReplayLearning;
use crate::replay::record::{JudgeCall, PostRecord, Recorder, ReplayEventKind};
use crate::replay::timing::UnsolicitedPost;
use crate::replay::{Policy, ReplayJudge, ReplaySettings};
use aizuchi_core::agent::defer::Deferrals;
use aizuchi_core::agent::dispatches::Dispatches;
use aizuchi_core::agent::state::StateCache;
use aizuchi_core::agent::{self, Agent, Minds};
use aizuchi_core::chat::{
    Arrival, Author, AuthorKind, Channel, ChannelId, ConversationId, Heard, Mention, Message,
    MessageId, Role, User, UserId, Visibility, WorkspaceId,
};
use aizuchi_core::clock::{Clock, seeded_random};
use aizuchi_core::command::reply::CommandReplies;
use aizuchi_core::context::talk::{SharedTalk, TalkCache};
use aizuchi_core::context::{Context, ContextWindow};
use aizuchi_core::current::Current;
use aizuchi_core::decision::{Attempt, AttemptResult, DecisionResult};
use aizuchi_core::event::memory_job::{MemoryJob, MemoryJobOutcome};
use aizuchi_core::event::planned_call::{Admission, PlannedCall, UnclaimedCall};
use aizuchi_core::event::{Claim, Event, OutboxItem, Outcome, PostedMessage, StepResult};
use aizuchi_core::inbox::channel_cache::ChannelCache;
use aizuchi_core::inbox::in_flight::InFlight;
use aizuchi_core::inbox::{Delivery, Inbox, Redaction};
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
use aizuchi_core::store::expiry::{Expiry, ExpiryProgress};
use aizuchi_core::store::order::{Order, OrdersInForce};
use aizuchi_core::store::volatile::VolatileStore;
use aizuchi_core::store::{CompletionReceipt, HearReceipt, InboxEntry, Store, StoreError};

/// The standard deviation of the logarithm of a model's latency. With a median of 4 s, 80 of 100 calls take
/// between 2 and 8 s.
const LATENCY_SIGMA: f64 = 0.5;

/// How many of a channel's newest messages are kept at least: far more than any prompt holds or search needs.
const KEPT_MESSAGES: usize = 50_000;

/// What the channels of a replay have in common.
pub struct Setup<'a> {
    pub policy: &'a Policy,
    pub settings: ReplaySettings,
    pub prompts: &'a Arc<PromptBuilder>,
    pub mind: &'a Arc<dyn Llm>,
    pub learning: &'a Arc<ReplayLearning>,
}

/// Hears all messages of a channel, then runs until nothing is pending.
pub fn run(
    channel: &RecordedChannel,
    setup: &Setup<'_>,
    recorder: &Arc<Recorder>,
) -> anyhow::Result<()> {
    let companions = Arc::new(Companions::of_one());
    run_companions(channel, setup, std::slice::from_ref(recorder), &companions)
}

/// The same with several companions, each with a recorder of its own, that hear what the others say.
pub fn run_companions(
    channel: &RecordedChannel,
    setup: &Setup<'_>,
    recorders: &[Arc<Recorder>],
    companions: &Arc<Companions>,
) -> anyhow::Result<()> {
    let Some(first) = channel.messages.first() else { return Ok(()) };
    let clock = Clock::manual(first.at());
    let workspace = WorkspaceId::new(channel.name.as_str());
    setup.learning.begin(&workspace);
    let pool = LocalPool::new();
    let stop = CancellationToken::new();
    let mut instances = Vec::new();
    for (number, recorder) in recorders.iter().enumerate() {
        let place = Place { number, workspace: &workspace, clock: &clock, companions };
        let (inbox, runner) = build_instance(setup, &place, recorder)?;
        let (stopped, error_recorder) = (stop.clone(), recorder.clone());
        pool.spawner().spawn_local(async move {
            if let Err(error) = runner.run(stopped).await {
                let error = error.context("the runner ended");
                error_recorder.lock().first_error.get_or_insert(error);
            }
        })?;
        instances.push(Instance { inbox, recorder });
    }
    let mut simulation = Simulation {
        pool,
        clock,
        instances,
        companions,
        heard_users: HashSet::new(),
        users: RecordedUsers::new(channel),
        // Annotated replies are what the structure is to find out.
        gives_replies: !channel.is_annotated,
    };
    simulation.hear_channel(&workspace);
    let persona = &setup.policy.config.persona.name.0;
    for recorded in &channel.messages {
        let is_stopped = || recorders.iter().any(|recorder| recorder.lock().stop.is_cancelled());
        anyhow::ensure!(!is_stopped(), "the replay was stopped");
        simulation.advance_to(recorded.at());
        simulation.hear_recorded(&workspace, recorded, persona);
    }
    simulation.advance_to(Timestamp::MAX);
    stop.cancel();
    simulation.pool.run_until_stalled();
    Ok(())
}

/// Where one of several companions is.
struct Place<'a> {
    /// From 0.
    number: usize,
    workspace: &'a WorkspaceId,
    clock: &'a Clock,
    companions: &'a Arc<Companions>,
}

/// The inbox and the runner of one companion, around a store of its own.
fn build_instance(
    setup: &Setup<'_>,
    place: &Place<'_>,
    recorder: &Arc<Recorder>,
) -> anyhow::Result<(Inbox, Runner)> {
    let Setup { policy, prompts, learning, .. } = setup;
    let Place { number, workspace, clock, companions } = *place;
    // Each installation draws for itself.
    let seed = setup.settings.seed.wrapping_add(number as u64);
    let settings = ReplaySettings { seed, ..setup.settings };
    let volatile = Arc::new(VolatileStore::keeping_newest(KEPT_MESSAGES));
    let talks = Arc::new(TalkCache::new());
    let store: Arc<dyn Store> = Arc::new(RecordingStore {
        inner: volatile.clone(),
        recorder: recorder.clone(),
        learning: Arc::clone(learning),
        clock: clock.clone(),
        talks: talks.clone(),
        companions: companions.clone(),
        number,
    });
    let in_flight = Arc::new(InFlight::default());
    let metrics = Arc::new(Metrics::default());
    let costs = match settings.judge {
        // The scripted judge stands in for a model, so what a model may use up limits it.
        ReplayJudge::Silent | ReplayJudge::Speak | ReplayJudge::Model => ModelCosts::Tokens,
        ReplayJudge::Builtin => ModelCosts::Nothing,
    };
    let rulebook = companions.add_to(policy.config.rulebook_with(costs));
    let rulebook = Current::from(rulebook);
    let readings = talks.readings.clone();
    let channel_cache = Arc::new(ChannelCache::reading_with(readings, rulebook.clone()));
    let inbox = Inbox {
        store: store.clone(),
        archive: volatile.clone(),
        in_flight: in_flight.clone(),
        clock: clock.clone(),
        metrics: metrics.clone(),
        channel_cache: channel_cache.clone(),
        wait_settings: policy.config.wait_settings(),
        redaction: Redaction::Drop,
        persona_name: None,
        is_announcing: false,
        // A replay serves no page that shows memories, and its store keeps none.
        remember_delay: None,
        random_seed: settings.seed,
    };
    let mind = RecordingMind {
        inner: Arc::clone(setup.mind),
        recorder: recorder.clone(),
        clock: clock.clone(),
        settings,
    };
    let platform: Arc<dyn Platform> =
        Arc::new(ReplayPlatform { clock: clock.clone(), companions: companions.clone(), number });
    let persona = policy.config.persona();
    let answers = CommandReplies {
        store: volatile.clone(),
        archive: volatile,
        rulebook: rulebook.clone(),
        persona: persona.clone(),
        zone: policy.config.time_zone_or(TimeZone::UTC),
        admins_workspace: local::workspace_id(),
        standing_order_trial: None,
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
        prompt_builder: Arc::clone(prompts).into(),
        learned_gates: learning.gates.clone(),
        token_corrections: TokenCorrections::default(),
        state_cache: StateCache::default(),
        deferrals: Deferrals::default(),
        dispatches: Dispatches::new(clock.clone()),
        settings: agent::AgentSettings {
            rulebook,
            // No page shows these decisions.
            keeps_exchanges: false,
            keeps_moments: learning.keeps_moments(),
            // A replay gives the same result on every machine, whatever its time zone.
            zone: policy.config.time_zone_or(TimeZone::UTC),
            // A scripted mind ignores what is recalled, and recall is slow in a long channel.
            recall_limit: match settings.judge {
                ReplayJudge::Silent | ReplayJudge::Speak => 0,
                ReplayJudge::Builtin | ReplayJudge::Model => {
                    agent::AgentSettings::default().recall_limit
                }
            },
            ..policy.config.agent_settings()
        },
        seed: settings.seed,
        documents: None,
        translation: None,
        demo: None,
    };
    let runner = Runner::new(agent, in_flight, channel_cache, policy.config.runner_settings())?;
    Ok((inbox, runner))
}

/// One companion, as what is heard reaches it.
struct Instance<'a> {
    inbox: Inbox,
    recorder: &'a Recorder,
}

struct Simulation<'a> {
    pool: LocalPool,
    clock: Clock,
    instances: Vec<Instance<'a>>,
    companions: &'a Companions,
    /// The ids of those who have written. Their messages share them.
    heard_users: HashSet<Arc<str>>,
    users: RecordedUsers,
    /// Whether the author's platform knows which message a message replies to.
    gives_replies: bool,
}

/// The users of a recorded channel. Its texts mention them by their names.
#[derive(Default)]
struct RecordedUsers {
    /// By the name in lower case. `None` if several users have it.
    ids: HashMap<String, Option<UserId>>,
    /// By their first letter in lower case.
    names: HashMap<char, Vec<Arc<str>>>,
}

impl RecordedUsers {
    fn new(channel: &RecordedChannel) -> Self {
        let mut users = Self::default();
        for message in &channel.messages {
            let Some(name) = &message.name else { continue };
            let lower = name.to_lowercase();
            let Some(first) = lower.chars().next() else { continue };
            match users.ids.entry(lower) {
                Entry::Occupied(mut known) => {
                    let is_same = |id: &UserId| id.as_str() == message.author;
                    if !known.get().as_ref().is_some_and(is_same) {
                        known.insert(None);
                    }
                }
                Entry::Vacant(new) => {
                    new.insert(Some(UserId::new(message.author.as_str())));
                    users.names.entry(first).or_default().push(name.as_str().into());
                }
            }
        }
        users
    }

    /// Whom a text mentions, by their ids, as a platform tells it.
    fn mentions(&self, text: &str, persona: &str) -> Vec<Mention> {
        if !text.contains(['@', '＠']) {
            return Vec::new();
        }
        let marks = text.split(['@', '＠']).skip(1);
        let letters = marks.filter_map(|rest| rest.chars().next()?.to_lowercase().next());
        let letters: BTreeSet<char> = letters.collect();
        let named = letters.iter().filter_map(|letter| self.names.get(letter)).flatten();
        let named: Vec<Arc<str>> = named.cloned().collect();
        let mut mentions = local::mention::parse_mentions(text, persona, &named);
        for mention in &mut mentions {
            if let Mention::User(user) = mention
                && let Some(Some(id)) = self.ids.get(&user.0.to_lowercase())
            {
                *user = id.clone();
            }
        }
        mentions
    }
}

impl Simulation<'_> {
    fn hear_channel(&mut self, workspace: &WorkspaceId) {
        let channel = Channel {
            workspace: workspace.clone(),
            id: ChannelId::new(workspace.0.clone()),
            name: workspace.0.clone(),
            visibility: Visibility::Public,
        };
        self.hear(&Heard::Channel(channel));
    }

    /// Runs everything that falls due until then, in order of time. At equal times, due steps run before the next
    /// message is heard.
    fn advance_to(&mut self, until: Timestamp) {
        self.pool.run_until_stalled();
        while let Some(next) = self.next_due().filter(|next| *next <= until) {
            self.clock.advance_to(next);
            self.pool.run_until_stalled();
            self.deliver_posts(next);
        }
        if until < Timestamp::MAX {
            self.clock.advance_to(until);
        }
    }

    fn next_due(&self) -> Option<Timestamp> {
        let wake = self.clock.next_wake_at();
        wake.into_iter().chain(self.companions.next_delivery()).min()
    }

    /// Has the others hear what a companion has said.
    fn deliver_posts(&mut self, now: Timestamp) {
        for (number, message) in self.companions.take_delivered(now) {
            for other in (0..self.instances.len()).filter(|other| *other != number) {
                let heard = Heard::Message(message.clone(), Arrival::Live);
                self.deliver(other, heard.into());
            }
            self.pool.run_until_stalled();
        }
    }

    fn hear_recorded(
        &mut self,
        workspace: &WorkspaceId,
        recorded: &RecordedMessage,
        persona: &str,
    ) {
        let kind = if recorded.bot { AuthorKind::Bot } else { AuthorKind::Human };
        let known = self.heard_users.get(recorded.author.as_str()).cloned();
        let is_new = known.is_none();
        let author = Author {
            id: UserId::new(known.unwrap_or_else(|| recorded.author.as_str().into())),
            kind,
        };
        if is_new {
            self.heard_users.insert(author.id.0.clone());
        }
        if let Some(name) = recorded.name.as_deref().filter(|_| is_new) {
            let (workspace, id, role) = (workspace.clone(), author.id.clone(), Role::Member);
            self.hear(&Heard::User(User { workspace, id, name: name.into(), kind, role }));
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
            mentions: self.users.mentions(&recorded.text, persona),
            text: recorded.text.as_str().into(),
            attachments: Vec::new(),
            edits: 0,
            conversation,
        };
        let reply_to = recorded.reply_to.first().filter(|_| self.gives_replies);
        let reply_to = reply_to.map(|parent| MessageId::new(parent.as_str()));
        for number in 0..self.instances.len() {
            self.record_heard(number, &message);
            let heard = Heard::Message(message.clone(), Arrival::Live);
            self.deliver(number, Delivery { reply_to: reply_to.clone(), ..heard.into() });
        }
        self.pool.run_until_stalled();
    }

    fn record_heard(&self, number: usize, message: &Message) {
        let mut record = self.instances[number].recorder.lock();
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

    fn hear(&mut self, heard: &Heard) {
        for number in 0..self.instances.len() {
            self.deliver(number, heard.clone().into());
        }
    }

    fn deliver(&mut self, number: usize, delivery: Delivery) {
        let Instance { inbox, recorder } = &self.instances[number];
        if let Err(error) = self.pool.run_until(inbox.deliver(delivery)) {
            let error =
                anyhow::Error::new(error).context("cannot store a message of the recording");
            recorder.lock().first_error.get_or_insert(error);
        }
    }
}

/// Delegates to the volatile store and records claims, contexts and outcomes.
struct RecordingStore {
    inner: Arc<VolatileStore>,
    recorder: Arc<Recorder>,
    learning: Arc<ReplayLearning>,
    clock: Clock,
    talks: Arc<TalkCache>,
    companions: Arc<Companions>,
    /// Of the companion.
    number: usize,
}

#[async_trait]
impl Store for RecordingStore {
    async fn hear(&self, entry: InboxEntry) -> Result<HearReceipt, StoreError> {
        self.inner.hear(entry).await
    }

    async fn claim(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        limit: usize,
    ) -> Result<Vec<Claim>, StoreError> {
        let claims = self.inner.claim(now, lease, limit).await?;
        let mut record = self.recorder.lock();
        for claim in &claims {
            let conversation = claim.event.conversation();
            record.decisions.insert(conversation.clone(), claim.decision);
            match claim.second_looks {
                0 => record.second_looks.remove(conversation),
                _ => record.second_looks.insert(conversation.clone()),
            };
        }
        Ok(claims)
    }

    async fn reserve(&self, call: &PlannedCall, now: Timestamp) -> Result<Admission, StoreError> {
        self.inner.reserve(call, now).await
    }

    async fn book(&self, call: &UnclaimedCall) -> Result<(), StoreError> {
        self.inner.book(call).await
    }

    async fn complete(
        &self,
        claim: &Claim,
        outcome: Outcome,
        now: Timestamp,
    ) -> Result<CompletionReceipt, StoreError> {
        self.record(claim, &outcome);
        self.companions.record(self.number, claim, &outcome, self.clock.now());
        self.learning.record(claim, &outcome, now);
        self.inner.complete(claim, outcome, now).await
    }

    async fn drop_exchanges(&self, before: Timestamp, max_bytes: u64) -> Result<(), StoreError> {
        self.inner.drop_exchanges(before, max_bytes).await
    }

    async fn drop_journals(&self, now: Timestamp) -> Result<(), StoreError> {
        self.inner.drop_journals(now).await
    }

    async fn expire_next(&self, expiry: Expiry) -> Result<ExpiryProgress, StoreError> {
        self.inner.expire_next(expiry).await
    }

    async fn has_changed_since(
        &self,
        conversation: &ConversationId,
        revision: u64,
        lineage: &Lineage,
    ) -> Result<bool, StoreError> {
        self.inner.has_changed_since(conversation, revision, lineage).await
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
        let talk = SharedTalk::cached_in(self.talks.clone());
        let context = Context { talk, ..self.inner.context(conversation, window).await? };
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
        message: &MessageId,
        client_message_id: Option<&str>,
    ) -> Result<bool, StoreError> {
        self.inner.has_heard(workspace, channel, message, client_message_id).await
    }

    async fn orders(&self, workspace: &WorkspaceId) -> Result<OrdersInForce, StoreError> {
        self.inner.orders(workspace).await
    }

    async fn source_messages(
        &self,
        workspace: &WorkspaceId,
        messages: &[MessageRef],
    ) -> Result<Vec<(Arc<Message>, Visibility)>, StoreError> {
        self.inner.source_messages(workspace, messages).await
    }

    async fn claim_memory_jobs(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        limit: usize,
    ) -> Result<Vec<MemoryJob>, StoreError> {
        self.inner.claim_memory_jobs(now, lease, limit).await
    }

    async fn next_memory_job(&self) -> Result<Option<Timestamp>, StoreError> {
        self.inner.next_memory_job().await
    }

    async fn complete_memory_job(
        &self,
        job: &MemoryJob,
        outcome: MemoryJobOutcome,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.inner.complete_memory_job(job, outcome, now).await
    }
}

impl RecordingStore {
    fn record(&self, claim: &Claim, outcome: &Outcome) {
        let mut record = self.recorder.lock();
        record.now = self.clock.now();
        let conversation = claim.event.conversation();
        let is_superseded_judgment = |attempt: &Attempt| {
            &*attempt.verb == PromptVerb::Judge.name()
                && attempt.result == AttemptResult::Superseded
        };
        if outcome.attempts.iter().any(is_superseded_judgment) {
            let thread = &conversation.thread;
            let call = record.calls.iter_mut().rev().find(|call| call.thread == *thread);
            call.into_iter().for_each(|call| call.is_superseded = true);
        }
        record.failed += usize::from(is_failure(&outcome.result));
        record.add_moment(claim, outcome);
        if let StepResult::Join { .. } = &outcome.result {
            let thread = &conversation.thread;
            let call = record.calls.iter().rev().find(|call| call.thread == *thread);
            let decided = (record.now, call.and_then(|call| call.newest.clone()));
            record.join_decisions.insert(conversation.clone(), decided);
        }
        let Some(kind) = event_kind(&outcome.result, &claim.event) else { return };
        record.gated += usize::from(kind == ReplayEventKind::Gate);
        if kind == ReplayEventKind::Speak {
            let thread = conversation.thread.clone();
            let heard = record.heard_humans.get(&thread).copied().unwrap_or(0);
            let at = record.now;
            let is_second_look = claim.second_looks > 0;
            record.all_posts.push(PostRecord { at, thread, heard, is_second_look });
        }
        record.reacted += usize::from(kind == ReplayEventKind::React);
        let mut event = record.event(kind, conversation);
        if let StepResult::Silent(closing) = &outcome.result {
            event.gate = closing.gate.map(|gate| gate.name());
        }
        if let Event::Post(item) = &claim.event {
            event.about =
                item.metadata.about.clone().or_else(|| item.metadata.owed.first().cloned());
        }
        if let (ReplayEventKind::Speak, Event::Post(item)) = (kind, &claim.event)
            && !claim.is_owed
            && item.id == item.first_in_draft
        {
            let thread = conversation.thread.clone();
            if let Some((decided_at, newest_human)) =
                record.join_decisions.get(conversation).cloned()
            {
                let at = record.now;
                record.unsolicited_posts.push(UnsolicitedPost {
                    at,
                    thread,
                    newest_human,
                    decided_at,
                });
            }
        }
        record.write(&event);
    }
}

fn is_failure(result: &StepResult) -> bool {
    match result {
        StepResult::Silent(closing) => closing.ended == DecisionResult::Failed,
        StepResult::Failed { .. } => true,
        StepResult::Join { .. }
        | StepResult::React { .. }
        | StepResult::Drafted { .. }
        | StepResult::Proposed(_)
        | StepResult::Posted(_)
        | StepResult::Withdrawn { .. }
        | StepResult::LookAgain { .. }
        | StepResult::Redraft { .. }
        | StepResult::Retry { .. }
        | StepResult::Deferred { .. }
        | StepResult::NotSent { .. }
        | StepResult::Superseded => false,
    }
}

/// The kind of event that a step's result is written as, if it is written.
fn event_kind(result: &StepResult, event: &Event) -> Option<ReplayEventKind> {
    match result {
        StepResult::Silent(closing) if closing.gate.is_some() => Some(ReplayEventKind::Gate),
        StepResult::Silent(closing) if closing.ended == DecisionResult::Dropped => {
            Some(ReplayEventKind::Dropped)
        }
        StepResult::Withdrawn { .. } => Some(ReplayEventKind::Dropped),
        // A reply that became doubtful; the judge is called again.
        StepResult::LookAgain { .. } if !matches!(event, Event::Judge(_)) => {
            Some(ReplayEventKind::Dropped)
        }
        StepResult::Posted(_) => match event {
            Event::Post(item) if item.reaction_to.is_some() => Some(ReplayEventKind::React),
            Event::Post(_) | Event::Judge(_) | Event::Reply(_) => Some(ReplayEventKind::Speak),
        },
        StepResult::Superseded => Some(ReplayEventKind::Cancelled),
        StepResult::Failed { .. } => Some(ReplayEventKind::Failed),
        StepResult::Silent(closing) if closing.ended == DecisionResult::Failed => {
            Some(ReplayEventKind::Failed)
        }
        StepResult::Silent(_)
        | StepResult::Join { .. }
        | StepResult::React { .. }
        | StepResult::Drafted { .. }
        | StepResult::Proposed(_)
        | StepResult::LookAgain { .. }
        | StepResult::Redraft { .. }
        | StepResult::Retry { .. }
        | StepResult::Deferred { .. }
        | StepResult::NotSent { .. } => None,
    }
}

/// A mind whose answers take virtual time.
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
        let thread = prompt.context.conversation.thread.clone();
        let heard = record.heard_humans.get(&thread).copied().unwrap_or(0);
        let at = record.now;
        let newest = prompt.context.newest_human_message().map(|message| message.id.clone());
        let is_second_look = record.second_looks.contains(&prompt.context.conversation);
        let call = JudgeCall {
            at,
            thread,
            heard,
            newest,
            is_superseded: false,
            is_second_look,
            prompt_bytes,
            prefix_bytes,
        };
        record.calls.push(call);
        if let Some(moments) = record.moments.as_mut().filter(|_| is_second_look) {
            moments.second_looks += 1;
        }
        if record.output.is_some() {
            let mut event =
                record.event(ReplayEventKind::JudgeCalled, &prompt.context.conversation);
            event.prompt_bytes = Some(prompt_bytes);
            event.prefix_bytes = Some(prefix_bytes);
            record.write(&event);
        }
    }

    /// A lognormal latency around the median (the Box–Muller transform of two uniform draws).
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

/// The length of the longest common prefix. Comparing in chunks is faster than byte by byte.
fn common_prefix_bytes(one: &[u8], other: &[u8]) -> usize {
    const STEP: usize = 64;
    let steps = one.chunks_exact(STEP).zip(other.chunks_exact(STEP));
    let whole = steps.take_while(|(one, other)| one == other).count() * STEP;
    let rest = one[whole..].iter().zip(&other[whole..]);
    whole + rest.take_while(|(one, other)| one == other).count()
}

/// The recorded channel accepts every post.
struct ReplayPlatform {
    clock: Clock,
    companions: Arc<Companions>,
    /// Of the companion.
    number: usize,
}

#[async_trait]
impl Platform for ReplayPlatform {
    async fn post(&self, item: &OutboxItem) -> Result<PostedMessage, PlatformError> {
        let author = self.companions.user(self.number);
        let id = self.companions.post_id(self.number, item);
        let thread = item.conversation.thread.clone();
        let posted = PostedMessage { id, thread, at: self.clock.now(), author };
        self.companions.post(self.number, item, &posted);
        Ok(posted)
    }

    async fn find_posted(
        &self,
        _item: &OutboxItem,
    ) -> Result<Option<PostedMessage>, PlatformError> {
        Ok(None)
    }

    fn settle_time(&self) -> SignedDuration {
        SignedDuration::ZERO
    }

    fn own_user(&self) -> Option<UserId> {
        Some(self.companions.user(self.number))
    }

    fn max_post_length(&self) -> usize {
        local::limits::MAX_MESSAGE_LENGTH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_is_of_the_user_who_has_the_name() {
        let message = |author: &str, name: Option<&str>| RecordedMessage {
            room: "den".to_owned(),
            thread: None,
            id: author.to_owned(),
            ts: 1.0,
            author: author.to_owned(),
            name: name.map(str::to_owned),
            text: String::new(),
            reply_to: Vec::new(),
            bot: false,
            opener: false,
        };
        let messages = vec![
            message("U1", Some("Mia Berg")),
            message("U2", Some("Mia")),
            message("ken", None),
            message("U3", Some("Lea")),
            message("U4", Some("lea")),
        ];
        let users = RecordedUsers::new(&RecordedChannel {
            messages,
            ..RecordedChannel::new("den".to_owned())
        });
        for (text, expected) in [
            ("@mia berg do you know?", &[Mention::User(UserId::new("U1"))][..]),
            ("@Mia, @ken", &[Mention::User(UserId::new("U2")), Mention::User(UserId::new("ken"))]),
            // Nobody can tell which of both.
            ("@Lea", &[Mention::User(UserId::new("Lea"))]),
            ("@someone", &[Mention::User(UserId::new("someone"))]),
            ("@Aizuchi", &[Mention::Persona]),
        ] {
            assert_eq!(users.mentions(text, "Aizuchi"), expected, "{text}");
        }
    }
}
