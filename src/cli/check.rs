//! `aizuchi check`: reports whether Aizuchi would start, one line for each requirement. It changes nothing.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use aizuchi_agent::forgetter::expires_before;
use aizuchi_agent::web_access::WebError;
use aizuchi_config::budget::describe_limits;
use aizuchi_config::file_permissions;
use aizuchi_config::models::agent_models::ResolvedModel;
use aizuchi_config::models::in_use::failure::{meant_settings, next_step};
use aizuchi_config::models::in_use::prompts::load_prompts_in;
use aizuchi_config::models::in_use::short_context;
use aizuchi_config::source::ConfigSource;
use aizuchi_config::{Config, LoadedConfig, ModelSelection};
use aizuchi_llm::Llm as _;
use aizuchi_llm::provider::ProviderMind;
use aizuchi_llm::provider::transcription::TranscriptionMind;
use aizuchi_model::chat::{local, strip_control_characters};
use aizuchi_model::clock::Clock;
use aizuchi_model::persona::Language;
use aizuchi_platform::local::INITIAL_CHANNELS;
use aizuchi_platform::remote::{PlatformCheck, ReachedChannels};
use aizuchi_store::archive::Archive as _;
use aizuchi_store::database::DatabaseStore;
use aizuchi_store::database::location::{DatabaseLocation, DatabaseStatus};
use aizuchi_store::read_only::ReadOnlyDatabase;
use aizuchi_store::{Cursors, StoreError};
use jiff::Timestamp;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::app;
use crate::cli::running::{ProgramClient, RunningProgram, UnknownConnections};
use crate::cli::{block_on, print};
use crate::mcp_servers;

/// The timeout for asking the process on a used port whether it is an Aizuchi.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// The agent whose model is checked in a different way from the others.
const TRANSCRIPTION: &str = "transcription";

/// The result of one check: a description, or the reason why Aizuchi would not start.
struct CheckResult {
    subject: &'static str,
    result: Result<String, String>,
}

pub fn run(source: &ConfigSource, selection: ModelSelection<'_>) -> anyhow::Result<ExitCode> {
    let results = block_on(async { anyhow::Ok(run_checks(source, selection).await) })?;
    let mut has_failed = false;
    for CheckResult { subject, result } in &results {
        has_failed |= result.is_err();
        let (mark, description) = match result {
            Ok(description) => ("ok  ", description),
            Err(reason) => ("FAIL", reason),
        };
        print(&format!("{mark}  {subject:<9} {description}"))?;
    }
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn run_checks(source: &ConfigSource, selection: ModelSelection<'_>) -> Vec<CheckResult> {
    let check = |subject, result| CheckResult { subject, result };
    let LoadedConfig { config, warnings, .. } = match source.load(selection) {
        Ok(loaded) => loaded,
        Err(error) => return vec![check("config", Err(format!("{error:#}")))],
    };
    let mut results = vec![check("config", Ok(source.describe(Language::En)))];
    results.extend(warnings.into_iter().map(|warning| check("note", Ok(warning))));
    let exposed = file_permissions::exposed_files(source.file(), &config.database_address());
    results.extend(exposed.into_iter().map(|exposed| check("note", Ok(exposed))));
    results.push(check("prompts", check_prompts(&config)));
    let rulebook = config.with_room_for_models().rulebook();
    results.push(check("limits", Ok(describe_limits(&rulebook, &config.models.currency.0))));
    let status = config.database_address().inspect().await;
    // Before the first start there is no database.
    let stored = ReadOnlyDatabase::open(&config.database_address()).await.ok();
    let stored = stored.map(ReadOnlyDatabase::into_store);
    // A process that uses this database also listens on its ports.
    let is_running = matches!(status, Ok(DatabaseStatus::InUse));
    let pages = check_port(config.http.listen.0, is_running).await;
    let is_ours = matches!(&pages, Ok(PortState::UsedByAizuchi));
    let running = match &stored {
        Some(stored) if is_running => {
            let found = ProgramClient::find(&config, stored).await.ok();
            found.map(|found| found.map(|(_, running)| running))
        }
        Some(_) | None => None,
    };
    results.push(check("database", check_database(&config, status, is_ours, running)));
    results.extend(note_expiring(&config).await.map(|note| check("note", Ok(note))));
    results.push(check("pages", pages.map(|port| port.describe(config.http.listen.0))));
    if let Some(port) = &config.health_check.port {
        let address = app::all_interfaces(port);
        let health = check_port(address, is_running).await;
        results.push(check("health", health.map(|port| port.describe(address))));
    }
    results.extend(check_platforms(&config, stored.as_ref()).await);
    results.extend(check_web_tools(&config).await);
    results.extend(check_mcp_servers(&config).await);
    results.extend(note_undescribed_pictures(&config).map(|note| check("note", Ok(note))));
    for (model, agents) in configured_models(&config) {
        let (result, note) = check_model(&config, &model, &agents).await;
        results.push(check("model", result));
        results.extend(note.map(|note| check("note", Ok(note))));
    }
    results
}

/// Checks access to each platform that the settings name, and to the channels that they name.
async fn check_platforms(config: &Config, stored: Option<&DatabaseStore>) -> Vec<CheckResult> {
    let cursors = stored.map(|stored| stored as &dyn Cursors);
    let (mut results, mut reached) = (Vec::new(), Vec::new());
    for connector in config.connectors() {
        let subject = connector.platform();
        let PlatformCheck { findings, channels } = connector.check(cursors).await;
        results.extend(findings.into_iter().map(|result| CheckResult { subject, result }));
        reached.push((subject, channels));
    }
    let local = match stored {
        Some(stored) => stored.channels(&local::workspace_id()).await.unwrap_or_default(),
        None => Vec::new(),
    };
    let is_local = |key: &str| {
        let name = key.strip_prefix('#');
        // These may not be stored yet.
        name.is_some_and(|name| INITIAL_CHANNELS.contains(&name))
            || local.iter().any(|it| name == Some(&*it.name) || *key == *it.id.0)
    };
    let named = config.channels.keys().map(|key| &*key.0).filter(|key| !is_local(key));
    results.extend(named.flat_map(|key| check_named_channel(key, &reached)));
    results
}

/// Reports a channel that the settings name and no bot takes part in, for each platform that may be meant.
fn check_named_channel(
    key: &str,
    reached: &[(&'static str, Option<ReachedChannels>)],
) -> Vec<CheckResult> {
    let known = reached.iter().map(|(name, channels)| Some((*name, channels.as_ref()?)));
    // A platform whose channels are not known may have it.
    let Some(mut known) = known.collect::<Option<Vec<_>>>() else { return Vec::new() };
    known.retain(|(_, channels)| (channels.may_name)(key));
    if known.is_empty() {
        let note = format!("the config names {key}, which no platform in the config has");
        return vec![CheckResult { subject: "note", result: Ok(note) }];
    }
    if known.iter().any(|(_, channels)| channels.contains(key)) {
        return Vec::new();
    }
    let missing = known.into_iter().map(|(subject, channels)| {
        let result = Err(format!("the config names {key}, {}", channels.otherwise));
        CheckResult { subject, result }
    });
    missing.collect()
}

/// Checks the enabled web tools. Without one there is no result.
async fn check_web_tools(config: &Config) -> Vec<CheckResult> {
    let check = |result| CheckResult { subject: "web", result };
    let tools = match config.web_tools(None) {
        Ok(tools) => tools,
        Err(error) => return vec![check(Err(format!("{error:#}")))],
    };
    let mut results = Vec::new();
    if let (Some(engine), Some(search)) = (&tools.search, &config.tools.web_search) {
        results.push(check(describe_web_tool(search.describe(), engine.check().await)));
    }
    if let (Some(reader), Some(fetch)) = (&tools.reader, &config.tools.web_fetch) {
        results.push(check(describe_web_tool(fetch.describe(), reader.check().await)));
    }
    results
}

/// Checks whether each of the operator's MCP servers answers, and which of its tools may be used.
async fn check_mcp_servers(config: &Config) -> Vec<CheckResult> {
    let mut results = Vec::new();
    for (name, server) in config.tools.mcp.used() {
        let checked = mcp_servers::check(name, server, &config.folder).await;
        let shown = |text: String| strip_control_characters(&text);
        results.push(CheckResult { subject: "mcp", result: checked.map(shown).map_err(shown) });
    }
    results
}

fn describe_web_tool(description: String, checked: Result<(), WebError>) -> Result<String, String> {
    match checked {
        Ok(()) => Ok(description),
        Err(error) => Err(format!("{description}: {error}")),
    }
}

fn check_prompts(config: &Config) -> Result<String, String> {
    let own = config.language.own();
    let is_used = |language: &Language| *language == own || config.is_bilingual();
    let languages = [Language::En, Language::Ja];
    for language in languages.into_iter().filter(is_used) {
        load_prompts_in(config, language).map_err(|error| format!("{error:#}"))?;
    }
    Ok(config.prompts_dir().map_or("built in".to_owned(), |folder| folder.display().to_string()))
}

fn check_database(
    config: &Config,
    status: Result<DatabaseStatus, StoreError>,
    is_ours: bool,
    running: Option<Result<RunningProgram, UnknownConnections>>,
) -> Result<String, String> {
    let address = config.database_address();
    match (status, running) {
        (Ok(DatabaseStatus::Missing), _) => Ok(format!("{address} will be created")),
        (Ok(DatabaseStatus::UpToDate), _) => Ok(address.to_string()),
        (Ok(DatabaseStatus::Outdated), _) => {
            Ok(format!("{address} will be brought up to date at the next start"))
        }
        (Ok(DatabaseStatus::InUse), Some(Ok(running))) => {
            Ok(format!("{address} is in use by a running Aizuchi, of version {}", running.version))
        }
        (Ok(DatabaseStatus::InUse), _) if is_ours => {
            Ok(format!("{address} is in use by a running Aizuchi"))
        }
        (Ok(DatabaseStatus::InUse), _) if matches!(address, DatabaseLocation::Postgres(_)) => {
            Ok(format!("another Aizuchi is active on {address}; this one would stand by"))
        }
        (Ok(DatabaseStatus::InUse), unknown) => {
            let why = unknown.and_then(Result::err).map(|unknown| format!(": {}", unknown.told));
            Err(format!(
                "{address} is in use by another Aizuchi, which does not answer{}",
                why.unwrap_or_default()
            ))
        }
        (Err(error), _) => Err(error.to_string()),
    }
}

/// Notes how many messages retention will erase for good because of their age.
async fn note_expiring(config: &Config) -> Option<String> {
    let before = expires_before(Timestamp::now(), config.message_retention()?);
    let day = before.strftime("%Y-%m-%d");
    let address = config.database_address();
    let count = match ReadOnlyDatabase::open(&address).await {
        Ok(stored) => stored.count_messages_before(before).await.ok()?,
        // Any other problem is reported by the check of the database.
        Err(_) if !matches!(address.inspect().await, Ok(DatabaseStatus::Outdated)) => return None,
        Err(_) => {
            return Some(format!(
                "retention.messages_days: all messages from before {day} are erased for good while Aizuchi runs; how many \
                 there are is not known before the database is brought up to date"
            ));
        }
    };
    let messages = if count == 1 { "1 message".to_owned() } else { format!("{count} messages") };
    let verb = if count == 1 { "is" } else { "are" };
    (count > 0).then(|| {
        format!("retention.messages_days: {messages} from before {day} {verb} erased for good while Aizuchi runs")
    })
}

/// Notes that no model gets pictures, though one may be able to see them.
fn note_undescribed_pictures(config: &Config) -> Option<String> {
    let minds = &config.minds;
    let is_model = minds.response.model.endpoint.is_some();
    (is_model && minds.vision.is_none()).then(|| {
        "pictures are not described: agents.vision names the model that does, and `vision: {}` uses the model of agents.response"
            .to_owned()
    })
}

/// A state of a port that allows a start.
enum PortState {
    Free,
    /// Used by the running Aizuchi with the same database.
    UsedByAizuchi,
}

impl PortState {
    fn describe(&self, address: SocketAddr) -> String {
        match self {
            PortState::Free => format!("{address} is free"),
            PortState::UsedByAizuchi => format!("{address} is served by a running Aizuchi"),
        }
    }
}

async fn check_port(address: SocketAddr, is_running: bool) -> Result<PortState, String> {
    match TcpListener::bind(address).await {
        Ok(_) => Ok(PortState::Free),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            match (is_aizuchi(address).await, is_running) {
                (true, true) => Ok(PortState::UsedByAizuchi),
                (true, false) => Err(format!(
                    "another Aizuchi, with a different database, is already listening on {address}"
                )),
                (false, _) => Err(format!("another program is already listening on {address}")),
            }
        }
        Err(error) => Err(format!("cannot listen on {address}: {error}")),
    }
}

/// Asks the process that listens at the address whether it is an Aizuchi.
async fn is_aizuchi(address: SocketAddr) -> bool {
    let ip =
        if address.ip().is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { address.ip() };
    let request = async {
        let mut stream = TcpStream::connect((ip, address.port())).await?;
        stream.write_all(b"GET /live HTTP/1.0\r\nHost: localhost\r\n\r\n").await?;
        let mut answer = Vec::new();
        stream.take(4096).read_to_end(&mut answer).await?;
        std::io::Result::Ok(answer)
    };
    let answer = tokio::time::timeout(PROBE_TIMEOUT, request).await;
    let answer = answer.ok().and_then(Result::ok).unwrap_or_default();
    String::from_utf8_lossy(&answer).contains(r#""status":"live""#)
}

/// Each configured model once, with the agents that use it, and its names in `models.named`.
fn configured_models(config: &Config) -> Vec<(ResolvedModel, Vec<&str>)> {
    let minds = &config.minds;
    // Default models of memory and state are not checked: only a model that the config names has to answer.
    let memory = config.agents.memory.as_ref().map(|_| ("memory", &minds.memory));
    let state = config.agents.state.as_ref().map(|_| ("state", &minds.state));
    let agents = [("response", &minds.response), ("judgment", &minds.judgment)];
    let vision = minds.vision.as_ref().map(|mind| ("vision", mind));
    let transcription = minds.transcription.as_ref().map(|mind| (TRANSCRIPTION, mind));
    let agents = agents.into_iter().chain(memory).chain(state).chain(vision).chain(transcription);
    let named = minds.named.iter().map(|(name, mind)| (name.as_str(), mind));
    let agents = agents.chain(named);
    let mut models: Vec<(ResolvedModel, Vec<&str>)> = Vec::new();
    for (agent, mind) in agents {
        for model in std::iter::once(&mind.model).chain(&mind.fallback) {
            let is_same = |(other, _): &&mut (ResolvedModel, Vec<_>)| {
                other.id == model.id && other.endpoint == model.endpoint
            };
            match models.iter_mut().find(is_same) {
                Some((_, agents)) => agents.push(agent),
                None => models.push((model.clone(), vec![agent])),
            }
        }
    }
    for (_, agents) in &mut models {
        agents.dedup();
    }
    models
}

/// Whether a model answers, and further notes about it.
async fn check_model(
    config: &Config,
    model: &ResolvedModel,
    agents: &[&str],
) -> (Result<String, String>, Option<String>) {
    let description = format!("{} ({})", model.id, agents.join(", "));
    let Some(settings) = model.settings() else { return (Ok(description), None) };
    let clock = Clock::system();
    let started = clock.now();
    if agents.contains(&TRANSCRIPTION) {
        let checked = match TranscriptionMind::new(&settings, clock.clone()) {
            Ok(mind) => mind.check().await.map_err(|error| error.to_string()),
            Err(error) => Err(format!("{error:#}")),
        };
        let seconds = clock.now().duration_since(started).as_secs_f64();
        return (checked.map(|_| format!("{description} answered in {seconds:.1} s")), None);
    }
    let mind = match ProviderMind::new(&settings, clock.clone()) {
        Ok(mind) => mind,
        Err(error) => return (Err(format!("{error:#}")), None),
    };
    if let Err(error) = mind.check().await {
        let problem = mind.problem();
        let mut step = problem.map(next_step).unwrap_or_default().to_owned();
        for settings in meant_settings(model, problem) {
            let Ok(mind) = ProviderMind::new(&settings, clock.clone()) else { continue };
            if mind.check().await.is_ok() {
                let meant = settings.api_base;
                step = format!("it answers at {meant}: set client_args.api_base to that");
                break;
            }
        }
        let base = model.endpoint.as_ref().map_or("", |endpoint| &endpoint.base);
        return (Err(format!("{error}; its address is {base}; {step}")), None);
    }
    let seconds = clock.now().duration_since(started).as_secs_f64();
    let refused = mind.refused_parameters();
    let refused: Vec<String> = refused.iter().map(|name| format!("params.{name}")).collect();
    let without = match refused.len() {
        0 => String::new(),
        _ => format!("; it does not accept {}, so this is left out", refused.join(", ")),
    };
    let longest = config.context.budget().max_tokens;
    let length = mind.context_length().await;
    let note = length.and_then(|length| short_context(length, longest));
    let note = note.map(|note| format!("{}: {note}", model.id));
    (Ok(format!("{description} answered in {seconds:.1} s{without}")), note)
}
