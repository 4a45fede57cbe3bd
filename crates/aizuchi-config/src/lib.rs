//! The config file: read and validated once at start, with errors that name the line. And the models that it names: built,
//! found on this machine, and replaced while the program runs. It decides nothing and starts nothing else.

pub mod secret;
pub mod schema;
pub mod known_keys;
mod suggestions;
pub mod problem;
pub mod environment;
mod syntax_tree;
mod expand_variables;
mod deserialize;
#[macro_use]
pub mod values;
pub mod language;
pub mod time_zone;
pub mod agents;
pub mod models;
pub mod vision;
pub mod transcription;
pub mod facilitator;
pub mod budget;
pub mod platforms;
pub mod channel_overrides;
pub mod overrides;
pub mod channels;
pub mod places;
pub mod response;
pub mod context;
pub mod storage;
mod secret_strength;
mod database;
pub mod http;
pub mod logging;
pub mod mcp;
pub mod tools;
pub mod env_file;
mod to_connectors;
mod to_secret_scanner;
mod to_web_tools;
mod to_rulebook;
mod to_agent;
mod checks;
mod ineffective_keys;
mod from_myao2;
mod channel_keys;
pub mod file_permissions;
pub mod source;
pub mod reload;
pub mod shown_settings;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aizuchi_llm::model_id::ModelId;
use aizuchi_model::input_file::{self, MAX_WRITTEN_BYTES};
use aizuchi_model::persona::Persona;
use aizuchi_model::rules::LanguageRule;
use aizuchi_store::database::location::DatabaseLocation;
use anyhow::Context as _;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::agents::AgentsConfig;
use crate::budget::BudgetConfig;
use crate::channels::ChannelKey;
use crate::context::ContextConfig;
use crate::environment::Environment;
use crate::facilitator::FacilitatorConfig;
use crate::from_myao2::ConfigOrigin;
use crate::http::{HealthCheckConfig, HttpConfig};
use crate::language::LanguageSetting;
use crate::logging::LoggingConfig;
use crate::models::ModelsConfig;
use crate::models::agent_models::ResolvedMinds;
use crate::models::saved_choice::judge_of;
use crate::models::sources::{Discover, ModelSources};
use crate::overrides::{ChannelConfig, PlaceOverrides};
use crate::platforms::{DiscordConfig, SlackConfig};
use crate::problem::ConfigProblem;
use crate::reload::Fingerprints;
use crate::response::{DecisionConfig, ResponseConfig};
use crate::shown_settings::{ConfigSetting, all_settings};
use crate::storage::{MemoryConfig, RetentionConfig, StorageConfig};
use crate::syntax_tree::ConfigNode;
use crate::time_zone::ZoneName;
use crate::tools::ToolsConfig;
use crate::transcription::TranscriptionConfig;
use crate::values::{ConfiguredUserId, DisplayName, FilePath};
use crate::vision::VisionConfig;

/// An example of every setting. It is a valid config itself.
pub const EXAMPLE: &str = include_str!("example.yaml");

/// The settings of Aizuchi. What is left out has its default.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Who the bot is.
    pub persona: PersonaConfig,
    /// The language of everything that people see: `en`, `ja` or `auto`. In the chat, `auto` answers in the language of
    /// the question, and otherwise uses the one that people write there.
    pub language: LanguageSetting,
    /// The time zone in prompts and of quiet hours: a name like `Asia/Tokyo`, or `UTC`. If omitted: the system's.
    pub timezone: Option<ZoneName>,
    /// A folder of prompt templates, relative to the config's folder. A file there replaces the built-in prompt of the
    /// same name.
    pub prompts_dir: Option<FilePath>,
    pub agents: AgentsConfig,
    /// Whether to look for model servers (Ollama, LM Studio, llama.cpp, vLLM) on this machine, and offer their models
    /// while the built-in rules are in use.
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
    /// Settings for all channels of a workspace, by the workspace's id as the console shows it, or of all workspaces of
    /// `slack` or `discord`. A channel's settings take precedence over those of its workspace, and those of one
    /// workspace over those of a platform.
    pub workspaces: BTreeMap<String, PlaceOverrides>,
    /// The ids of users who have opted out: their messages are not looked at.
    pub opted_out: Vec<ConfiguredUserId>,
    /// The models of all agents, resolved from `agents` and the environment.
    #[serde(skip)]
    pub minds: ResolvedMinds,
    /// The model that judges in operation, if none was resolved because none will be called. The default mode depends on
    /// it. `None` if it is that of `minds`.
    #[serde(skip)]
    pub unresolved_judge: Option<ModelId>,
    /// What the models were resolved from, besides the config's text.
    #[serde(skip)]
    pub model_sources: ModelSources,
    /// The folder that relative paths belong to: the file's, or the current one.
    #[serde(skip)]
    pub folder: PathBuf,
}

section! {
    /// Who the bot is.
    pub struct PersonaConfig {
        /// The bot's name in the chat.
        pub name: DisplayName = DisplayName("Aizuchi".to_owned()),
        /// Other words by which people call it, such as a short form of its name.
        pub also_called: Vec<DisplayName>,
        /// Who the bot is and how it speaks. Every prompt begins with this text.
        pub system_prompt: String,
    }
}

/// Which models to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelSelection<'a> {
    /// The models that `agents` names.
    Configured,
    /// This model for all agents. Its client arguments come from an agent with a model of the same provider, if the
    /// file has one.
    Override(&'a ModelId),
    /// This model for all agents, as a server on this machine offers it at `api_base`. `None` is the provider's own
    /// URL.
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
    /// Fingerprints of the values, to compare a later version of the file with this one.
    pub fingerprints: Fingerprints,
    /// All settings with their values, those of the file or the defaults, as they may be shown.
    pub settings: Vec<ConfigSetting>,
}

/// A config with its notices and the syntax tree that it was read from.
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
            let tree = ConfigNode::parse("")?;
            let resolved = config.resolve_minds(selection, &tree, &environment);
            environment.check_files()?;
            resolved.map_err(|problem| anyhow::anyhow!("{}", problem.format_in("--model")))?;
            config.model_sources.env_file = config.folder.join(".env");
            let fingerprints = Fingerprints::default();
            let settings = all_settings(&tree);
            return Ok(LoadedConfig { config, warnings: Vec::new(), fingerprints, settings });
        };
        let file_name = file.display().to_string();
        let text = input_file::read(file, MAX_WRITTEN_BYTES)
            .with_context(|| format!("the config file {file_name} cannot be read"))?;
        let text = String::from_utf8(text)
            .map_err(|_| anyhow::anyhow!("the config file {file_name} is not UTF-8 text"))?;
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

    /// Parses the settings of a demo. They come from no file, and a model's key comes from the environment.
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
        // A value file that cannot be read explains why the value is missing, so its error comes first.
        environment.check_files()?;
        let parsed = parsed.map_err(|problem| anyhow::anyhow!("{}", problem.format_in(file)))?;
        let warnings = parsed.notices.iter().map(|notice| notice.format_in(file)).collect();
        let fingerprints = Fingerprints::new(&parsed.tree);
        let settings = all_settings(&parsed.tree);
        Ok(LoadedConfig { config: parsed.config, warnings, fingerprints, settings })
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
        expand_variables::expand(&mut tree, environment)?;
        let origin = ConfigOrigin::find(&tree);
        let mut notices = ineffective_keys::take_ignored_keys(&mut tree);
        if origin == ConfigOrigin::Myao2 {
            notices.extend(ineffective_keys::take_unusable_tools(&mut tree));
        }
        if let Some(problem) = channel_keys::find_misplaced(&tree) {
            return Err(problem);
        }
        let mut config: Self = deserialize::deserialize(&tree)?;
        config.folder = folder.to_owned();
        config.check(&tree)?;
        if origin == ConfigOrigin::Myao2 {
            notices.extend(from_myao2::answer_health_checks(&mut config, &tree));
            notices.extend(from_myao2::describe_changes(&config, &tree));
        }
        // Must come after `answer_health_checks`, which may open myao2's health port on the port of the pages.
        notices.extend(config.move_pages_off_health_port(&tree));
        notices.extend(config.avoid_myao2_database(&tree));
        config.resolve_minds(selection, &tree, environment)?;
        notices.extend(ineffective_keys::find_idle_settings(&config, &tree));
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
        let judge = judge_of(&self.agents, environment);
        let is_unresolved = selection == ModelSelection::NoModel && judge != ModelId::Builtin;
        self.unresolved_judge = is_unresolved.then_some(judge);
        self.model_sources = ModelSources::new(selection, &self.agents, environment);
        Ok(())
    }

    /// Checks constraints that involve more than one setting.
    fn check(&self, tree: &ConfigNode) -> Result<(), ConfigProblem> {
        let location = |path: &[&str]| tree.location_of(path);
        let listen = self.http.listen.0;
        if !listen.ip().is_loopback() && !self.http.is_closed() {
            let sentence = "http.listen can be reached from other machines, so http.token must be \
                            set; without one, listen on 127.0.0.1";
            return Err(ConfigProblem::for_file(location(&["http", "listen"]), sentence));
        }
        let health = self.health_check.port.map(|port| port.0);
        // The default address gives way to the health check, see `move_pages_off_health_port`.
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

    /// Moves the pages to the next port if the health check uses theirs. Configs with such a health check predate the
    /// pages.
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

    /// The address of the pages for a browser on this machine. `None` if the port is chosen at each start.
    pub fn page_address(&self) -> Option<String> {
        let listen = self.http.listen.0;
        (listen.port() != 0).then(|| http::page_address(listen))
    }

    /// Resolves a path of the config against its folder.
    fn resolve(&self, path: &Path) -> PathBuf {
        // `components` drops a `.`, as in `./data`.
        self.folder.join(path).components().collect()
    }

    /// The folder with the operator's own prompt templates.
    pub fn prompts_dir(&self) -> Option<PathBuf> {
        self.prompts_dir.as_ref().map(|folder| self.resolve(&folder.0))
    }

    /// Whether conversations may have different languages.
    pub fn is_bilingual(&self) -> bool {
        !matches!(self.rulebook().common_language_rule(), Some(LanguageRule::Fixed(_)))
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

    /// Returns the config for a program in which a model may be chosen later.
    pub fn with_room_for_models(&self) -> Self {
        Self { budget: self.budget.with_room_for_models(), ..self.clone() }
    }

    /// How long messages are kept. `None` means forever.
    pub fn message_retention(&self) -> Option<SignedDuration> {
        Some(self.retention.messages_days?.days())
    }

    /// How long prompts and model responses are kept.
    pub fn prompt_retention(&self) -> SignedDuration {
        self.retention.prompts_days.days()
    }
}

impl PersonaConfig {
    pub fn also_called(&self) -> Vec<Arc<str>> {
        self.also_called.iter().map(|name| name.0.as_str().into()).collect()
    }
}
