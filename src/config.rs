//! The config file: read and validated once at start, with errors that name the line.

pub mod secret;
pub mod schema;
mod suggestions;
pub mod problem;
pub mod environment;
mod tree;
mod variables;
mod deserialize;
pub mod values;
pub mod language;
pub mod zone;
pub mod agents;
pub mod own_models;
pub mod models;
pub mod vision;
pub mod weekly_note;
pub mod transcription;
pub mod facilitator;
pub mod budget;
pub mod platforms;
pub mod channel_overrides;
pub mod channels;
pub mod response;
pub mod context;
pub mod storage;
mod guessing;
pub mod http;
pub mod logging;
pub mod mcp;
pub mod tools;
pub mod chosen;
pub mod minds;
pub mod env_file;
pub mod model_sources;
mod to_provider;
mod to_discord;
mod to_slack;
mod to_secret_scanner;
mod to_web_tools;
mod checks;
mod model_names;
mod notices;
mod from_myao2;
mod channel_keys;
pub mod exposure;
pub mod source;
pub mod reload;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::agents::AgentsConfig;
use crate::config::budget::{BudgetConfig, ModelCosts};
use crate::config::channels::{ChannelConfig, ChannelKey};
use crate::config::context::ContextConfig;
use crate::config::environment::Environment;
use crate::config::facilitator::FacilitatorConfig;
use crate::config::from_myao2::ConfigOrigin;
use crate::config::http::{HealthCheckConfig, HttpConfig};
use crate::config::language::LanguageSetting;
use crate::config::logging::LoggingConfig;
use crate::config::minds::ResolvedMinds;
use crate::config::model_sources::{Discover, ModelSources};
use crate::config::models::ModelsConfig;
use crate::config::platforms::{
    DiscordConfig, ResolvedDiscordConfig, ResolvedSlackConfig, SlackConfig,
};
use crate::config::problem::ConfigProblem;
use crate::config::reload::Fingerprints;
use crate::config::response::{DecisionConfig, ResponseConfig};
use crate::config::storage::{
    BackupConfig, MemoryConfig, RetentionConfig, StorageConfig, StorageUrl,
};
use crate::config::tools::ToolsConfig;
use crate::config::transcription::TranscriptionConfig;
use crate::config::tree::ConfigNode;
use crate::config::values::{ConfiguredUserId, DisplayName, FilePath};
use crate::config::vision::VisionConfig;
use crate::config::zone::ZoneName;
use aizuchi_core::agent::{self, remember};
use aizuchi_core::chat::UserId;
use aizuchi_core::clock::duration_from_seconds;
use aizuchi_core::context::ContextLimits;
use aizuchi_core::inbox::WaitSettings;
use aizuchi_core::llm::model::ModelId;
use aizuchi_core::llm::price::Prices;
use aizuchi_core::persona::Persona;
use aizuchi_core::platform::local::demo_channel;
use aizuchi_core::platform::remote::Connector;
use aizuchi_core::rhythm::WaitStrategy;
use aizuchi_core::rules::{ChannelRules, FacilitationRules, Mode, Rulebook};
use aizuchi_core::runner;
use aizuchi_core::store::database::location::DatabaseLocation;
use aizuchi_core::store::sqlite::myao2;
use aizuchi_discord::remote::DiscordConnector;
use aizuchi_slack::remote::SlackConnector;

/// An example of every setting. It is a valid config itself.
pub const EXAMPLE: &str = include_str!("config/example.yaml");

/// The default wait of the local room. It is short, so that a new user soon sees a decision.
const ROOM_WAIT_SECONDS: f64 = 12.0;
/// The wait in the channel where the demo is played. A minute has room for three decisions.
const DEMO_WAIT_SECONDS: f64 = 3.0;
/// By how much a lease exceeds the longest step.
const LEASE_SLACK: SignedDuration = SignedDuration::from_secs(30);

/// The settings of Aizuchi. What is left out has its default.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Who it is.
    pub persona: PersonaConfig,
    /// The language of everything that people see: `en`, `ja`, or `auto`, which in the chat is what people write there.
    pub language: LanguageSetting,
    /// Whose clock prompts show: a name like `Asia/Tokyo`, or `UTC`. If omitted: the system's.
    pub timezone: Option<ZoneName>,
    /// A folder of prompts, relative to the config's folder; a file there takes the place of the prompt of the same name.
    pub prompts_dir: Option<FilePath>,
    pub agents: AgentsConfig,
    /// Whether to look on this machine for programs that run models (Ollama, LM Studio, llama.cpp, vLLM), to offer
    /// theirs while the built-in rules are used.
    pub discover: Discover,
    pub models: ModelsConfig,
    pub vision: VisionConfig,
    pub transcription: TranscriptionConfig,
    pub response: ResponseConfig,
    pub decision: DecisionConfig,
    pub facilitator: FacilitatorConfig,
    pub budget: BudgetConfig,
    pub context: ContextConfig,
    pub storage: StorageConfig,
    pub memory: MemoryConfig,
    pub retention: RetentionConfig,
    pub http: HttpConfig,
    pub health_check: HealthCheckConfig,
    pub logging: LoggingConfig,
    /// A Slack workspace. If omitted: none.
    pub slack: Option<SlackConfig>,
    /// A Discord bot. If omitted: none.
    pub discord: Option<DiscordConfig>,
    pub tools: ToolsConfig,
    /// Settings for individual channels, by `"#name"` or by id.
    #[schemars(with = "BTreeMap<String, ChannelConfig>")]
    pub channels: BTreeMap<ChannelKey, ChannelConfig>,
    /// Users whose messages are not looked at, by id.
    pub opted_out: Vec<ConfiguredUserId>,
    /// The models of all agents, resolved from `agents` and the environment.
    #[serde(skip)]
    pub minds: ResolvedMinds,
    /// What the models were resolved from, besides the config's text.
    #[serde(skip)]
    pub model_sources: ModelSources,
    /// The folder that relative paths belong to: the file's, or the current one.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// Who it is.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PersonaConfig {
    /// Its name in the chat.
    pub name: DisplayName,
    /// Who it is and how it speaks. It comes first in every prompt.
    pub system_prompt: String,
}

/// Which models to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelSelection<'a> {
    /// The models that `agents` names.
    Configured,
    /// This model for all agents. Its client arguments come from an agent with a model of the same provider, if the
    /// file has one.
    Override(&'a ModelId),
    /// This model, which a server on this machine has at this base URL, for all agents. Without a URL it is the
    /// provider's own.
    Found { model: &'a ModelId, api_base: Option<&'a str> },
    /// No model will be called, so no API key is needed.
    NoModel,
}

/// A config and its warnings.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedConfig {
    pub config: Config,
    /// Warnings about keys that have no effect, each with its line.
    pub warnings: Vec<String>,
    /// By which a later version of the file is compared with this one.
    pub fingerprints: Fingerprints,
}

/// A config, what is to be said of it, and the keys and values that it was made from.
struct ParsedConfig {
    config: Config,
    notices: Vec<ConfigProblem>,
    tree: ConfigNode,
}

impl Config {
    /// Loads a file, or the defaults. Variables come from the process's environment, then from the `.env` file in the
    /// config's folder, or in the current folder if there is no config.
    pub fn load(
        file: Option<&Path>,
        selection: ModelSelection<'_>,
    ) -> anyhow::Result<LoadedConfig> {
        let current_folder = std::env::current_dir().context("cannot read the current folder")?;
        let Some(file) = file else {
            let environment = Environment::from_process(Path::new(""))?;
            let mut config = Self { folder: current_folder, ..Self::default() };
            let resolved = config.resolve_minds(selection, &ConfigNode::parse("")?, &environment);
            environment.check_files()?;
            resolved.map_err(|problem| anyhow::anyhow!("{}", problem.format_in("--model")))?;
            config.model_sources.env_file = config.folder.join(".env");
            let (warnings, fingerprints) = (Vec::new(), Fingerprints::default());
            return Ok(LoadedConfig { config, warnings, fingerprints });
        };
        let file_name = file.display().to_string();
        let text = std::fs::read(file)
            .with_context(|| format!("the config file {file_name} cannot be read"))?;
        let text = String::from_utf8(text)
            .map_err(|_| anyhow::anyhow!("the config file {file_name} is not text in UTF-8"))?;
        let folder = file.parent().unwrap_or(Path::new(""));
        let environment = Environment::from_process(folder)?;
        let folder = current_folder.join(folder);
        let mut loaded =
            Self::parse_with_warnings(&text, &file_name, &folder, &environment, selection)?;
        loaded.config.model_sources.env_file = folder.join(".env");
        Ok(loaded)
    }

    /// Parses a config without variables and without resolving models, for replays and tests.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let environment = Environment::default();
        let selection = ModelSelection::NoModel;
        Ok(Self::parse_with_notices(text, Path::new(""), &environment, selection)?.config)
    }

    /// The settings of a demo. No file has a part in them; a model's key comes from the environment.
    pub fn for_demo(text: &str, selection: ModelSelection<'_>) -> anyhow::Result<Self> {
        let environment = Environment::from_process(Path::new(""))?;
        let name = "the demo's settings";
        let folder = Path::new("");
        Ok(Self::parse_with_warnings(text, name, folder, &environment, selection)?.config)
    }

    /// Parses a config. Errors and warnings name the file.
    pub fn read(text: &str, file: &str, environment: &Environment) -> anyhow::Result<LoadedConfig> {
        let folder = Path::new("");
        Self::parse_with_warnings(text, file, folder, environment, ModelSelection::Configured)
    }

    fn parse_with_warnings(
        text: &str,
        file: &str,
        folder: &Path,
        environment: &Environment,
        selection: ModelSelection<'_>,
    ) -> anyhow::Result<LoadedConfig> {
        let parsed = Self::parse_with_notices(text, folder, environment, selection);
        // A value that cannot be read is why it is missing.
        environment.check_files()?;
        let parsed = parsed.map_err(|problem| anyhow::anyhow!("{}", problem.format_in(file)))?;
        let warnings = parsed.notices.iter().map(|notice| notice.format_in(file)).collect();
        let fingerprints = Fingerprints::new(&parsed.tree);
        Ok(LoadedConfig { config: parsed.config, warnings, fingerprints })
    }

    fn parse_with_notices(
        text: &str,
        folder: &Path,
        environment: &Environment,
        selection: ModelSelection<'_>,
    ) -> Result<ParsedConfig, ConfigProblem> {
        let commented = channel_keys::find_commented_names(text);
        let parsed = Self::parse_tree(text, folder, environment, selection);
        let mut parsed = parsed.map_err(|problem| problem.with_hint(&commented))?;
        parsed.notices.extend(commented);
        parsed
            .notices
            .sort_by_key(|notice| notice.location.map(|location| (location.line, location.column)));
        Ok(parsed)
    }

    fn parse_tree(
        text: &str,
        folder: &Path,
        environment: &Environment,
        selection: ModelSelection<'_>,
    ) -> Result<ParsedConfig, ConfigProblem> {
        let mut tree = ConfigNode::parse(text)?;
        variables::expand(&mut tree, environment)?;
        let origin = ConfigOrigin::find(&tree);
        let mut notices = notices::take_ignored_keys(&mut tree);
        if origin == ConfigOrigin::Myao2 {
            notices.extend(notices::take_unusable_tools(&mut tree));
        }
        let mut config: Self = deserialize::deserialize(&tree)?;
        config.folder = folder.to_owned();
        config.check(&tree)?;
        if origin == ConfigOrigin::Myao2 {
            notices.extend(from_myao2::answer_health_checks(&mut config, &tree));
            notices.extend(from_myao2::describe_changes(&config, &tree));
        }
        notices.extend(config.move_pages_off_health_port(&tree));
        notices.extend(config.avoid_myao2_database(&tree));
        config.resolve_minds(selection, &tree, environment)?;
        notices.extend(notices::find_idle_settings(&config, &tree));
        notices.extend(channel_keys::find_names_without_hash(&config, &tree));
        Ok(ParsedConfig { config, notices, tree })
    }

    /// Resolves the model of each agent.
    fn resolve_minds(
        &mut self,
        selection: ModelSelection<'_>,
        tree: &ConfigNode,
        environment: &Environment,
    ) -> Result<(), ConfigProblem> {
        self.minds = ResolvedMinds::resolve(self, tree, environment, selection)?;
        self.model_sources = ModelSources::new(selection, &self.agents, environment);
        Ok(())
    }

    /// Checks what involves more than one setting.
    fn check(&self, tree: &ConfigNode) -> Result<(), ConfigProblem> {
        let location = |path: &[&str]| tree.location_of(path);
        let listen = self.http.listen.0;
        if !listen.ip().is_loopback() && !self.http.is_closed() {
            let sentence = "http.listen can be reached from other machines, so http.token must be \
                            set; without one, listen on 127.0.0.1";
            return Err(ConfigProblem::for_file(location(&["http", "listen"]), sentence));
        }
        let health = self.health_check.port.map(|port| port.0);
        if location(&["http", "listen"]).is_some() && health == Some(u64::from(listen.port())) {
            let sentence =
                "health_check.port and http.listen name the same port; change one of them";
            return Err(ConfigProblem::for_file(location(&["health_check", "port"]), sentence));
        }
        if let (Some(url), Some(path)) = (&self.storage.url, &self.memory.database_path)
            && url.0 != DatabaseLocation::Sqlite(path.0.clone())
        {
            let sentence = "memory.database_path and storage.url name different places; keep \
                            storage.url";
            return Err(ConfigProblem::for_file(location(&["memory", "database_path"]), sentence));
        }
        checks::check(self, tree)
    }

    /// Moves the pages to the next port if the health check has theirs. Configs with such a health check are older than
    /// the pages.
    fn move_pages_off_health_port(&mut self, tree: &ConfigNode) -> Option<ConfigProblem> {
        let health = self.health_check.port?;
        let listen = &mut self.http.listen.0;
        if u64::from(listen.port()) != health.0 {
            return None;
        }
        listen.set_port(listen.port() + 1);
        let sentence = format!(
            "health_check.port takes the port {} from the pages, which are at {listen} instead; \
             http.listen can name another address",
            health.0
        );
        let entry = tree.find(&["health_check", "port"]);
        Some(ConfigProblem::for_file(entry.map(|entry| entry.key_location), sentence))
    }

    /// Uses another file beside it if the config names a database of myao2, which must stay as it is.
    fn avoid_myao2_database(&mut self, tree: &ConfigNode) -> Option<ConfigProblem> {
        let myao2_path = self.resolve(&self.memory.database_path.as_ref()?.0);
        if self.storage.url.is_some() || !myao2::is_at(&myao2_path) {
            return None;
        }
        let own = myao2_path.with_extension("aizuchi.db");
        let sentence = format!(
            "memory.database_path is a database of myao2, which stays as it is; {} is used instead, and \
             `aizuchi import {}` brings along what myao2 kept",
            own.display(),
            myao2_path.display()
        );
        self.storage.url = Some(StorageUrl(DatabaseLocation::Sqlite(own)));
        let entry = tree.find(&["memory", "database_path"]);
        Some(ConfigProblem::for_file(entry.map(|entry| entry.key_location), sentence))
    }

    /// The location of the database.
    pub fn database_address(&self) -> DatabaseLocation {
        self.locate(self.written_database())
    }

    /// The backups that are written while it runs, if any, and their folder.
    pub fn backup(&self) -> Option<(&BackupConfig, PathBuf)> {
        let backup = self.storage.backup.as_ref()?;
        Some((backup, self.resolve(&backup.folder.0)))
    }

    /// A location that someone wrote as `storage.url` is written: a path begins in the config's folder.
    pub fn locate(&self, location: DatabaseLocation) -> DatabaseLocation {
        match location {
            DatabaseLocation::Sqlite(path) => DatabaseLocation::Sqlite(self.resolve(&path)),
            server @ DatabaseLocation::Postgres(_) => server,
        }
    }

    /// Where a browser on this machine finds the pages. `None` if the port is chosen at each start.
    pub fn page_address(&self) -> Option<String> {
        let listen = self.http.listen.0;
        (listen.port() != 0).then(|| http::page_address(listen))
    }

    /// The location of the database as it is written: a path may be relative.
    fn written_database(&self) -> DatabaseLocation {
        let url = self.storage.url.as_ref().map(|url| url.0.clone());
        let path = self.memory.database_path.as_ref().map(|path| path.0.clone());
        url.unwrap_or_else(|| {
            DatabaseLocation::Sqlite(path.unwrap_or_else(|| PathBuf::from("data/aizuchi.db")))
        })
    }

    /// The database that a relative path means from the current folder, where earlier versions looked for it. Only if
    /// there is one, and none in the config's folder.
    fn former_database(&self) -> Option<PathBuf> {
        let DatabaseLocation::Sqlite(path) = self.written_database() else { return None };
        let former: PathBuf = std::env::current_dir().ok()?.join(&path).components().collect();
        (!self.resolve(&path).exists() && former.is_file()).then_some(former)
    }

    /// A path of the config, from the folder that it belongs to.
    fn resolve(&self, path: &Path) -> PathBuf {
        // The components are without `.`, as in `./data`.
        self.folder.join(path).components().collect()
    }

    /// The validated settings of the Slack workspace, if one is configured.
    pub fn resolved_slack(&self) -> Option<ResolvedSlackConfig> {
        self.slack.as_ref()?.resolve().ok()
    }

    /// The validated settings of the Discord bot, if one is configured.
    pub fn resolved_discord(&self) -> Option<ResolvedDiscordConfig> {
        let discord = self.discord.as_ref()?.resolve().ok()?;
        let channels = self.channels.iter();
        let channels =
            channels.filter_map(|(key, channel)| Some((key.0.clone(), channel.threads?)));
        Some(ResolvedDiscordConfig { channels: channels.collect(), ..discord })
    }

    /// The platforms that are configured.
    pub fn connectors(&self) -> Vec<Box<dyn Connector>> {
        let mut connectors: Vec<Box<dyn Connector>> = Vec::new();
        if let Some(slack) = self.resolved_slack() {
            let settings = slack.settings(self.channel_sync_interval());
            let configured_channels = self.channels.keys().map(|key| key.0.clone()).collect();
            connectors.push(Box::new(SlackConnector { settings, configured_channels }));
        }
        if let Some(discord) = self.resolved_discord() {
            let zone = self.time_zone_or(TimeZone::system());
            let settings = discord.settings(self.channel_sync_interval(), zone);
            let rulebook = Arc::new(self.rulebook());
            connectors.push(Box::new(DiscordConnector { settings, rulebook }));
        }
        connectors
    }

    /// The interval at which the channel list of a workspace is refreshed.
    pub fn channel_sync_interval(&self) -> SignedDuration {
        duration_from_seconds(self.response.channel_sync_interval_seconds.0)
    }

    /// The folder with the operator's own prompt templates.
    pub fn prompts_dir(&self) -> Option<PathBuf> {
        self.prompts_dir.as_ref().map(|folder| self.resolve(&folder.0))
    }

    /// Whether conversations may have different languages.
    pub fn is_bilingual(&self) -> bool {
        self.rulebook().has_language_rule()
    }

    /// The configured time zone, or the default.
    pub fn time_zone_or(&self, default: TimeZone) -> TimeZone {
        self.timezone.as_ref().map_or(default, |zone| zone.0.clone())
    }

    pub fn persona(&self) -> Arc<Persona> {
        Arc::new(Persona {
            name: self.persona.name.0.clone(),
            system_prompt: self.persona.system_prompt.clone(),
            language: self.language.own(),
        })
    }

    /// The wait before a judgment on chat platforms.
    pub fn wait_settings(&self) -> WaitSettings {
        self.wait_settings_with_default(WaitSettings::default().min_wait_seconds)
    }

    /// The wait before a judgment in the local room.
    pub fn room_wait_settings(&self) -> WaitSettings {
        self.wait_settings_with_default(ROOM_WAIT_SECONDS)
    }

    /// The wait before a judgment while the demo is played.
    pub fn demo_wait_settings(&self) -> WaitSettings {
        WaitSettings {
            wait: WaitStrategy::Adaptive,
            min_wait_floor_seconds: DEMO_WAIT_SECONDS,
            min_wait_seconds: DEMO_WAIT_SECONDS,
            ..self.room_wait_settings()
        }
    }

    /// The configured waits, with this minimum wait if none is configured.
    fn wait_settings_with_default(&self, default_wait: f64) -> WaitSettings {
        let max_wait_seconds = self.response.max_wait_seconds.0;
        let min_wait_seconds = self
            .response
            .min_wait_seconds
            .map_or(default_wait.min(max_wait_seconds), |wait| wait.0);
        WaitSettings {
            wait: self.response.wait,
            min_wait_floor_seconds: self.response.min_wait_floor_seconds.0,
            min_wait_seconds,
            jitter_ratio: self.response.jitter_ratio.0,
            max_wait_seconds: max_wait_seconds.max(min_wait_seconds),
            max_message_age_seconds: self.response.max_message_age_seconds.0,
        }
    }

    /// How long after a message was heard it is folded into memory.
    pub fn memory_delay(&self) -> SignedDuration {
        duration_from_seconds(self.memory.long_term_update_interval_seconds.0)
    }

    fn remember_settings(&self) -> remember::MemorySettings {
        let tokens = |tokens: u64| u32::try_from(tokens).unwrap_or(u32::MAX);
        let memory = &self.memory;
        let defaults = remember::MemorySettings::default();
        remember::MemorySettings {
            interval: self.memory_delay(),
            short_term_max_tokens: tokens(memory.short_term_summary_max_tokens.0),
            long_term_max_tokens: tokens(memory.long_term_summary_max_tokens.0),
            kept_versions: usize::try_from(memory.keep_versions.0).unwrap_or(usize::MAX),
            max_fold_tokens: defaults.max_fold_tokens.min(self.context.budget().max_tokens / 2),
        }
    }

    /// How many messages and memories a prompt holds.
    pub fn limits(&self) -> ContextLimits {
        let hours =
            |hours: u64| SignedDuration::from_hours(i64::try_from(hours).unwrap_or(i64::MAX));
        ContextLimits {
            channel_messages: usize::try_from(self.response.channel_messages_limit.0)
                .unwrap_or(usize::MAX),
            active_channel_age: hours(24 * self.response.active_channel_days.0),
            thread_memory_age: hours(24 * self.response.thread_memory_days.0),
            short_term_age: hours(self.memory.short_term_window_hours.0),
        }
    }

    /// The mode of channels that configure none. On chat platforms the built-in mind only answers mentions, because its
    /// rules are too simple to decide when to interrupt.
    fn default_mode(&self) -> Mode {
        self.default_mode_with(&self.minds.judgment.model.id)
    }

    /// The same for a channel that may have a judge of its own.
    fn default_mode_of(&self, channel: &ChannelConfig) -> Mode {
        let own = channel.model.as_ref().and_then(|own| own.rules().judgment);
        let own = own.and_then(|name| self.minds.named.get(&*name));
        own.map_or(self.default_mode(), |mind| self.default_mode_with(&mind.model.id))
    }

    fn default_mode_with(&self, judge: &ModelId) -> Mode {
        if (self.slack.is_some() || self.discord.is_some()) && *judge == ModelId::Builtin {
            Mode::MentionOnly
        } else {
            Mode::Companion
        }
    }

    /// The rules of each channel: its own settings on top of the defaults.
    pub fn rulebook(&self) -> Rulebook {
        let mut models = self.minds.models_in_use(self.decision.state);
        let costs = match models.all(|id| *id == ModelId::Builtin) {
            true => ModelCosts::Nothing,
            false => ModelCosts::Tokens,
        };
        self.rulebook_with(costs)
    }

    /// The same for models of this kind.
    pub fn rulebook_with(&self, costs: ModelCosts) -> Rulebook {
        let facilitation = self.facilitator.apply_to(&FacilitationRules::default());
        let limits = self.budget.channel_limits();
        let mut defaults = self.response.rules(self.default_mode(), facilitation, limits);
        defaults.language = self.language.default_rule();
        let channels = self.channels.iter().map(|(key, channel)| {
            let mode = self.response.mode.unwrap_or(self.default_mode_of(channel));
            let defaults = ChannelRules { mode, ..defaults.clone() };
            (key.0.clone(), channel.apply_to(&defaults))
        });
        Rulebook {
            channels: channels.collect(),
            default_rules: defaults,
            keeper: self.response.keeper.as_ref().map(ConfiguredUserId::user),
            workspace_limits: self.budget.limits(costs),
            answers_per_hour: self.budget.answers_per_person_per_hour.most(),
            judge_calls_per_hour: self.budget.judge_calls_per_person_per_hour.most(),
            calls_per_decision: self.budget.calls_per_decision.most(),
            soft_share: self.budget.soft_share.0,
            mention_share: self.budget.mention_share.0,
            opted_out: self.opted_out.iter().map(|id| UserId::new(id.0.as_str())).collect(),
            drafts_standing_orders: self.response.order_trial_micros() > 0,
            workspace_models: {
                let own = self.models.workspaces.iter();
                own.map(|(id, own)| (id.clone(), own.rules())).collect()
            },
        }
    }

    /// The same config for a program in which a model may be chosen later.
    pub fn with_room_for_models(&self) -> Self {
        Self { budget: self.budget.with_room_for_models(), ..self.clone() }
    }

    /// The rules with those of the demo's channel, where modes and hours from the settings do not hold. What may be spent
    /// there is as everywhere.
    pub fn app_rulebook(&self) -> Rulebook {
        let mut book = self.rulebook();
        let rules = ChannelRules {
            mode: Mode::Companion,
            quiet_hours: None,
            cooldown: SignedDuration::ZERO,
            max_share: ChannelRules::default().max_share,
            ..book.default_rules.clone()
        };
        book.channels.insert(demo_channel::channel_id().to_string(), rules);
        book
    }

    pub fn agent_settings(&self) -> agent::AgentSettings {
        agent::AgentSettings {
            gates: self.response.gates.iter().map(|gate| gate.gate()).collect(),
            rulebook: self.rulebook().into(),
            wait: self.response.wait,
            state: self.decision.state,
            limits: self.limits(),
            budget: self.context.budget(),
            zone: self.time_zone_or(TimeZone::system()),
            memory: self.remember_settings(),
            files: self.transcription.settings(self.vision.settings()),
            timing: self.response.timing(),
            max_delay_seconds: self.response.max_delay_seconds.0,
            proposal_lifetime: duration_from_seconds(self.response.proposal_seconds.0),
            prices: self.prices(),
            keeps_exchanges: self.retention.keeps_prompts(),
            secrets: self.secret_scanner(),
            link_hosts: self.response.link_hosts.iter().map(|host| host.0.clone()).collect(),
            model_timeout: self.longest_call(),
            ..agent::AgentSettings::default()
        }
    }

    /// What models cost: as the config says, or else as their providers list them.
    pub fn prices(&self) -> Prices {
        self.models.prices(&self.minds.models_elsewhere(self.decision.state))
    }

    /// How long a model call may take, also to a model that is chosen while the program runs.
    fn longest_call(&self) -> SignedDuration {
        let chosen = duration_from_seconds(self.models.timeout_seconds.0 as f64 + 1.0);
        self.minds.longest_call().max(chosen)
    }

    /// The runner's settings. The lease outlasts the longest possible step.
    pub fn runner_settings(&self) -> runner::RunnerSettings {
        let defaults = runner::RunnerSettings::default();
        let lease = defaults.lease.max(self.agent_settings().max_step_duration() + LEASE_SLACK);
        runner::RunnerSettings { lease, ..defaults }
    }

    /// How long messages are kept. `None`: for ever.
    pub fn message_retention(&self) -> Option<SignedDuration> {
        let days = i32::try_from(self.retention.messages_days?.0).unwrap_or(i32::MAX);
        Some(SignedDuration::from_hours(24) * days)
    }

    /// How long prompts and model responses are kept.
    pub fn prompt_retention(&self) -> SignedDuration {
        SignedDuration::from_hours(24)
            * i32::try_from(self.retention.prompts_days.0).unwrap_or(i32::MAX)
    }
}

impl Default for PersonaConfig {
    fn default() -> Self {
        Self { name: DisplayName("Aizuchi".to_owned()), system_prompt: String::new() }
    }
}
