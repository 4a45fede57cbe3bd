//! Everything around the agent that a test needs: any store, a scripted model, a manual clock and an in-memory
//! platform. A test drives it with messages and time, and compares the transcript, which is what users saw.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::{Debug, Write as _};
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aizuchi_core::agent::dispatches::Dispatches;
use aizuchi_core::agent::tools::ToolSettings;
use aizuchi_core::agent::{Agent, AgentSettings, Mind, Minds, StateCall};
use aizuchi_core::chat::attachment::Attachment;
use aizuchi_core::chat::{
    Arrival, Author, AuthorKind, Channel, ChannelId, ConversationId, Deletion, Edit, Heard,
    Mention, Message, MessageId, Role, User, UserId, Visibility, WorkspaceId,
};
use aizuchi_core::clock::Clock;
use aizuchi_core::command::order_trial::OrderTrial;
use aizuchi_core::command::reply::CommandReplies;
use aizuchi_core::context::message_window::MessageWindow;
use aizuchi_core::context::{ContextLimits, ContextWindow};
use aizuchi_core::current::Current;
use aizuchi_core::decision::learned::LearnedGates;
use aizuchi_core::documents::DocumentReader;
use aizuchi_core::event::step::Step;
use aizuchi_core::event::{Debounce, OnNewMessage, OutboxItem, PostedMessage};
use aizuchi_core::inbox::channel_cache::ChannelCache;
use aizuchi_core::inbox::in_flight::InFlight;
use aizuchi_core::inbox::{Inbox, Redaction, WaitSettings};
use aizuchi_core::llm::fallback::Models;
use aizuchi_core::llm::scripted::ScriptedMind;
use aizuchi_core::llm::{Llm, LlmError, LlmResponse};
use aizuchi_core::metrics::Metrics;
use aizuchi_core::persona::{Language, Persona};
use aizuchi_core::platform::local;
use aizuchi_core::platform::{BackfillState, Platform, PlatformError, Platforms};
use aizuchi_core::prompt::builder::PromptBuilder;
use aizuchi_core::prompt::{Prompt, PromptVerb};
use aizuchi_core::rhythm::WaitStrategy;
use aizuchi_core::rules::{ChannelRules, PostTiming, Rulebook};
use aizuchi_core::runner::{self, Runner};
use aizuchi_core::store::archive::Archive;
use aizuchi_core::store::database::DatabaseStore;
use aizuchi_core::store::database::connection::{Connection, query};
use aizuchi_core::store::database::forget::ForgetReport;
use aizuchi_core::store::database::forget::job::{ForgetProgress, ForgettingJob};
use aizuchi_core::store::database::location::{DatabaseLocation, PostgresUrl};
use aizuchi_core::store::database::redaction::RedactionProgress;
use aizuchi_core::store::database::schema::migrate;
use aizuchi_core::store::database::writer::DatabaseWriter;
use aizuchi_core::store::order::Order;
use aizuchi_core::store::query::{DecisionQuery, MessageQuery, MessageRange};
use aizuchi_core::store::sqlite;
use aizuchi_core::store::uploads::Uploads;
use aizuchi_core::store::volatile::VolatileStore;
use aizuchi_core::store::{Cursors, HearReceipt, Store};
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

/// When each story starts: 2027-01-15 08:00:00 UTC, in seconds since 1970.
pub const START: i64 = 1_800_000_000;
pub const SILENCE: &str =
    r#"{"should_respond": false, "reason": "they get along", "confidence": 0.9}"#;
pub const JOIN: &str = r#"{"should_respond": true, "reason": "nobody answers", "confidence": 0.9, "delay_seconds": 0}"#;
pub const JOIN_IN_60: &str = r#"{"should_respond": true, "reason": "give them a minute", "confidence": 0.9, "delay_seconds": 60}"#;

/// A wait until `due` that each new message starts again.
pub fn until(due: Timestamp) -> Debounce {
    Debounce { due, max_wait: SignedDuration::MAX, on_new_message: OnNewMessage::Restart }
}

/// The built-in prompt templates of a language.
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

/// The default window at the start of a story, but with exactly this many of the newest messages.
pub fn window(messages: usize) -> ContextWindow {
    ContextWindow {
        messages: MessageWindow::exact(messages),
        thread_messages: MessageWindow::exact(messages.max(500)),
        ..ContextLimits::default().window(at(0))
    }
}

pub fn thread(channel: &str, parent: &str) -> ConversationId {
    ConversationId { thread: Some(MessageId::new(parent)), ..top_level(channel) }
}

/// How long a spawned process may take to `exec`.
const EXEC_TIMEOUT: Duration = Duration::from_secs(10);

/// The stores that the program has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    Volatile,
    Sqlite,
    Postgres,
}

impl StoreKind {
    pub const ALL: [Self; 3] = [Self::Volatile, Self::Sqlite, Self::Postgres];
    /// Those that keep memories and memos, and survive a restart.
    pub const DATABASES: [Self; 2] = [Self::Sqlite, Self::Postgres];

    /// A new, empty store.
    pub async fn open(self) -> TestStore {
        match self {
            Self::Volatile => TestStore::volatile(),
            Self::Sqlite => TestStore::sqlite().await,
            Self::Postgres => TestStore::postgres().await,
        }
    }
}

/// A store, and whatever must live as long as it.
#[derive(Clone)]
pub struct TestStore {
    pub store: Arc<dyn Store>,
    pub archive: Arc<dyn Archive>,
    pub cursors: Arc<dyn Cursors>,
    pub uploads: Arc<dyn Uploads>,
    pub database: Option<Arc<TestDatabase>>,
    /// The same as `store`, if that is a database.
    pub database_store: Option<Arc<DatabaseStore>>,
}

pub struct TestDatabase {
    pub address: DatabaseLocation,
    /// The folder of its file, where it is SQLite. It is deleted with the last clone.
    folder: Option<Arc<TempDir>>,
    stop: CancellationToken,
    writer: Mutex<Option<tokio::task::JoinHandle<anyhow::Result<()>>>>,
}

impl TestDatabase {
    /// The file of an SQLite database. Panics for PostgreSQL.
    pub fn path(&self) -> &Path {
        match &self.address {
            DatabaseLocation::Sqlite(path) => path,
            DatabaseLocation::Postgres(server) => panic!("{server} has no file"),
        }
    }

    /// Another connection to the database, which may write.
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

    /// The stored prompts and answers, compressed.
    pub async fn packed_exchanges(&self) -> Vec<Vec<u8>> {
        let mut connection = self.connect().await;
        let packed =
            query("SELECT packed FROM exchanges WHERE packed IS NOT NULL ORDER BY attempt");
        let rows = packed.fetch_all(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        rows.iter().map(|row| row.bytes("packed").unwrap().unwrap()).collect()
    }

    /// Deletes what the store knows of a user. The store must have been stopped.
    pub async fn forget(&self, name: &str) -> ForgetReport {
        let (store, writer) = self.address.open().await.unwrap();
        let stop = CancellationToken::new();
        let forgetting = async {
            let found = store.find_users(name).await.unwrap();
            assert_eq!(found.len(), 1, "{name} names one user");
            let forgotten = store.forget_user(&found[0], at(0)).await.unwrap();
            stop.cancel();
            forgotten
        };
        let (written, forgotten) = tokio::join!(writer.run(stop.clone()), forgetting);
        written.unwrap();
        forgotten
    }

    /// From now on no model call can be stored, so no step can be completed.
    pub async fn refuse_attempts(&self) {
        let mut connection = self.connect().await;
        let statements: &[&str] = match connection.is_postgres() {
            true => &[
                "CREATE FUNCTION refuse_attempts() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN RAISE EXCEPTION 'an outage'; END $$",
                "CREATE TRIGGER refuse_attempts BEFORE INSERT ON attempts
                    FOR EACH ROW EXECUTE FUNCTION refuse_attempts()",
            ],
            false => &["CREATE TRIGGER refuse_attempts BEFORE INSERT ON attempts
                BEGIN SELECT json_extract('not JSON', '$'); END"],
        };
        for statement in statements {
            query(statement).execute(&mut connection).await.unwrap();
        }
    }

    pub async fn accept_attempts(&self) {
        let mut connection = self.connect().await;
        let statement = match connection.is_postgres() {
            true => "DROP TRIGGER refuse_attempts ON attempts",
            false => "DROP TRIGGER refuse_attempts",
        };
        query(statement).execute(&mut connection).await.unwrap();
    }

    /// The column `n` of the only row that a statement returns.
    pub async fn count(&self, statement: &'static str) -> i64 {
        let row = query(statement).fetch_one(&mut self.connect().await).await.unwrap();
        row.number("n").unwrap().unwrap()
    }
}

impl TestStore {
    pub fn volatile() -> Self {
        Self::from_volatile(Arc::new(VolatileStore::new()))
    }

    fn from_volatile(store: Arc<VolatileStore>) -> Self {
        Self {
            store: store.clone(),
            archive: store.clone(),
            cursors: store.clone(),
            uploads: store,
            database: None,
            database_store: None,
        }
    }

    /// A volatile store with the installation id of a database, so that both mint the same keys.
    pub async fn volatile_of_same_installation(other: &Self) -> Self {
        let mut connection = other.database.as_ref().unwrap().connect().await;
        let row =
            query("SELECT installation FROM counters").fetch_one(&mut connection).await.unwrap();
        let installation = row.text("installation").unwrap().unwrap();
        Self::from_volatile(Arc::new(VolatileStore::with_installation(&installation)))
    }

    pub async fn sqlite() -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let path = folder.path().join("aizuchi.db");
        let mut file =
            File::options().create_new(true).write(true).mode(0o600).open(&path).unwrap();
        file.write_all(migrated_file().await).unwrap();
        Self::open(DatabaseLocation::Sqlite(path), Some(folder)).await
    }

    pub async fn postgres() -> Self {
        let server = PostgresUrl::parse(&crate::postgres::with_tables()).unwrap();
        Self::open(DatabaseLocation::Postgres(server), None).await
    }

    /// A database that is there already. It is not removed.
    pub async fn reopen(address: &DatabaseLocation) -> Self {
        Self::open(address.clone(), None).await
    }

    async fn open(address: DatabaseLocation, folder: Option<Arc<TempDir>>) -> Self {
        let (store, writer) = Self::opened(&address).await;
        let stop = CancellationToken::new();
        let writer = tokio::spawn(writer.run(stop.clone()));
        let store = Arc::new(store);
        let database = TestDatabase { address, folder, stop, writer: Mutex::new(Some(writer)) };
        Self {
            store: store.clone(),
            archive: store.clone(),
            cursors: store.clone(),
            uploads: store.clone(),
            database: Some(Arc::new(database)),
            database_store: Some(store),
        }
    }

    /// Opens a database, and retries while it is locked: a process that another test spawns inherits our open files
    /// and with them our lock, until it calls `exec`.
    async fn opened(address: &DatabaseLocation) -> (DatabaseStore, DatabaseWriter) {
        let started = Instant::now();
        loop {
            match address.open().await {
                Ok(opened) => return opened,
                Err(error) => {
                    let is_locked = error.to_string().contains("another Aizuchi is");
                    assert!(is_locked && started.elapsed() < EXEC_TIMEOUT, "{error}");
                }
            }
            tokio::task::yield_now().await;
        }
    }

    /// Takes all steps that forgetting users needs.
    /// Withholds and forgets all that users have ordered to be.
    pub async fn finish_forgetting(&self, now: Timestamp) {
        let Some(store) = &self.database_store else { return };
        while store.redact_next(now).await.unwrap() != RedactionProgress::Idle {}
        let mut job = ForgettingJob::default();
        while job.step(store, now).await.unwrap() != ForgetProgress::Idle {}
    }

    /// Stops the writer, as a process does that ends in order.
    pub async fn stop(self) {
        let Some(database) = self.database.clone() else { return };
        database.stop.cancel();
        let writer = database.writer.lock().unwrap().take();
        writer.unwrap().await.unwrap().unwrap();
    }

    /// Stops the store and opens it again, as a restarted process does. A volatile store stays as it is.
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

/// A new SQLite database with all tables: a copy of one that was migrated once.
async fn migrated_file() -> &'static [u8] {
    static FILE: OnceCell<Vec<u8>> = OnceCell::const_new();
    let make = || async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("aizuchi.db");
        let (mut connection, lock) = sqlite::connect(&path).await.unwrap();
        migrate("the template", sqlite::MIGRATIONS, &mut connection).await.unwrap();
        // The last connection moves everything out of the log.
        connection.close().await.unwrap();
        drop(lock);
        std::fs::read(&path).unwrap()
    };
    FILE.get_or_init(make).await
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
    pub async fn new(store: TestStore) -> Self {
        let mind = Arc::new(TestMind::default());
        mind.script.set_default(PromptVerb::Judge, SILENCE);
        mind.script.set_default(PromptVerb::Reply, "Here I am.");
        let harness =
            Self::from_parts(store, Clock::manual(at(0)), mind, Arc::new(TestPlatform::default()));
        for channel in ["garden", "kitchen"] {
            let channel = new_channel(channel, Visibility::Public);
            harness.inbox.hear(Heard::Channel(channel)).await.unwrap();
        }
        harness
    }

    /// Builds the inbox and the runner around a store, which may have been used before.
    pub fn from_parts(
        store: TestStore,
        clock: Clock,
        mind: Arc<TestMind>,
        platform: Arc<TestPlatform>,
    ) -> Self {
        *platform.clock.lock().unwrap() = Some(clock.clone());
        let options = HarnessOptions::default();
        let parts = HarnessOptions { archive: Some(store.archive.clone()), ..options.clone() };
        let (inbox, runner) = build_parts_with(
            store.store.clone(),
            clock.clone(),
            mind.clone(),
            platform.clone(),
            parts,
        );
        let (runner, next_message) = (Arc::new(runner), Arc::default());
        Self { store, clock, inbox, runner, mind, platform, next_message, options }
    }

    /// Builds the inbox and the runner anew, with these options.
    pub fn with_options(self, options: HarnessOptions) -> Self {
        let (store, clock) = (self.store.store.clone(), self.clock.clone());
        let (mind, platform) = (self.mind.clone(), self.platform.clone());
        let archive = Some(self.store.archive.clone());
        let parts = HarnessOptions { archive, ..options.clone() };
        let (inbox, runner) = build_parts_with(store, clock, mind, platform, parts);
        for channel in ["garden", "kitchen"] {
            inbox.channel_cache.update_channel(&new_channel(channel, Visibility::Public));
        }
        Self { inbox, runner: Arc::new(runner), options, ..self }
    }

    /// Restarts the process. The platform, the model and the clock go on; options and orders are kept.
    pub async fn restart(self) -> Self {
        let Self { store, clock, mind, platform, next_message, inbox, runner, options } = self;
        // The store is opened again only once nothing holds it.
        drop((inbox, runner));
        let store = store.restart().await;
        let restarted = Self::from_parts(store, clock, mind, platform);
        let harness = Self { next_message, ..restarted }.with_options(options);
        harness.inbox.load_workspace(&*harness.store.archive, &workspace()).await.unwrap();
        harness
    }

    /// A user gives an order.
    pub async fn order(&self, order: Order) {
        self.inbox.apply_order(order).await.unwrap();
        self.store.finish_forgetting(self.clock.now()).await;
    }

    /// The pending step of a conversation.
    pub async fn step_of(&self, conversation: &ConversationId) -> Option<Step> {
        let steps = self.store.archive.pending_steps(&workspace()).await.unwrap();
        steps.into_iter().find(|step| step.event.conversation() == conversation)
    }

    /// A user posts a message at the top level of `garden`. `@Aizuchi` mentions the persona, `@bob` mentions bob.
    pub async fn says(&self, name: &str, text: &str) -> MessageId {
        self.says_in(top_level("garden"), name, text).await
    }

    pub async fn after_5s_says(&self, name: &str, text: &str) {
        self.clock.advance_to(self.clock.now() + SignedDuration::from_secs(5));
        self.says(name, text).await;
    }

    pub async fn says_in(&self, conversation: ConversationId, name: &str, text: &str) -> MessageId {
        let number = self.next_message.fetch_add(1, Ordering::SeqCst);
        let message = message(conversation, &format!("m{number:03}"), self.clock.now(), name, text);
        let id = message.id.clone();
        let user = User {
            workspace: workspace(),
            id: message.author.id.clone(),
            name: name.into(),
            kind: message.author.kind,
            role: Role::Member,
        };
        self.inbox.hear(Heard::User(user)).await.unwrap();
        self.hear(message).await;
        id
    }

    pub async fn hear(&self, message: Message) -> HearReceipt {
        self.inbox.hear(Heard::Message(message, Arrival::Live)).await.unwrap()
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
            attachments: None,
        };
        self.inbox.hear(Heard::Edit(edit)).await.unwrap();
    }

    pub async fn deletes(&self, message: &MessageId) {
        let at = self.clock.now();
        let deletion = Deletion { conversation: top_level("garden"), message: message.clone(), at };
        self.inbox.hear(Heard::Deletion(deletion)).await.unwrap();
    }

    /// Advances the clock, step by step, and handles everything that falls due meanwhile.
    pub async fn pass(&self, seconds: i64) {
        let until = self.clock.now() + SignedDuration::from_secs(seconds);
        self.store.finish_forgetting(self.clock.now()).await;
        loop {
            while self.runner.step().await.unwrap() {}
            let step = self.store.store.next_ready().await.unwrap();
            let memory_job = self.store.store.next_memory_job().await.unwrap();
            match step.into_iter().chain(memory_job).min() {
                Some(next) if next <= until => self.clock.advance_to(next),
                Some(_) | None => break,
            }
        }
        self.clock.advance_to(until);
    }

    /// What users saw in `garden`, followed by what the ledger says about it.
    pub async fn transcript(&self) -> String {
        let mut text = String::new();
        for stored in self.messages("garden").await {
            let message = &stored.message;
            let second = message.at.as_second() - START;
            let indent = if message.conversation.thread.is_some() { "  " } else { "" };
            let name = if message.author.kind == AuthorKind::Persona {
                "(persona)"
            } else {
                &stored.author_name
            };
            let shown = if stored.is_deleted { "(deleted)" } else { &message.text };
            let _ = writeln!(text, "{second:>4}s {indent}{name}: {shown}");
        }
        for row in self.decisions("garden").await {
            let ended = row.ended.map_or("open", |ended| ended.name());
            let gate = row.gate.map_or(String::new(), |gate| format!(" by {}", gate.name()));
            let attempts: Vec<String> = row
                .attempts
                .iter()
                .map(|attempt| format!("{} {}", attempt.verb, attempt.result.name()))
                .collect();
            let messages: Vec<&str> = row.messages.iter().map(MessageId::as_str).collect();
            let why = row.why.unwrap_or_default();
            let _ = writeln!(
                text,
                "[{}] {ended}{gate}: {why} ({})",
                messages.join(" "),
                attempts.join(", ")
            );
        }
        text
    }

    pub async fn messages(
        &self,
        channel: &str,
    ) -> Vec<aizuchi_core::store::stored_message::StoredMessage> {
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
    on_stores(&StoreKind::ALL, test).await
}

/// The same on SQLite and PostgreSQL alone, for what the volatile store does not keep.
pub async fn on_every_database<T: PartialEq + Debug>(test: impl AsyncFn(TestStore) -> T) -> T {
    on_stores(&StoreKind::DATABASES, test).await
}

async fn on_stores<T: PartialEq + Debug>(
    kinds: &[StoreKind],
    test: impl AsyncFn(TestStore) -> T,
) -> T {
    let mut first = None;
    for kind in kinds {
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

/// An inbox and a runner around a store, a model and a platform, with the default options.
pub fn build_parts(
    store: Arc<dyn Store>,
    clock: Clock,
    llm: Arc<dyn Llm>,
    platform: Arc<dyn Platform>,
) -> (Arc<Inbox>, Runner) {
    build_parts_with(store, clock, llm, platform, HarnessOptions::default())
}

/// What a test may change about its harness.
#[derive(Clone)]
pub struct HarnessOptions {
    pub settings: AgentSettings,
    pub wait_settings: WaitSettings,
    /// The model that judges and answers, instead of the scripted one.
    pub llm: Option<Arc<dyn Llm>>,
    /// The model that judges and answers while the first one is down.
    pub fallback: Option<Arc<dyn Llm>>,
    /// The model that names conversation states, where that is a call of its own.
    pub state: Option<Arc<dyn Llm>>,
    /// The model that describes pictures.
    pub vision: Option<Arc<dyn Llm>>,
    /// The model that hears recordings.
    pub transcription: Option<Arc<dyn Llm>>,
    /// What reads PDFs.
    pub documents: Option<Arc<dyn DocumentReader>>,
    pub tools: Option<ToolSettings>,
    /// The gates that were learned.
    pub learned_gates: Arc<LearnedGates>,
    /// The model that remembers, an hour after a message. Without one, nothing is remembered.
    pub memory: Option<Arc<dyn Llm>>,
    pub language: Language,
    /// Where command replies look things up. By default, an empty store.
    pub archive: Option<Arc<dyn Archive>>,
    /// What tries the drafts of orders.
    pub order_trial: Option<Arc<dyn OrderTrial>>,
    /// The models that channels and workspaces may have of their own.
    pub named: BTreeMap<String, Arc<dyn Llm>>,
}

impl Default for HarnessOptions {
    /// What the program does by default on a chat platform: the wait follows the channel's tempo, and unsolicited
    /// posts are timed as a user of the channel would time them.
    fn default() -> Self {
        Self {
            settings: AgentSettings { timing: PostTiming::HumanLike, ..AgentSettings::default() },
            wait_settings: WaitSettings::default(),
            archive: None,
            llm: None,
            fallback: None,
            state: None,
            vision: None,
            transcription: None,
            documents: None,
            tools: None,
            learned_gates: Arc::default(),
            memory: None,
            language: Language::En,
            order_trial: None,
            named: BTreeMap::new(),
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

    /// The defaults, with these rules in every channel.
    pub fn from_rules(rules: ChannelRules) -> Self {
        Self::from_rulebook(Rulebook { default_rules: rules, ..Rulebook::default() })
    }

    pub fn from_rulebook(rulebook: Rulebook) -> Self {
        let settings = AgentSettings { rulebook: rulebook.into(), ..AgentSettings::default() };
        Self { settings, ..Self::default() }
    }

    /// The conversation state is named in a call of its own, not in the judge's.
    pub fn with_separate_state(mut self) -> Self {
        self.settings.state = StateCall::Separate;
        self
    }
}

/// An inbox and a runner around a store, a model and a platform.
pub fn build_parts_with(
    store: Arc<dyn Store>,
    clock: Clock,
    llm: Arc<dyn Llm>,
    platform: Arc<dyn Platform>,
    options: HarnessOptions,
) -> (Arc<Inbox>, Runner) {
    let llm = options.llm.unwrap_or(llm);
    let in_flight = Arc::new(InFlight::default());
    let metrics = Arc::new(Metrics::default());
    let channel_cache = Arc::new(ChannelCache::new(options.settings.rulebook.clone()));
    let archive = options.archive.unwrap_or_else(|| Arc::new(VolatileStore::new()));
    let inbox = Inbox {
        store: store.clone(),
        archive: archive.clone(),
        channel_cache: channel_cache.clone(),
        redaction: Redaction::Drop,
        persona_name: Some("Aizuchi".into()),
        is_announcing: true,
        in_flight: in_flight.clone(),
        clock: clock.clone(),
        metrics: metrics.clone(),
        remember_delay: options.memory.as_ref().map(|_| SignedDuration::from_hours(1)),
        wait_settings: options.wait_settings,
        random_seed: 7,
    };
    let persona = Arc::new(Persona {
        name: "Aizuchi".to_owned(),
        system_prompt: "You are kind.".to_owned(),
        language: options.language,
    });
    let command_replies = CommandReplies {
        store: store.clone(),
        archive,
        rulebook: options.settings.rulebook.clone(),
        persona: persona.clone(),
        zone: options.settings.zone.clone(),
        admins_workspace: local::workspace_id(),
        order_trial: options.order_trial,
    };
    let no_persona = Persona { system_prompt: String::new(), ..(*persona).clone() };
    let agent = Agent {
        command_answers: Arc::new(command_replies),
        store,
        platforms: Platforms(HashMap::from([(workspace(), platform)])),
        minds: Minds {
            memory: Mind::from_llm(options.memory.unwrap_or_else(|| llm.clone()), &persona),
            state: Mind::from_llm(options.state.unwrap_or_else(|| llm.clone()), &persona),
            vision: options.vision.map(|llm| Mind::from_llm(llm, &Arc::new(no_persona.clone()))),
            transcription: options
                .transcription
                .map(|llm| Mind::from_llm(llm, &Arc::new(no_persona.clone()))),
            named: {
                let named = options.named.into_iter();
                named.map(|(name, llm)| (name, Arc::new(Models::new(llm, None)))).collect()
            },
            ..Minds::from_models(Arc::new(Models::new(llm, options.fallback)), &persona)
        },
        dispatches: Dispatches::new(clock.clone()),
        clock,
        metrics,
        persona,
        prompt_builder: prompts(options.language).into(),
        learned_gates: options.learned_gates,
        token_corrections: Default::default(),
        state_cache: Default::default(),
        deferrals: aizuchi_core::agent::defer::Deferrals::default(),
        tools: options.tools,
        settings: AgentSettings { wait: options.wait_settings.wait, ..options.settings },
        seed: 7,
        documents: options.documents,
        translation: None,
        demo: None,
    };
    let settings = runner::RunnerSettings::default();
    // The lease must outlast the longest step.
    let lease =
        settings.lease.max(agent.settings.max_step_duration() + SignedDuration::from_secs(10));
    let runner =
        Runner::new(agent, in_flight, channel_cache, runner::RunnerSettings { lease, ..settings })
            .unwrap();
    (Arc::new(inbox), runner)
}

/// Command replies for an installation in which no channel has rules of its own.
pub fn answers(
    store: Arc<dyn Store>,
    archive: Arc<dyn Archive>,
    persona: &Arc<Persona>,
) -> Arc<CommandReplies> {
    let (rulebook, zone) = (Current::default(), jiff::tz::TimeZone::UTC);
    Arc::new(CommandReplies {
        store,
        archive,
        rulebook,
        persona: persona.clone(),
        zone,
        admins_workspace: local::workspace_id(),
        order_trial: None,
    })
}

pub fn message(
    conversation: ConversationId,
    id: &str,
    at: Timestamp,
    name: &str,
    text: &str,
) -> Message {
    let kind = if name.ends_with("bot") { AuthorKind::Bot } else { AuthorKind::Human };
    Message {
        conversation,
        id: MessageId::new(id),
        at,
        author: Author { id: UserId::new(format!("u-{name}")), kind },
        text: text.into(),
        mentions: mentions(text),
        attachments: Vec::new(),
        edits: 0,
    }
}

/// The users whom a text mentions as `@name`, and `@Aizuchi`.
pub fn mentions(text: &str) -> Vec<Mention> {
    let names = text.split_whitespace().filter_map(|word| word.strip_prefix('@'));
    let names = names.map(|name| name.trim_end_matches([',', '.', ':', '?', '!']));
    let of = |name: &str| match name {
        "Aizuchi" => Mention::Persona,
        name => Mention::User(UserId::new(format!("u-{name}"))),
    };
    names.filter(|name| *name != "everyone").map(of).collect()
}

/// What a test does during a call.
type Interruption = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

/// A scripted model that records its prompts, and during whose calls a test may act.
#[derive(Default)]
pub struct TestMind {
    pub script: ScriptedMind,
    interruptions: Mutex<VecDeque<(PromptVerb, Interruption)>>,
    recorded: Mutex<Vec<Prompt>>,
    refused_text: Mutex<Option<String>>,
}

impl TestMind {
    /// Runs this during the next call for this verb, before it is answered.
    pub fn meanwhile<F>(&self, verb: PromptVerb, interruption: impl FnOnce() -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let interruption: Interruption = Box::new(move || Box::pin(interruption()));
        self.interruptions.lock().unwrap().push_back((verb, interruption));
    }

    /// Refuses prompts that contain this text.
    pub fn fail_on(&self, text: &str) {
        *self.refused_text.lock().unwrap() = Some(text.to_owned());
    }

    pub fn prompt_texts(&self, verb: PromptVerb) -> Vec<String> {
        self.prompts(verb).into_iter().map(|prompt| prompt.text).collect()
    }

    /// The prompts for this verb.
    pub fn prompts(&self, verb: PromptVerb) -> Vec<Prompt> {
        let recorded = self.recorded.lock().unwrap();
        recorded.iter().filter(|prompt| prompt.verb == verb).cloned().collect()
    }

    /// Takes all recorded prompts, in order.
    pub fn calls(&self) -> Vec<Prompt> {
        std::mem::take(&mut self.recorded.lock().unwrap())
    }

    /// The verbs of all recorded prompts: `state judge reply`.
    pub fn verbs(&self) -> String {
        let recorded = self.recorded.lock().unwrap();
        recorded.iter().map(|prompt| prompt.verb.name()).collect::<Vec<_>>().join(" ")
    }
}

#[async_trait]
impl Llm for TestMind {
    fn model(&self) -> &str {
        "scripted"
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        self.recorded.lock().unwrap().push(prompt.clone());
        let interruption = {
            let mut interruptions = self.interruptions.lock().unwrap();
            let is_next = interruptions.front().is_some_and(|(verb, _)| *verb == prompt.verb);
            if is_next { interruptions.pop_front() } else { None }
        };
        let refused_text = self.refused_text.lock().unwrap().clone();
        if refused_text.is_some_and(|text| prompt.text.contains(&text)) {
            return Err(LlmError::Refused("broken".to_owned()));
        }
        if let Some((_, interruption)) = interruption {
            interruption().await;
            // Lets the agent notice first whether its work was superseded.
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
    /// Other posts go first.
    Queued,
    Refused,
    /// The response is lost, but the message was posted.
    LostAnswer,
    /// The request is lost, and the message was not posted.
    LostRequest,
}

/// A platform in memory, whose history can be searched for a post's key.
#[derive(Default)]
pub struct TestPlatform {
    pub posted: Mutex<Vec<(OutboxItem, PostedMessage)>>,
    pub faults: Mutex<VecDeque<Fault>>,
    pub calls: AtomicUsize,
    interruptions: Mutex<VecDeque<Interruption>>,
    clock: Mutex<Option<Clock>>,
    typing: Mutex<SignedDuration>,
    typings: AtomicUsize,
    backfill_state: Mutex<BackfillState>,
    longest_post: Mutex<Option<usize>>,
    is_history_hidden: AtomicBool,
    /// The contents of files, by id, and the ids of those that were asked for.
    pub files: Mutex<HashMap<String, Vec<u8>>>,
    pub fetched: Mutex<Vec<String>>,
}

impl TestPlatform {
    /// Whether recent messages may not have been heard yet.
    pub fn set_backfill_state(&self, state: BackfillState) {
        *self.backfill_state.lock().unwrap() = state;
    }

    /// From now on, each post is preceded by this much typing.
    /// In characters, from now on.
    pub fn set_longest_post(&self, characters: usize) {
        *self.longest_post.lock().unwrap() = Some(characters);
    }

    pub fn set_typing_seconds(&self, seconds: i64) {
        *self.typing.lock().unwrap() = SignedDuration::from_secs(seconds);
    }

    /// Returns once typing has begun this many times.
    pub async fn until_typing(&self, times: usize) {
        while self.typings.load(Ordering::SeqCst) < times {
            tokio::task::yield_now().await;
        }
    }

    /// Runs this during the next call to post.
    pub fn meanwhile<F>(&self, interruption: impl FnOnce() -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.interruptions.lock().unwrap().push_back(Box::new(move || Box::pin(interruption())));
    }

    /// Whether posts can be found in the history, from now on.
    pub fn set_history_hidden(&self, is_hidden: bool) {
        self.is_history_hidden.store(is_hidden, Ordering::SeqCst);
    }

    pub fn fails(&self, faults: &[Fault]) {
        self.faults.lock().unwrap().extend(faults);
    }

    pub fn posted_texts(&self) -> Vec<String> {
        self.posted.lock().unwrap().iter().map(|(item, _)| item.text.to_string()).collect()
    }

    pub fn posts_in(&self, conversation: &ConversationId) -> usize {
        let posted = self.posted.lock().unwrap();
        posted.iter().filter(|(item, _)| item.conversation == *conversation).count()
    }
}

/// The persona's own user on the test platform.
pub const PERSONA_USER_ID: &str = "u-persona";
/// The longest post of the test platform, in characters.
pub const LONGEST_POST: usize = 90;
/// How long after a call an item that is not in the history was surely not posted.
pub const SETTLE: SignedDuration = SignedDuration::from_secs(30);

#[async_trait]
impl Platform for TestPlatform {
    async fn post(&self, item: &OutboxItem) -> Result<PostedMessage, PlatformError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let interruption = self.interruptions.lock().unwrap().pop_front();
        if let Some(interruption) = interruption {
            interruption().await;
        }
        let at = self.clock.lock().unwrap().as_ref().unwrap().now();
        let fault = self.faults.lock().unwrap().pop_front();
        let mut history = self.posted.lock().unwrap();
        let id = MessageId::new(format!("p{:03}", history.len()));
        let posted = PostedMessage {
            id,
            thread: item.conversation.thread.clone(),
            at,
            author: UserId::new(PERSONA_USER_ID),
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
                history.push((item.clone(), posted.clone()))
            }
        }
        match fault {
            Some(Fault::LostAnswer) => Err(PlatformError::OutcomeUnknown("cut off".to_owned())),
            Some(_) | None => Ok(posted),
        }
    }

    async fn find_posted(&self, item: &OutboxItem) -> Result<Option<PostedMessage>, PlatformError> {
        if self.is_history_hidden.load(Ordering::SeqCst) {
            return Err(PlatformError::Busy { why: "later".to_owned(), retry_after: None });
        }
        let posted = self.posted.lock().unwrap();
        Ok(posted.iter().find(|(other, _)| other.key == item.key).map(|(_, post)| post.clone()))
    }

    async fn show_typing(&self, _item: &OutboxItem) -> SignedDuration {
        self.typings.fetch_add(1, Ordering::SeqCst);
        *self.typing.lock().unwrap()
    }

    fn settle_time(&self) -> SignedDuration {
        SETTLE
    }

    fn backfill_state(&self, _conversation: &ConversationId) -> BackfillState {
        *self.backfill_state.lock().unwrap()
    }

    async fn fetch_file(
        &self,
        _message: &Message,
        attachment: &Attachment,
        max_bytes: usize,
    ) -> Result<Vec<u8>, PlatformError> {
        self.fetched.lock().unwrap().push(attachment.id.to_string());
        let found = self.files.lock().unwrap().get(&*attachment.id).cloned();
        let found = found.filter(|bytes| bytes.len() <= max_bytes);
        found.ok_or_else(|| PlatformError::Refused("there is no such file".to_owned()))
    }

    fn own_user(&self) -> Option<UserId> {
        Some(UserId::new(PERSONA_USER_ID))
    }

    fn max_post_length(&self) -> usize {
        self.longest_post.lock().unwrap().unwrap_or(LONGEST_POST)
    }
}
