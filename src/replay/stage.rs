//! One recorded room on a virtual clock: the real ears, runner and agent around a volatile store,
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

use crate::replay::history::{Recorded, Room};
use crate::replay::record::{Call, Kind, Recorder, Spoken};
use crate::replay::timing::Post;
use crate::replay::{Judge, Policy, Rules};
use aizuchi_core::agent::state::NamedStates;
use aizuchi_core::agent::wait::Waits;
use aizuchi_core::agent::{self, Agent, Minds};
use aizuchi_core::chat::{
    Arrival, Author, AuthorKind, Channel, ChannelId, ConversationId, Heard, Message, MessageId,
    Role, User, UserId, Visibility, WorkspaceId,
};
use aizuchi_core::clock::{Clock, chance};
use aizuchi_core::command::answer::Answers;
use aizuchi_core::context::{Context, Window};
use aizuchi_core::decision::{Attempt, AttemptEnd, Ended};
use aizuchi_core::event::chore::{Chore, ChoreOutcome};
use aizuchi_core::event::{Claim, End, Event, Outcome, Piece, Posted};
use aizuchi_core::hear::rooms::Rooms;
use aizuchi_core::hear::under_way::UnderWay;
use aizuchi_core::hear::{Ears, Withheld};
use aizuchi_core::llm::{Answer, Llm, LlmError};
use aizuchi_core::memo::Memo;
use aizuchi_core::memory::{LineId, Lineage, Memory, MemoryId};
use aizuchi_core::metrics::Metrics;
use aizuchi_core::platform::{Platform, PlatformError, Platforms, local};
use aizuchi_core::prompt::prompts::Prompts;
use aizuchi_core::prompt::tokens::Corrections;
use aizuchi_core::prompt::{Prompt, Verb};
use aizuchi_core::recall::{RecallQuery, Recalled};
use aizuchi_core::runner::Runner;
use aizuchi_core::store::volatile::VolatileStore;
use aizuchi_core::store::{Hearing, Order, Orders, Receipt, Settled, Store, StoreError};

/// The spread of the model's latency: the standard deviation of its logarithm. A judge call with a
/// median of 4 s then takes 2 to 8 s in 80 of 100 cases.
const LATENCY_SIGMA: f64 = 0.5;

/// Plays a room to its end, until nothing is pending.
pub fn play(
    room: &Room,
    policy: &Policy,
    rules: &Rules,
    prompts: &Arc<Prompts>,
    mind: Arc<dyn Llm>,
    recorder: &Arc<Recorder>,
) -> anyhow::Result<()> {
    let Some(first) = room.messages.first() else { return Ok(()) };
    let clock = Clock::manual(first.at());
    let workspace = WorkspaceId::new(room.name.as_str());
    let kept = Arc::new(VolatileStore::new());
    let store: Arc<dyn Store> = Arc::new(NotedStore {
        inner: kept.clone(),
        recorder: recorder.clone(),
        clock: clock.clone(),
    });
    let under_way = Arc::new(UnderWay::default());
    let metrics = Arc::new(Metrics::default());
    let ears = Ears {
        store: store.clone(),
        under_way: under_way.clone(),
        clock: clock.clone(),
        metrics: metrics.clone(),
        rooms: Arc::new(Rooms::new(policy.config.agent().rulebook)),
        waiting: policy.config.waiting(),
        withheld: Withheld::Dropped,
        commanded_as: None,
        announces: false,
        // Nobody here could read it.
        remembers_after: None,
        seed: rules.seed,
    };
    let mind =
        NotedMind { inner: mind, recorder: recorder.clone(), clock: clock.clone(), rules: *rules };
    let platform: Arc<dyn Platform> = Arc::new(RecordedRoom { clock: clock.clone() });
    let persona = policy.config.persona();
    let answers = Answers {
        store: kept.clone(),
        archive: kept,
        rulebook: policy.config.agent().rulebook,
        persona: persona.clone(),
        zone: policy.config.zone_or(TimeZone::UTC),
    };
    let agent = Agent {
        answers: Arc::new(answers),
        store,
        platforms: Platforms(HashMap::from([(workspace.clone(), platform)])),
        minds: Minds::alike(Arc::new(mind), &persona),
        clock: clock.clone(),
        metrics,
        persona,
        tools: None,
        prompts: prompts.clone(),
        corrections: Corrections::default(),
        named_states: NamedStates::default(),
        waits: Waits::default(),
        settings: agent::Settings {
            // Nobody will open these decisions and read.
            keeps_exchanges: false,
            // The same recording is the same everywhere.
            zone: policy.config.zone_or(TimeZone::UTC),
            // A scripted mind says the same whatever it recalls, and looking is slow in a long room.
            recalled_lines: match rules.judge {
                Judge::Silent | Judge::Speak => 0,
                Judge::Builtin => agent::Settings::default().recalled_lines,
            },
            ..policy.config.agent()
        },
        seed: rules.seed,
    };
    let runner = Runner::new(agent, under_way, policy.config.runner())?;
    let mut stage = Stage { pool: LocalPool::new(), clock, ears, recorder, people: HashSet::new() };
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    let notes = recorder.clone();
    stage.pool.spawner().spawn_local(async move {
        if let Err(error) = runner.run(stopped).await {
            notes.lock().broken.get_or_insert(error.context("the runner ended"));
        }
    })?;
    stage.open(&workspace);
    for recorded in &room.messages {
        stage.pass(recorded.at());
        stage.say(&workspace, recorded, &policy.config.persona.name.0);
    }
    stage.pass(Timestamp::MAX);
    stop.cancel();
    stage.pool.run_until_stalled();
    Ok(())
}

struct Stage<'a> {
    pool: LocalPool,
    clock: Clock,
    ears: Ears,
    recorder: &'a Recorder,
    people: HashSet<String>,
}

impl Stage<'_> {
    fn open(&mut self, workspace: &WorkspaceId) {
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
    fn pass(&mut self, until: Timestamp) {
        self.pool.run_until_stalled();
        while let Some(next) = self.clock.next_sleeper().filter(|next| *next <= until) {
            self.clock.advance_to(next);
            self.pool.run_until_stalled();
        }
        if until < Timestamp::MAX {
            self.clock.advance_to(until);
        }
    }

    fn say(&mut self, workspace: &WorkspaceId, recorded: &Recorded, persona: &str) {
        let kind = if recorded.bot { AuthorKind::Bot } else { AuthorKind::Human };
        let author = Author { id: UserId::new(recorded.author.as_str()), kind };
        if self.people.insert(recorded.author.clone())
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
            mentions: local::mention::mentions(&recorded.text, persona, &[]),
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
                let mut event = record.event(Kind::Heard, &message.conversation);
                event.message = Some(message.id.clone());
                event.decision = None;
                record.write(&event);
            }
        }
        self.hear(Heard::Message(message, Arrival::Live));
        self.pool.run_until_stalled();
    }

    fn hear(&mut self, heard: Heard) {
        if let Err(error) = self.pool.run_until(self.ears.hear(heard)) {
            let error = anyhow::Error::new(error).context("a line was not heard");
            self.recorder.lock().broken.get_or_insert(error);
        }
    }
}

/// Passes everything on, and notes it.
struct NotedStore {
    inner: Arc<VolatileStore>,
    recorder: Arc<Recorder>,
    clock: Clock,
}

#[async_trait]
impl Store for NotedStore {
    async fn hear(&self, hearing: Hearing) -> Result<Receipt, StoreError> {
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
    ) -> Result<Settled, StoreError> {
        self.note(claim, &outcome);
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

    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Recalled>, StoreError> {
        self.inner.recall(query).await
    }

    async fn context(
        &self,
        conversation: &ConversationId,
        window: &Window,
    ) -> Result<Context, StoreError> {
        let context = self.inner.context(conversation, window).await?;
        let newest = context.target().last().map(|message| message.id.clone());
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

    async fn knows(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        line: &MessageId,
    ) -> Result<bool, StoreError> {
        self.inner.knows(workspace, channel, line).await
    }

    async fn orders(&self, workspace: &WorkspaceId) -> Result<Orders, StoreError> {
        self.inner.orders(workspace).await
    }

    async fn lines_behind(
        &self,
        workspace: &WorkspaceId,
        lines: &[LineId],
    ) -> Result<Vec<(Arc<Message>, Visibility)>, StoreError> {
        self.inner.lines_behind(workspace, lines).await
    }

    async fn claim_chores(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    ) -> Result<Vec<Chore>, StoreError> {
        self.inner.claim_chores(now, lease, most).await
    }

    async fn next_chore(&self) -> Result<Option<Timestamp>, StoreError> {
        self.inner.next_chore().await
    }

    async fn complete_chore(
        &self,
        chore: &Chore,
        outcome: ChoreOutcome,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.inner.complete_chore(chore, outcome, now).await
    }
}

impl NotedStore {
    fn note(&self, claim: &Claim, outcome: &Outcome) {
        let mut record = self.recorder.lock();
        record.now = self.clock.now();
        let conversation = claim.event.conversation();
        let overtaken = |attempt: &Attempt| {
            &*attempt.verb == Verb::Judge.name() && attempt.end == AttemptEnd::Superseded
        };
        if outcome.attempts.iter().any(overtaken) {
            let thread = &conversation.thread;
            let call = record.calls.iter_mut().rev().find(|call| call.thread == *thread);
            call.into_iter().for_each(|call| call.is_overtaken = true);
        }
        record.failed += usize::from(match &outcome.end {
            End::Silent(closing) => closing.ended == Ended::Failed,
            End::GivenUp { .. } => true,
            End::Join { .. }
            | End::React { .. }
            | End::Drafted { .. }
            | End::Said(_)
            | End::Withdrawn { .. }
            | End::Redraft { .. }
            | End::Again { .. }
            | End::Wait { .. }
            | End::NotSaid { .. }
            | End::Overtaken => false,
        });
        if let End::Join { .. } = &outcome.end {
            let thread = &conversation.thread;
            let call = record.calls.iter().rev().find(|call| call.thread == *thread);
            let decided = (record.now, call.and_then(|call| call.newest.clone()));
            record.decided.insert(conversation.clone(), decided);
        }
        let kind = match &outcome.end {
            End::Silent(closing) if closing.gate.is_some() => Kind::Gate,
            End::Silent(closing) if closing.ended == Ended::Dropped => Kind::Dropped,
            End::Withdrawn { .. } => Kind::Dropped,
            End::Said(_) => match &claim.event {
                Event::Post(piece) if piece.on.is_some() => Kind::React,
                Event::Post(_) | Event::Judge(_) | Event::Reply(_) => Kind::Speak,
            },
            End::Overtaken => Kind::Cancelled,
            End::Silent(_)
            | End::Join { .. }
            | End::React { .. }
            | End::Drafted { .. }
            | End::Redraft { .. }
            | End::Again { .. }
            | End::Wait { .. }
            | End::NotSaid { .. }
            | End::GivenUp { .. } => return,
        };
        record.gated += usize::from(kind == Kind::Gate);
        if kind == Kind::Speak {
            let thread = conversation.thread.clone();
            let heard = record.heard_humans.get(&thread).copied().unwrap_or(0);
            let at = record.now;
            record.spoken.push(Spoken { at, thread, heard });
        }
        record.reacted += usize::from(kind == Kind::React);
        let mut event = record.event(kind, conversation);
        if let End::Silent(closing) = &outcome.end {
            event.gate = closing.gate.map(|gate| gate.name());
        }
        if let Event::Post(piece) = &claim.event {
            event.about = piece.draft.about.clone().or_else(|| piece.draft.owed.first().cloned());
        }
        if let (Kind::Speak, Event::Post(piece)) = (kind, &claim.event)
            && !claim.is_owed
            && piece.id == piece.first
        {
            let thread = conversation.thread.clone();
            if let Some((decided, behind)) = record.decided.get(conversation).cloned() {
                let at = record.now;
                record.posts.push(Post { at, thread, behind, decided });
            }
        }
        record.write(&event);
    }
}

/// A mind that takes its time, in virtual seconds.
struct NotedMind {
    inner: Arc<dyn Llm>,
    recorder: Arc<Recorder>,
    clock: Clock,
    rules: Rules,
}

#[async_trait]
impl Llm for NotedMind {
    fn model(&self) -> &str {
        self.inner.model()
    }

    async fn ask(&self, prompt: &Prompt) -> Result<Answer, LlmError> {
        if prompt.verb == Verb::Judge {
            self.note(prompt);
        }
        let latency = self.latency(prompt);
        if latency > SignedDuration::ZERO {
            self.clock.sleep_until(self.clock.now() + latency).await;
        }
        self.inner.ask(prompt).await
    }
}

impl NotedMind {
    fn note(&self, prompt: &Prompt) {
        let mut record = self.recorder.lock();
        record.now = self.clock.now();
        let prefix_bytes = alike(prompt.text.as_bytes(), record.last_prompt.as_bytes());
        let prompt_bytes = prompt.text.len();
        prompt.text.clone_into(&mut record.last_prompt);
        let thread = prompt.context.conversation.thread.clone();
        let heard = record.heard_humans.get(&thread).copied().unwrap_or(0);
        let at = record.now;
        let newest = prompt.context.newest_human().map(|line| line.id.clone());
        let call =
            Call { at, thread, heard, newest, is_overtaken: false, prompt_bytes, prefix_bytes };
        record.calls.push(call);
        if record.output.is_some() {
            let mut event = record.event(Kind::JudgeCalled, &prompt.context.conversation);
            event.prompt_bytes = Some(prompt_bytes);
            event.prefix_bytes = Some(prefix_bytes);
            record.write(&event);
        }
    }

    /// Lognormal around the median (Box and Muller's transform of two even draws).
    fn latency(&self, prompt: &Prompt) -> SignedDuration {
        if self.rules.latency_ms == 0 {
            return SignedDuration::ZERO;
        }
        let conversation = prompt.context.conversation.to_string();
        let revision = prompt.context.revision.to_string();
        let draw =
            |which| chance(self.rules.seed, &[&conversation, &revision, prompt.verb.name(), which]);
        let (one, other) = (1.0 - draw("latency"), draw("latency's angle"));
        let normal = (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * other).cos();
        let milliseconds = self.rules.latency_ms as f64 * (LATENCY_SIGMA * normal).exp();
        SignedDuration::from_millis(milliseconds.round() as i64)
    }
}

/// How many bytes two texts have in common before they part.
fn alike(one: &[u8], other: &[u8]) -> usize {
    const STEP: usize = 64;
    let steps = one.chunks_exact(STEP).zip(other.chunks_exact(STEP));
    let whole = steps.take_while(|(one, other)| one == other).count() * STEP;
    let rest = one[whole..].iter().zip(&other[whole..]);
    whole + rest.take_while(|(one, other)| one == other).count()
}

/// The recorded room takes whatever is said.
struct RecordedRoom {
    clock: Clock,
}

#[async_trait]
impl Platform for RecordedRoom {
    async fn post(&self, piece: &Piece) -> Result<Posted, PlatformError> {
        let id = MessageId::new(format!("own-{}", piece.id));
        let thread = piece.conversation.thread.clone();
        Ok(Posted { id, thread, at: self.clock.now(), author: UserId::new("persona") })
    }

    async fn find(&self, _piece: &Piece) -> Result<Option<Posted>, PlatformError> {
        Ok(None)
    }

    fn settle(&self) -> SignedDuration {
        SignedDuration::ZERO
    }

    fn longest_post(&self) -> usize {
        local::LONGEST_LINE
    }
}
