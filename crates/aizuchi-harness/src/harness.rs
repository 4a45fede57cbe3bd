//! Everything around the agent that a test needs: any store, a scripted model, a manual clock and an in-memory
//! platform. A test drives it with messages and time, and compares the transcript, which is what users saw.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aizuchi_actions::command_replies::CommandReplies;
use aizuchi_actions::standing_order_trial::StandingOrderTrial;
use aizuchi_agent::agent::post_dispatches::Dispatches;
use aizuchi_agent::agent::tools::ToolSettings;
use aizuchi_agent::agent::user_rate_limit::UserRateLimit;
use aizuchi_agent::agent::{Agent, AgentSettings, Mind, Minds, StateCall};
use aizuchi_agent::documents::DocumentReader;
use aizuchi_agent::inbox::channel_cache::ChannelCache;
use aizuchi_agent::inbox::in_flight::InFlight;
use aizuchi_agent::inbox::{Inbox, Redaction, WaitSettings};
use aizuchi_agent::metrics::Metrics;
use aizuchi_agent::runner::{self, Runner};
use aizuchi_llm::Llm;
use aizuchi_llm::fallback::Models;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_llm::prompt::builder::PromptBuilder;
use aizuchi_model::chat::local;
use aizuchi_model::chat::{
    Arrival, AuthorKind, ChannelId, ConversationId, Deletion, Edit, Heard, Message, MessageId,
    Role, User, Visibility,
};
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::tolerance::WelcomeLabels;
use aizuchi_model::flow::step::Step;
use aizuchi_model::persona::{Language, Persona};
use aizuchi_model::platform::{Platform, Platforms};
use aizuchi_model::reloadable::Reloadable;
use aizuchi_model::rhythm::WaitStrategy;
use aizuchi_model::rules::{ChannelRules, LanguageRule, PostTiming, Rulebook};
use aizuchi_store::archive::Archive;
use aizuchi_store::order::Order;
use aizuchi_store::query::{DecisionQuery, MessageQuery, MessageRange};
use aizuchi_store::volatile::VolatileStore;
use aizuchi_store::{HearReceipt, Store};
use jiff::{SignedDuration, Timestamp};

use crate::fixtures::{SILENCE, START, at, mentions, message, new_channel, top_level, workspace};
use crate::test_mind::TestMind;
use crate::test_platform::TestPlatform;
use crate::test_store::TestStore;

/// The built-in prompt templates of a language.
pub fn prompts(language: Language) -> Arc<PromptBuilder> {
    Arc::new(PromptBuilder::load(language, None).unwrap())
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

    /// Rebuilds the inbox and the runner with these options.
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

    /// Restarts the process. The platform, the model and the clock continue; options and orders are kept.
    pub async fn restart(self) -> Self {
        let Self { store, clock, mind, platform, next_message, inbox, runner, options } = self;
        // The store can be reopened only when nothing holds it.
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
        steps.into_iter().find(|step| step.work.conversation() == conversation)
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
            zone: None,
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
            made_at: self.clock.now(),
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

    /// Advances the clock step by step, and handles everything that falls due in the meantime.
    pub async fn pass(&self, seconds: i64) {
        self.pass_until(self.clock.now() + SignedDuration::from_secs(seconds)).await;
    }

    /// Like [`Harness::pass`], until a time.
    pub async fn pass_until(&self, until: Timestamp) {
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
                .filter(|attempt| attempt.is_model_call())
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
    ) -> Vec<aizuchi_store::stored_message::StoredMessage> {
        let query = MessageQuery {
            workspace: workspace(),
            channel: ChannelId::new(channel),
            thread: None,
            range: MessageRange::Newest,
            limit: 1000,
        };
        self.store.archive.messages(query).await.unwrap()
    }

    pub async fn decisions(&self, channel: &str) -> Vec<aizuchi_model::decision::Decision> {
        let query = DecisionQuery::Channel {
            workspace: workspace(),
            channel: ChannelId::new(channel),
            limit: 1000,
        };
        self.store.archive.decisions(query).await.unwrap()
    }
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
    /// The model that judges and answers while the first one is unavailable.
    pub fallback: Option<Arc<dyn Llm>>,
    /// The model that names conversation states, if that is a separate call.
    pub state: Option<Arc<dyn Llm>>,
    /// The model that describes pictures.
    pub vision: Option<Arc<dyn Llm>>,
    /// The model that transcribes recordings.
    pub transcription: Option<Arc<dyn Llm>>,
    /// The reader of PDFs.
    pub documents: Option<Arc<dyn DocumentReader>>,
    pub tools: Option<ToolSettings>,
    pub welcome_labels: Arc<WelcomeLabels>,
    /// The model that updates memories, an hour after a message. Without one, nothing is remembered.
    pub memory: Option<Arc<dyn Llm>>,
    pub language: Language,
    /// The archive that command replies read. By default, an empty store.
    pub archive: Option<Arc<dyn Archive>>,
    /// The trial of drafts of orders.
    pub standing_order_trial: Option<Arc<dyn StandingOrderTrial>>,
    /// The models that channels and workspaces may have of their own.
    pub named: BTreeMap<String, Arc<dyn Llm>>,
    /// Whether the config leaves the platform out.
    pub lacks_platform: bool,
}

impl Default for HarnessOptions {
    /// The program's defaults on a chat platform: the wait follows the channel's tempo, and unsolicited posts are timed
    /// as a user of the channel would time them.
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
            welcome_labels: Arc::default(),
            memory: None,
            language: Language::En,
            standing_order_trial: None,
            named: BTreeMap::new(),
            lacks_platform: false,
        }
    }
}

impl HarnessOptions {
    /// Options with a fixed wait of 60 seconds without jitter, which each new message restarts, and with immediate
    /// posts.
    pub fn fixed_wait() -> Self {
        Self::default().with_fixed_wait()
    }

    /// Sets the wait and the timing of [`HarnessOptions::fixed_wait`].
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

    /// Names the conversation state in a separate call instead of the judge's.
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
    if options.language == Language::Ja {
        let mut book = (*options.settings.rulebook.read()).clone();
        book.default_rules.language = LanguageRule::Fixed(Language::Ja);
        options.settings.rulebook.replace(book);
    }
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
        also_called: Vec::new(),
        zone: options.settings.zone.clone(),
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
    let platforms = match options.lacks_platform {
        true => Platforms::default(),
        false => Platforms(HashMap::from([(workspace(), platform)]).into()),
    };
    let command_replies = CommandReplies {
        store: store.clone(),
        archive,
        rulebook: options.settings.rulebook.clone(),
        persona: persona.clone(),
        zone: options.settings.zone.clone(),
        admins_workspace: local::workspace_id(),
        standing_order_trial: options.standing_order_trial,
        platforms: platforms.clone(),
    };
    let no_persona = Persona { system_prompt: String::new(), ..(*persona).clone() };
    let mut agent = Agent {
        command_answers: Arc::new(command_replies),
        store,
        platforms,
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
        user_rate_limit: UserRateLimit::new(clock.clone()),
        clock,
        metrics,
        persona,
        prompt_builder: prompts(options.language).into(),
        welcome_labels: options.welcome_labels,
        token_corrections: Default::default(),
        state_cache: Default::default(),
        deferrals: aizuchi_agent::agent::backfill_deferral::Deferrals::default(),
        tools: options.tools,
        settings: AgentSettings { wait_settings: options.wait_settings, ..options.settings },
        seed: 7,
        documents: options.documents,
        translation: None,
        demo: None,
    };
    if options.language == Language::En {
        let prompts = PromptBuilder::load(Language::Ja, None).unwrap();
        let translation = agent.in_language(Language::Ja, prompts);
        agent.translation = Some(Box::new(translation));
    }
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
    let (rulebook, zone) = (Reloadable::default(), jiff::tz::TimeZone::UTC);
    Arc::new(CommandReplies {
        store,
        archive,
        rulebook,
        persona: persona.clone(),
        zone,
        admins_workspace: local::workspace_id(),
        standing_order_trial: None,
        platforms: Platforms::default(),
    })
}

/// The persona's own user on the test platform.
pub const PERSONA_USER_ID: &str = "u-persona";
