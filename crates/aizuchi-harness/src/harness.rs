//! A small world: one room, a mind that says what it is told, a clock that we move, and either
//! store underneath. Stories happen in it, and its transcript is what people saw.

use std::collections::{HashMap, VecDeque};
use std::fmt::{Debug, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aizuchi_core::agent::tools::ToolSettings;
use aizuchi_core::agent::{self, Agent, AgentSettings, Minds, PostTiming, StateCall};
use aizuchi_core::chat::{
    Arrival, Author, AuthorKind, Channel, ChannelId, ConversationId, Deletion, Edit, Heard,
    Mention, Message, MessageId, Role, User, UserId, Visibility, WorkspaceId,
};
use aizuchi_core::clock::Clock;
use aizuchi_core::command::reply::CommandReplies;
use aizuchi_core::context::{ContextLimits, ContextWindow};
use aizuchi_core::event::step::Step;
use aizuchi_core::event::{Debounce, OnNewMessage, OutboxItem, PostedMessage};
use aizuchi_core::inbox::channel_cache::ChannelCache;
use aizuchi_core::inbox::in_flight::InFlight;
use aizuchi_core::inbox::{Inbox, Redaction, WaitSettings};
use aizuchi_core::llm::scripted::ScriptedMind;
use aizuchi_core::llm::{Llm, LlmError, LlmResponse};
use aizuchi_core::metrics::Metrics;
use aizuchi_core::persona::{Language, Persona};
use aizuchi_core::platform::{Platform, PlatformError, Platforms};
use aizuchi_core::prompt::builder::PromptBuilder;
use aizuchi_core::prompt::{Prompt, PromptVerb};
use aizuchi_core::rhythm::WaitStrategy;
use aizuchi_core::rules::{ChannelRules, Rulebook};
use aizuchi_core::runner::{self, Runner};
use aizuchi_core::store::database::DatabaseStore;
use aizuchi_core::store::database::connection::{Connection, query};
use aizuchi_core::store::database::forget::ForgetReport;
use aizuchi_core::store::database::location::{DatabaseLocation, PostgresUrl};
use aizuchi_core::store::database::writer::DatabaseWriter;
use aizuchi_core::store::volatile::VolatileStore;
use aizuchi_core::store::{
    Archive, DecisionQuery, HearReceipt, MessageQuery, MessageRange, Order, Store,
};
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A day in the invented year of the stories.
pub const START: i64 = 1_800_000_000;
pub const SILENCE: &str =
    r#"{"should_respond": false, "reason": "they get along", "confidence": 0.9}"#;
pub const JOIN: &str = r#"{"should_respond": true, "reason": "nobody answers", "confidence": 0.9, "delay_seconds": 0}"#;
pub const JOIN_IN_60: &str = r#"{"should_respond": true, "reason": "give them a minute", "confidence": 0.9, "delay_seconds": 60}"#;

/// Until then, and from the beginning with each new line.
pub fn until(due: Timestamp) -> Debounce {
    Debounce { due, max_wait: SignedDuration::MAX, on_new_message: OnNewMessage::Restart }
}

/// The built-in prompts.
pub fn prompts(language: Language) -> Arc<PromptBuilder> {
    Arc::new(PromptBuilder::load(language, None).unwrap())
}

pub fn at(second: i64) -> Timestamp {
    Timestamp::from_second(START + second).unwrap()
}

pub fn workspace() -> WorkspaceId {
    WorkspaceId::new("story")
}

pub fn top_level(channel: &str) -> ConversationId {
    ConversationId { workspace: workspace(), channel: ChannelId::new(channel), thread: None }
}

/// So many of the newest lines, and everything that is remembered.
pub fn window(messages: usize) -> ContextWindow {
    let limits = ContextLimits { channel_messages: messages, ..ContextLimits::default() };
    limits.window(at(0))
}

pub fn thread(channel: &str, parent: &str) -> ConversationId {
    ConversationId { thread: Some(MessageId::new(parent)), ..top_level(channel) }
}

/// No program takes longer to be itself.
const BIRTH: Duration = Duration::from_secs(10);

/// The stores that the program has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    Volatile,
    Sqlite,
    Postgres,
}

impl StoreKind {
    pub const ALL: [Self; 3] = [Self::Volatile, Self::Sqlite, Self::Postgres];

    /// A new, empty store.
    pub async fn open(self) -> TestStore {
        match self {
            Self::Volatile => TestStore::volatile(),
            Self::Sqlite => TestStore::sqlite().await,
            Self::Postgres => TestStore::postgres().await,
        }
    }
}

/// A store with what keeps it alive.
#[derive(Clone)]
pub struct TestStore {
    pub store: Arc<dyn Store>,
    pub archive: Arc<dyn Archive>,
    pub database: Option<Arc<TestDatabase>>,
}

pub struct TestDatabase {
    pub address: DatabaseLocation,
    /// Where its file is, if it is one.
    folder: Option<Arc<TempDir>>,
    stop: CancellationToken,
    writer: Mutex<Option<tokio::task::JoinHandle<anyhow::Result<()>>>>,
}

impl TestDatabase {
    /// The file of an SQLite database.
    pub fn path(&self) -> &Path {
        match &self.address {
            DatabaseLocation::Sqlite(path) => path,
            DatabaseLocation::Postgres(server) => panic!("{server} is no file"),
        }
    }

    /// Another connection to it, that may write.
    pub async fn connect(&self) -> Connection {
        use sqlx::{ConnectOptions, Connection as _};
        match &self.address {
            DatabaseLocation::Sqlite(path) => {
                let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
                let options = options.pragma("secure_delete", "1");
                Connection::Sqlite(options.connect().await.unwrap())
            }
            DatabaseLocation::Postgres(server) => {
                Connection::Postgres(sqlx::PgConnection::connect(server.url()).await.unwrap())
            }
        }
    }

    /// Forgets a person, once nobody runs on it any more.
    pub async fn forget(&self, who: &str) -> ForgetReport {
        let (store, writer) = self.address.open().await.unwrap();
        let stop = CancellationToken::new();
        let forgetting = async {
            let found = store.find_users(who).await.unwrap();
            assert_eq!(found.len(), 1, "{who} is known once");
            let forgotten = store.forget_user(&found[0], at(0)).await.unwrap();
            stop.cancel();
            forgotten
        };
        let (written, forgotten) = tokio::join!(writer.run(stop.clone()), forgetting);
        written.unwrap();
        forgotten
    }

    /// What a statement counts, as `n`.
    pub async fn count(&self, statement: &'static str) -> i64 {
        let row = query(statement).fetch_one(&mut self.connect().await).await.unwrap();
        row.number("n").unwrap().unwrap()
    }
}

impl TestStore {
    pub fn volatile() -> Self {
        let store = Arc::new(VolatileStore::new());
        Self { store: store.clone(), archive: store, database: None }
    }

    /// A volatile store of the same installation.
    pub async fn volatile_of_same_installation(other: &Self) -> Self {
        let mut connection = other.database.as_ref().unwrap().connect().await;
        let row =
            query("SELECT installation FROM counters").fetch_one(&mut connection).await.unwrap();
        let store =
            Arc::new(VolatileStore::with_installation(&row.text("installation").unwrap().unwrap()));
        Self { store: store.clone(), archive: store, database: None }
    }

    pub async fn sqlite() -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        Self::open(DatabaseLocation::Sqlite(folder.path().join("aizuchi.db")), Some(folder)).await
    }

    pub async fn postgres() -> Self {
        let server = PostgresUrl::parse(&crate::postgres::with_tables()).unwrap();
        Self::open(DatabaseLocation::Postgres(server), None).await
    }

    /// A new one of every kind.
    pub async fn each() -> [Self; 3] {
        [Self::volatile(), Self::sqlite().await, Self::postgres().await]
    }

    async fn open(address: DatabaseLocation, folder: Option<Arc<TempDir>>) -> Self {
        let (store, writer) = Self::opened(&address).await;
        let stop = CancellationToken::new();
        let writer = tokio::spawn(writer.run(stop.clone()));
        let store = Arc::new(store);
        let database = TestDatabase { address, folder, stop, writer: Mutex::new(Some(writer)) };
        Self { store: store.clone(), archive: store, database: Some(Arc::new(database)) }
    }

    /// A program that another test starts has all our files, and so our lock, until it is itself: a
    /// moment after its birth.
    async fn opened(address: &DatabaseLocation) -> (DatabaseStore, DatabaseWriter) {
        let began = Instant::now();
        loop {
            match address.open().await {
                Ok(opened) => return opened,
                Err(error) => {
                    let is_locked = error.to_string().contains("another Aizuchi is");
                    assert!(is_locked && began.elapsed() < BIRTH, "{error}");
                }
            }
            tokio::task::yield_now().await;
        }
    }

    /// Lets the process end.
    pub async fn stop(self) {
        let Some(database) = self.database.clone() else { return };
        database.stop.cancel();
        let writer = database.writer.lock().unwrap().take();
        writer.unwrap().await.unwrap().unwrap();
    }

    /// Lets the process die and start again: a volatile store cannot, so it only goes on.
    pub async fn restart(self) -> Self {
        let Some(database) = self.database.clone() else {
            return self;
        };
        database.stop.cancel();
        drop(self);
        let writer = database.writer.lock().unwrap().take();
        if let Some(writer) = writer {
            writer.await.unwrap().unwrap();
        }
        Self::open(database.address.clone(), database.folder.clone()).await
    }
}

#[derive(Clone)]
pub struct Harness {
    pub store: TestStore,
    pub clock: Clock,
    pub inbox: Arc<Inbox>,
    pub runner: Arc<Runner>,
    pub mind: Arc<TestMind>,
    pub platform: Arc<TestPlatform>,
    pub next_message: Arc<AtomicUsize>,
    pub options: HarnessOptions,
}

impl Harness {
    pub async fn new(kept: TestStore) -> Self {
        let mind = Arc::new(TestMind::default());
        mind.script.set_default(PromptVerb::Judge, SILENCE);
        mind.script.set_default(PromptVerb::Reply, "Here I am.");
        let world =
            Self::from_parts(kept, Clock::manual(at(0)), mind, Arc::new(TestPlatform::default()));
        for channel in ["garden", "kitchen"] {
            let channel = new_channel(channel, Visibility::Public);
            world.inbox.hear(Heard::Channel(channel)).await.unwrap();
        }
        world
    }

    /// The parts around a store that may have been used before.
    pub fn from_parts(
        kept: TestStore,
        clock: Clock,
        mind: Arc<TestMind>,
        room: Arc<TestPlatform>,
    ) -> Self {
        *room.clock.lock().unwrap() = Some(clock.clone());
        let extras =
            HarnessOptions { archive: Some(kept.archive.clone()), ..HarnessOptions::default() };
        let (store, llm) = (kept.store.clone(), mind.clone());
        let (inbox, runner) = build_parts_with(store, clock.clone(), llm, room.clone(), extras);
        let (runner, next_line) = (Arc::new(runner), Arc::default());
        Self {
            store: kept,
            clock,
            inbox,
            runner,
            mind,
            platform: room,
            next_message: next_line,
            options: HarnessOptions::default(),
        }
    }

    /// The same world with more to it.
    pub fn with_options(self, extras: HarnessOptions) -> Self {
        let (store, clock) = (self.store.store.clone(), self.clock.clone());
        let (mind, room) = (self.mind.clone(), self.platform.clone());
        let archive = Some(self.store.archive.clone());
        let more = HarnessOptions { archive, ..extras.clone() };
        let (inbox, runner) = build_parts_with(store, clock, mind, room, more);
        for channel in ["garden", "kitchen"] {
            inbox.channel_cache.update_channel(&new_channel(channel, Visibility::Public));
        }
        Self { inbox, runner: Arc::new(runner), options: extras, ..self }
    }

    /// Restarts the process; platform, people and time go on, settings and orders stay.
    pub async fn restart(self) -> Self {
        let Self {
            store: kept,
            clock,
            mind,
            platform: room,
            next_message: next_line,
            inbox,
            runner,
            options: extras,
        } = self;
        drop((inbox, runner));
        let kept = kept.restart().await;
        let world = Self { next_message: next_line, ..Self::from_parts(kept, clock, mind, room) }
            .with_options(extras);
        for channel in world.store.archive.channels(&workspace()).await.unwrap() {
            world.inbox.channel_cache.update_channel(&channel);
        }
        let orders = world.store.store.orders(&workspace()).await.unwrap();
        world.inbox.channel_cache.replace_orders(&workspace(), &orders);
        world
    }

    /// A person orders something.
    pub async fn order(&self, order: Order) {
        self.inbox.apply_order(order).await.unwrap();
    }

    /// The pending step of a conversation.
    pub async fn step_of(&self, conversation: &ConversationId) -> Option<Step> {
        let steps = self.store.archive.pending_steps(&workspace()).await.unwrap();
        steps.into_iter().find(|step| step.event.conversation() == conversation)
    }

    /// Somebody says a line at the channel's top level. An `@` before the persona's name addresses it.
    pub async fn says(&self, who: &str, text: &str) -> MessageId {
        self.says_in(top_level("garden"), who, text).await
    }

    pub async fn after_5s_says(&self, who: &str, text: &str) {
        self.clock.advance_to(self.clock.now() + SignedDuration::from_secs(5));
        self.says(who, text).await;
    }

    pub async fn says_in(&self, conversation: ConversationId, who: &str, text: &str) -> MessageId {
        let number = self.next_message.fetch_add(1, Ordering::SeqCst);
        let line = message(conversation, &format!("m{number:03}"), self.clock.now(), who, text);
        let id = line.id.clone();
        let name = User {
            workspace: workspace(),
            id: line.author.id.clone(),
            name: who.into(),
            kind: line.author.kind,
            role: Role::Member,
        };
        self.inbox.hear(Heard::User(name)).await.unwrap();
        self.hear(line).await;
        id
    }

    pub async fn hear(&self, line: Message) -> HearReceipt {
        self.inbox.hear(Heard::Message(line, Arrival::Live)).await.unwrap()
    }

    pub async fn edits(&self, message: &MessageId, text: &str) {
        self.edits_in(top_level("garden"), message, text).await;
    }

    pub async fn edits_in(&self, conversation: ConversationId, message: &MessageId, text: &str) {
        let edit = Edit {
            conversation,
            message: message.clone(),
            at: self.clock.now(),
            text: text.into(),
            mentions: mentions(text),
        };
        self.inbox.hear(Heard::Edit(edit)).await.unwrap();
    }

    pub async fn deletes(&self, message: &MessageId) {
        let at = self.clock.now();
        let deletion = Deletion { conversation: top_level("garden"), message: message.clone(), at };
        self.inbox.hear(Heard::Deletion(deletion)).await.unwrap();
    }

    /// Time passes, and everything that falls due meanwhile is done.
    pub async fn pass(&self, seconds: i64) {
        let until = self.clock.now() + SignedDuration::from_secs(seconds);
        loop {
            while self.runner.step().await.unwrap() {}
            let step = self.store.store.next_ready().await.unwrap();
            let chore = self.store.store.next_memory_job().await.unwrap();
            match step.into_iter().chain(chore).min() {
                Some(next) if next <= until => self.clock.advance_to(next),
                Some(_) | None => break,
            }
        }
        self.clock.advance_to(until);
    }

    /// What people saw, then what the ledger says about it.
    pub async fn transcript(&self) -> String {
        let mut text = String::new();
        for line in self.messages("garden").await {
            let message = &line.message;
            let second = message.at.as_second() - START;
            let indent = if message.conversation.thread.is_some() { "  " } else { "" };
            let name = if message.author.kind == AuthorKind::Persona {
                "(persona)"
            } else {
                &line.author_name
            };
            let words = if line.is_deleted { "(deleted)" } else { &message.text };
            let _ = writeln!(text, "{second:>4}s {indent}{name}: {words}");
        }
        for row in self.decisions("garden").await {
            let ended = row.ended.map_or("open", |ended| ended.name());
            let gate = row.gate.map_or(String::new(), |gate| format!(" by {}", gate.name()));
            let attempts: Vec<String> = row
                .attempts
                .iter()
                .map(|attempt| format!("{} {}", attempt.verb, attempt.result.name()))
                .collect();
            let lines: Vec<&str> = row.messages.iter().map(MessageId::as_str).collect();
            let why = row.why.unwrap_or_default();
            let _ = writeln!(
                text,
                "[{}] {ended}{gate}: {why} ({})",
                lines.join(" "),
                attempts.join(", ")
            );
        }
        text
    }

    pub async fn messages(&self, channel: &str) -> Vec<aizuchi_core::store::StoredMessage> {
        let query = MessageQuery {
            workspace: workspace(),
            channel: ChannelId::new(channel),
            thread: None,
            range: MessageRange::Newest,
            limit: 1000,
        };
        self.store.archive.messages(query).await.unwrap()
    }

    pub async fn decisions(&self, channel: &str) -> Vec<aizuchi_core::decision::Decision> {
        let query = DecisionQuery::Channel {
            workspace: workspace(),
            channel: ChannelId::new(channel),
            limit: 1000,
        };
        self.store.archive.decisions(query).await.unwrap()
    }
}

/// Runs a test on every store: volatile, SQLite and PostgreSQL, each of them new. Returns what the test returned (of a
/// story, its transcript), which must be the same on every store.
pub async fn on_every_store<T: PartialEq + Debug>(test: impl AsyncFn(TestStore) -> T) -> T {
    let mut first = None;
    for kind in StoreKind::ALL {
        // Shown if the test fails, so that it is clear on which store.
        eprintln!("on the {kind:?} store:");
        let result = test(kind.open().await).await;
        match &first {
            None => first = Some(result),
            Some(first) => assert_eq!(&result, first, "the {kind:?} store differs"),
        }
    }
    first.expect("there are stores")
}

pub fn new_channel(channel: &str, visibility: Visibility) -> Channel {
    let id = ChannelId::new(channel);
    Channel { workspace: workspace(), id, name: channel.into(), visibility }
}

/// Ears and a runner around a store, a mind and a platform.
pub fn build_parts(
    store: Arc<dyn Store>,
    clock: Clock,
    llm: Arc<dyn Llm>,
    platform: Arc<dyn Platform>,
) -> (Arc<Inbox>, Runner) {
    build_parts_with(store, clock, llm, platform, HarnessOptions::default())
}

/// What not every story needs.
#[derive(Clone)]
pub struct HarnessOptions {
    pub settings: AgentSettings,
    pub wait_settings: WaitSettings,
    /// Who names states, where that is a call of its own.
    pub state: Option<Arc<dyn Llm>>,
    pub tools: Option<ToolSettings>,
    /// Who remembers, an hour after something was said.
    pub memory: Option<Arc<dyn Llm>>,
    pub language: Language,
    /// Where commands look things up; an empty one if nobody cares.
    pub archive: Option<Arc<dyn Archive>>,
}

impl Default for HarnessOptions {
    /// What the program does by default on a chat platform: the wait follows the channel's tempo, and unsolicited
    /// posts are timed as a user of the channel would time them.
    fn default() -> Self {
        Self {
            settings: AgentSettings { timing: PostTiming::HumanLike, ..AgentSettings::default() },
            wait_settings: WaitSettings::default(),
            archive: None,
            state: None,
            tools: None,
            memory: None,
            language: Language::En,
        }
    }
}

impl HarnessOptions {
    /// A fixed wait of 60 seconds without jitter, each new message of which starts it again, and posts at once.
    pub fn fixed_wait() -> Self {
        Self::default().with_fixed_wait()
    }

    /// The same with the wait and the timing of [`HarnessOptions::fixed_wait`].
    pub fn with_fixed_wait(mut self) -> Self {
        self.settings.timing = PostTiming::Immediate;
        self.wait_settings = WaitSettings {
            wait: WaitStrategy::Fixed,
            min_wait_seconds: 60.0,
            jitter_ratio: 0.0,
            ..WaitSettings::default()
        };
        self
    }

    /// These rules everywhere.
    pub fn from_rules(rules: ChannelRules) -> Self {
        Self::from_rulebook(Rulebook { default_rules: rules, ..Rulebook::default() })
    }

    pub fn from_rulebook(rulebook: Rulebook) -> Self {
        let settings = AgentSettings { rulebook: Arc::new(rulebook), ..AgentSettings::default() };
        Self { settings, ..Self::default() }
    }

    /// The state is named in a call of its own (seed 004).
    pub fn with_separate_state(mut self) -> Self {
        self.settings.state = StateCall::Separate;
        self
    }
}

/// The same, with more to it.
pub fn build_parts_with(
    store: Arc<dyn Store>,
    clock: Clock,
    llm: Arc<dyn Llm>,
    platform: Arc<dyn Platform>,
    extras: HarnessOptions,
) -> (Arc<Inbox>, Runner) {
    let under_way = Arc::new(InFlight::default());
    let metrics = Arc::new(Metrics::default());
    let rooms = Arc::new(ChannelCache::new(extras.settings.rulebook.clone()));
    let inbox = Inbox {
        store: store.clone(),
        channel_cache: rooms,
        redaction: Redaction::Drop,
        command_name: Some("Aizuchi".into()),
        is_announcing: true,
        in_flight: under_way.clone(),
        clock: clock.clone(),
        metrics: metrics.clone(),
        remember_delay: extras.memory.as_ref().map(|_| SignedDuration::from_hours(1)),
        wait_settings: extras.wait_settings,
        random_seed: 7,
    };
    let persona = Arc::new(Persona {
        name: "Aizuchi".to_owned(),
        system_prompt: "You are kind.".to_owned(),
        language: extras.language,
    });
    let answers = CommandReplies {
        store: store.clone(),
        archive: extras.archive.unwrap_or_else(|| Arc::new(VolatileStore::new())),
        rulebook: extras.settings.rulebook.clone(),
        persona: persona.clone(),
        zone: extras.settings.zone.clone(),
    };
    let agent = Agent {
        command_answers: Arc::new(answers),
        store,
        platforms: Platforms(HashMap::from([(workspace(), platform)])),
        minds: Minds {
            memory: mind(extras.memory.unwrap_or_else(|| llm.clone()), &persona),
            state: mind(extras.state.unwrap_or_else(|| llm.clone()), &persona),
            ..Minds::from_llm(llm, &persona)
        },
        clock,
        metrics,
        persona,
        prompt_builder: prompts(extras.language),
        token_corrections: Default::default(),
        state_cache: Default::default(),
        deferrals: aizuchi_core::agent::defer::Deferrals::default(),
        tools: extras.tools,
        settings: AgentSettings { wait: extras.wait_settings.wait, ..extras.settings },
        seed: 7,
    };
    let usual = runner::RunnerSettings::default();
    let lease = usual.lease.max(agent.settings.max_step_duration() + SignedDuration::from_secs(10));
    let runner = Runner::new(agent, under_way, runner::RunnerSettings { lease, ..usual }).unwrap();
    (Arc::new(inbox), runner)
}

/// What commands are answered with, where no channel has rules of its own.
pub fn answers(
    store: Arc<dyn Store>,
    archive: Arc<dyn Archive>,
    persona: &Arc<Persona>,
) -> Arc<CommandReplies> {
    let (rulebook, zone) = (Arc::default(), jiff::tz::TimeZone::UTC);
    Arc::new(CommandReplies { store, archive, rulebook, persona: persona.clone(), zone })
}

fn mind(llm: Arc<dyn Llm>, persona: &Arc<Persona>) -> agent::Mind {
    agent::Mind { llm, persona: persona.clone() }
}

pub fn message(
    conversation: ConversationId,
    id: &str,
    at: Timestamp,
    who: &str,
    text: &str,
) -> Message {
    let kind = if who.ends_with("bot") { AuthorKind::Bot } else { AuthorKind::Human };
    Message {
        conversation,
        id: MessageId::new(id),
        at,
        author: Author { id: UserId::new(format!("u-{who}")), kind },
        text: text.into(),
        mentions: mentions(text),
        edits: 0,
    }
}

fn mentions(text: &str) -> Vec<Mention> {
    let names = text.split_whitespace().filter_map(|word| word.strip_prefix('@'));
    let names = names.map(|name| name.trim_end_matches([',', '.', ':', '?', '!']));
    let of = |name: &str| match name {
        "Aizuchi" => Mention::Persona,
        name => Mention::User(UserId::new(format!("u-{name}"))),
    };
    names.map(of).collect()
}

/// Something that happens while a model thinks.
type Happening = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

/// A scripted mind during whose calls things may happen.
#[derive(Default)]
pub struct TestMind {
    pub script: ScriptedMind,
    happenings: Mutex<VecDeque<(PromptVerb, Happening)>>,
    asked: Mutex<Vec<Prompt>>,
    broken_by: Mutex<Option<String>>,
}

impl TestMind {
    /// During the next call for this verb, this happens.
    pub fn meanwhile<F>(&self, verb: PromptVerb, happening: impl FnOnce() -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let happening: Happening = Box::new(move || Box::pin(happening()));
        self.happenings.lock().unwrap().push_back((verb, happening));
    }

    /// Prompts that hold this are not answered.
    pub fn fail_on(&self, words: &str) {
        *self.broken_by.lock().unwrap() = Some(words.to_owned());
    }

    pub fn prompt_texts(&self, verb: PromptVerb) -> Vec<String> {
        self.prompts(verb).into_iter().map(|prompt| prompt.text).collect()
    }

    /// What it was asked for this verb, whole.
    pub fn prompts(&self, verb: PromptVerb) -> Vec<Prompt> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|prompt| prompt.verb == verb).cloned().collect()
    }

    /// Everything that it was asked, in order, and forgets it.
    pub fn calls(&self) -> Vec<Prompt> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    /// The same by verb alone: `state judge reply`.
    pub fn verbs(&self) -> String {
        let asked = self.asked.lock().unwrap();
        asked.iter().map(|prompt| prompt.verb.name()).collect::<Vec<_>>().join(" ")
    }
}

#[async_trait]
impl Llm for TestMind {
    fn model(&self) -> &str {
        "scripted"
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        self.asked.lock().unwrap().push(prompt.clone());
        let happening = {
            let mut happenings = self.happenings.lock().unwrap();
            let is_next = happenings.front().is_some_and(|(verb, _)| *verb == prompt.verb);
            if is_next { happenings.pop_front() } else { None }
        };
        let broken_by = self.broken_by.lock().unwrap().clone();
        if broken_by.is_some_and(|words| prompt.text.contains(&words)) {
            return Err(LlmError::Refused("broken".to_owned()));
        }
        if let Some((_, happening)) = happening {
            happening().await;
            // The agent sees first whether it was overtaken.
            tokio::task::yield_now().await;
        }
        self.script.ask(prompt).await
    }
}

/// How the platform treats the next post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    Busy,
    /// Others are said first.
    Queued,
    Refused,
    /// The answer is lost, but it was said.
    LostAnswer,
    /// The request is lost, and it was not said.
    LostRequest,
}

/// A platform with a history that can be asked for a key.
#[derive(Default)]
pub struct TestPlatform {
    pub posted: Mutex<Vec<(OutboxItem, PostedMessage)>>,
    pub faults: Mutex<VecDeque<Fault>>,
    pub calls: AtomicUsize,
    happenings: Mutex<VecDeque<Happening>>,
    clock: Mutex<Option<Clock>>,
    typing: Mutex<SignedDuration>,
    typings: AtomicUsize,
    is_behind: AtomicBool,
}

impl TestPlatform {
    /// What people have said lately may not have been heard.
    pub fn set_behind(&self, is_behind: bool) {
        self.is_behind.store(is_behind, Ordering::SeqCst);
    }

    /// From now on it types for so long.
    pub fn set_typing_seconds(&self, seconds: i64) {
        *self.typing.lock().unwrap() = SignedDuration::from_secs(seconds);
    }

    /// Returns when it has begun to type for so many times.
    pub async fn until_typing(&self, times: usize) {
        while self.typings.load(Ordering::SeqCst) < times {
            tokio::task::yield_now().await;
        }
    }

    /// During the next call, this happens.
    pub fn meanwhile<F>(&self, happening: impl FnOnce() -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.happenings.lock().unwrap().push_back(Box::new(move || Box::pin(happening())));
    }

    pub fn fails(&self, faults: &[Fault]) {
        self.faults.lock().unwrap().extend(faults);
    }

    pub fn posted_texts(&self) -> Vec<String> {
        self.posted.lock().unwrap().iter().map(|(piece, _)| piece.text.to_string()).collect()
    }
}

impl TestPlatform {
    pub fn posts_in(&self, conversation: &ConversationId) -> usize {
        let said = self.posted.lock().unwrap();
        said.iter().filter(|(piece, _)| piece.conversation == *conversation).count()
    }
}

/// The longest post of the world's platform, in characters.
pub const LONGEST_POST: usize = 90;
/// How long after a dispatch a piece that is not found was surely not said.
pub const SETTLE: SignedDuration = SignedDuration::from_secs(30);

#[async_trait]
impl Platform for TestPlatform {
    async fn post(&self, piece: &OutboxItem) -> Result<PostedMessage, PlatformError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let happening = self.happenings.lock().unwrap().pop_front();
        if let Some(happening) = happening {
            happening().await;
        }
        let at = self.clock.lock().unwrap().as_ref().unwrap().now();
        let fault = self.faults.lock().unwrap().pop_front();
        let mut said = self.posted.lock().unwrap();
        let id = MessageId::new(format!("p{:03}", said.len()));
        let posted = PostedMessage {
            id,
            thread: piece.conversation.thread.clone(),
            at,
            author: UserId::new("u-persona"),
        };
        match fault {
            Some(Fault::Busy) => {
                return Err(PlatformError::Busy { why: "slow down".to_owned(), retry_after: None });
            }
            Some(Fault::Queued) => {
                return Err(PlatformError::Queued { wait: SignedDuration::from_secs(2) });
            }
            Some(Fault::Refused) => {
                return Err(PlatformError::Refused("the channel is closed".to_owned()));
            }
            Some(Fault::LostRequest) => {
                return Err(PlatformError::OutcomeUnknown("cut off".to_owned()));
            }
            Some(Fault::LostAnswer | Fault::None) | None => {
                said.push((piece.clone(), posted.clone()))
            }
        }
        match fault {
            Some(Fault::LostAnswer) => Err(PlatformError::OutcomeUnknown("cut off".to_owned())),
            Some(_) | None => Ok(posted),
        }
    }

    async fn find_posted(
        &self,
        piece: &OutboxItem,
    ) -> Result<Option<PostedMessage>, PlatformError> {
        let said = self.posted.lock().unwrap();
        Ok(said.iter().find(|(other, _)| other.key == piece.key).map(|(_, posted)| posted.clone()))
    }

    async fn show_typing(&self, _piece: &OutboxItem) -> SignedDuration {
        self.typings.fetch_add(1, Ordering::SeqCst);
        *self.typing.lock().unwrap()
    }

    fn settle_time(&self) -> SignedDuration {
        SETTLE
    }

    fn is_behind(&self, _conversation: &ConversationId) -> bool {
        self.is_behind.load(Ordering::SeqCst)
    }

    fn max_post_length(&self) -> usize {
        LONGEST_POST
    }
}
