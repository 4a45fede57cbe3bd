//! `check`: would it run? One line for each thing that it needs, and nothing is changed.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use jiff::tz::TimeZone;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::app;
use crate::cli::print;
use crate::config::minds::ResolvedModel;
use crate::config::{Config, LoadedConfig, ModelSelection};
use aizuchi_core::clock::Clock;
use aizuchi_core::llm::provider::ProviderMind;
use aizuchi_core::store::database::location::{DatabaseLocation, DatabaseStatus};
use aizuchi_core::store::database::read_only::ReadOnlyDatabase;
use aizuchi_core::store::{Archive, StoreError};
use aizuchi_discord::diagnose::diagnose as examine_discord;
use aizuchi_slack::diagnose::diagnose as examine_slack;

/// How long somebody who listens on our port may take to say whether it is one of us.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// What was found out, and whether it stands in the way.
struct CheckResult {
    subject: &'static str,
    result: Result<String, String>,
}

pub fn run(file: Option<&Path>, thinkers: ModelSelection<'_>) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Runtime::new()?;
    let findings = runtime.block_on(run_checks(file, thinkers));
    let mut has_failed = false;
    for CheckResult { subject: what, result: told } in &findings {
        has_failed |= told.is_err();
        let (mark, told) = match told {
            Ok(told) => ("ok  ", told),
            Err(told) => ("FAIL", told),
        };
        print(&format!("{mark}  {what:<9} {told}"))?;
    }
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn run_checks(file: Option<&Path>, thinkers: ModelSelection<'_>) -> Vec<CheckResult> {
    let finding = |what, told| CheckResult { subject: what, result: told };
    let LoadedConfig { config, warnings } = match Config::load(file, thinkers) {
        Ok(loaded) => loaded,
        Err(error) => return vec![finding("config", Err(format!("{error:#}")))],
    };
    let shown = file.map_or("no file; everything has its default".to_owned(), |file| {
        file.display().to_string()
    });
    let mut findings = vec![finding("config", Ok(shown))];
    findings.extend(warnings.into_iter().map(|warning| finding("note", Ok(warning))));
    findings.push(finding("prompts", check_prompts(&config)));
    let found = config.database_address().inspect().await;
    // One that runs on this database holds its ports as well.
    let is_running = matches!(found, Ok(DatabaseStatus::InUse));
    let pages = check_port(config.http.listen.0, is_running).await;
    let is_ours = matches!(&pages, Ok(PortState::UsedByAizuchi));
    findings.push(finding("database", check_database(&config, found, is_ours)));
    findings.push(finding("pages", pages.map(|port| port.describe(config.http.listen.0))));
    if let Some(health) = &config.health_check.port {
        let address = app::all_interfaces(health);
        let told = check_port(address, is_running).await.map(|port| port.describe(address));
        findings.push(finding("health", told));
    }
    findings.extend(check_slack(&config).await);
    findings.extend(check_discord(&config).await);
    for (model, agents) in configured_models(&config) {
        findings.push(finding("model", check_model(&model, &agents).await));
    }
    findings
}

/// What stands between us and the Slack workspace, if there is to be one.
async fn check_slack(config: &Config) -> Vec<CheckResult> {
    let Some(settings) = config.resolved_slack() else { return Vec::new() };
    let settings = settings.settings(config.channel_sync_interval());
    // Before the first start there is nothing to look into.
    let kept = ReadOnlyDatabase::open(&config.database_address())
        .await
        .ok()
        .map(ReadOnlyDatabase::into_store);
    let kept = kept.as_ref().map(|kept| kept as &dyn Archive);
    let named: Vec<String> = config.channels.keys().map(|key| key.0.clone()).collect();
    let told = examine_slack(&settings, &named, kept).await;
    told.into_iter().map(|told| CheckResult { subject: "slack", result: told }).collect()
}

/// What stands between us and Discord, if it is to live there.
async fn check_discord(config: &Config) -> Vec<CheckResult> {
    let Some(settings) = config.resolved_discord() else { return Vec::new() };
    let settings =
        settings.settings(config.channel_sync_interval(), config.time_zone_or(TimeZone::system()));
    let told = examine_discord(&settings, &config.rulebook()).await;
    told.into_iter().map(|told| CheckResult { subject: "discord", result: told }).collect()
}

fn check_prompts(config: &Config) -> Result<String, String> {
    app::load_prompts(config).map_err(|error| format!("{error:#}"))?;
    Ok(config.prompts_dir().map_or("built in".to_owned(), |folder| folder.display().to_string()))
}

fn check_database(
    config: &Config,
    found: Result<DatabaseStatus, StoreError>,
    is_ours: bool,
) -> Result<String, String> {
    let shown = config.database_address();
    match found {
        Ok(DatabaseStatus::Missing) => Ok(format!("{shown} will be created")),
        Ok(DatabaseStatus::UpToDate) => Ok(shown.to_string()),
        Ok(DatabaseStatus::Outdated) => {
            Ok(format!("{shown} will be brought up to date at the next start"))
        }
        Ok(DatabaseStatus::InUse) if is_ours => {
            Ok(format!("{shown} is in use by an Aizuchi that runs"))
        }
        Ok(DatabaseStatus::InUse) if matches!(shown, DatabaseLocation::Postgres(_)) => {
            Ok(format!("another Aizuchi is active on {shown}; this one would stand by"))
        }
        Ok(DatabaseStatus::InUse) => {
            Err(format!("{shown} is in use by an Aizuchi that runs with other settings"))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// A port that would do.
enum PortState {
    Free,
    /// By the Aizuchi that runs on our database.
    UsedByAizuchi,
}

impl PortState {
    fn describe(&self, address: SocketAddr) -> String {
        match self {
            PortState::Free => format!("{address} is free"),
            PortState::UsedByAizuchi => format!("{address} is served by an Aizuchi that runs"),
        }
    }
}

async fn check_port(address: SocketAddr, is_running: bool) -> Result<PortState, String> {
    match TcpListener::bind(address).await {
        Ok(_) => Ok(PortState::Free),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            match (is_aizuchi(address).await, is_running) {
                (true, true) => Ok(PortState::UsedByAizuchi),
                (true, false) => {
                    Err(format!("an Aizuchi with another database listens on {address}"))
                }
                (false, _) => Err(format!("another program listens on {address}")),
            }
        }
        Err(error) => Err(format!("cannot listen on {address}: {error}")),
    }
}

/// Asks whoever listens there whether it is one of us.
async fn is_aizuchi(address: SocketAddr) -> bool {
    let ip =
        if address.ip().is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { address.ip() };
    let ask = async {
        let mut stream = TcpStream::connect((ip, address.port())).await?;
        stream.write_all(b"GET /live HTTP/1.0\r\nHost: localhost\r\n\r\n").await?;
        let mut answer = Vec::new();
        stream.take(4096).read_to_end(&mut answer).await?;
        std::io::Result::Ok(answer)
    };
    let answer = tokio::time::timeout(PROBE_TIMEOUT, ask).await;
    let answer = answer.ok().and_then(Result::ok).unwrap_or_default();
    String::from_utf8_lossy(&answer).contains(r#""status":"live""#)
}

/// Every model that is configured, once, with the agents that it serves.
fn configured_models(config: &Config) -> Vec<(ResolvedModel, Vec<&'static str>)> {
    let minds = &config.minds;
    // Nobody asks the last two yet, so they matter only to those who have named them.
    let memory = config.agents.memory.as_ref().map(|_| ("memory", &minds.memory));
    let state = config.agents.state.as_ref().map(|_| ("state", &minds.state));
    let agents = [("response", &minds.response), ("judgment", &minds.judgment)];
    let agents = agents.into_iter().chain(memory).chain(state);
    let mut found: Vec<(ResolvedModel, Vec<&'static str>)> = Vec::new();
    for (agent, mind) in agents {
        for model in std::iter::once(&mind.model).chain(&mind.fallback) {
            let is_same = |(other, _): &&mut (ResolvedModel, Vec<_>)| {
                other.id == model.id && other.endpoint == model.endpoint
            };
            match found.iter_mut().find(is_same) {
                Some((_, agents)) => agents.push(agent),
                None => found.push((model.clone(), vec![agent])),
            }
        }
    }
    for (_, agents) in &mut found {
        agents.dedup();
    }
    found
}

async fn check_model(model: &ResolvedModel, agents: &[&str]) -> Result<String, String> {
    let told = format!("{} ({})", model.id, agents.join(", "));
    let Some(settings) = model.settings() else { return Ok(told) };
    let clock = Clock::system();
    let began = clock.now();
    let mind = ProviderMind::new(&settings, clock.clone()).map_err(|error| format!("{error:#}"))?;
    mind.check().await.map_err(|error| error.to_string())?;
    let seconds = clock.now().duration_since(began).as_secs_f64();
    Ok(format!("{told} answered in {seconds:.1} s"))
}
