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
use crate::config::minds::Model;
use crate::config::{Config, Loaded, Thinkers};
use aizuchi_core::clock::Clock;
use aizuchi_core::llm::provider::ProviderMind;
use aizuchi_core::store::database::address::{Address, Found};
use aizuchi_core::store::database::onlooker::Onlooker;
use aizuchi_core::store::{Archive, StoreError};
use aizuchi_discord::examine::examine as examine_discord;
use aizuchi_slack::examine::examine as examine_slack;

/// How long somebody who listens on our port may take to say whether it is one of us.
const PATIENCE: Duration = Duration::from_secs(2);

/// What was found out, and whether it stands in the way.
struct Finding {
    what: &'static str,
    told: Result<String, String>,
}

pub fn obey(file: Option<&Path>, thinkers: Thinkers<'_>) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Runtime::new()?;
    let findings = runtime.block_on(findings(file, thinkers));
    let mut has_failed = false;
    for Finding { what, told } in &findings {
        has_failed |= told.is_err();
        let (mark, told) = match told {
            Ok(told) => ("ok  ", told),
            Err(told) => ("FAIL", told),
        };
        print(&format!("{mark}  {what:<9} {told}"))?;
    }
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn findings(file: Option<&Path>, thinkers: Thinkers<'_>) -> Vec<Finding> {
    let finding = |what, told| Finding { what, told };
    let Loaded { config, warnings } = match Config::load(file, thinkers) {
        Ok(loaded) => loaded,
        Err(error) => return vec![finding("config", Err(format!("{error:#}")))],
    };
    let shown = file.map_or("no file; everything has its default".to_owned(), |file| {
        file.display().to_string()
    });
    let mut findings = vec![finding("config", Ok(shown))];
    findings.extend(warnings.into_iter().map(|warning| finding("note", Ok(warning))));
    findings.push(finding("prompts", prompts(&config)));
    let found = config.database().examine().await;
    // One that runs on this database holds its ports as well.
    let is_running = matches!(found, Ok(Found::InUse));
    let pages = port(config.http.listen.0, is_running).await;
    let is_ours = matches!(&pages, Ok(Port::Served));
    findings.push(finding("database", database(&config, found, is_ours)));
    findings.push(finding("pages", pages.map(|port| port.told(config.http.listen.0))));
    if let Some(health) = &config.health_check.port {
        let address = app::everywhere(health);
        let told = port(address, is_running).await.map(|port| port.told(address));
        findings.push(finding("health", told));
    }
    findings.extend(slack(&config).await);
    findings.extend(discord(&config).await);
    for (model, agents) in models(&config) {
        findings.push(finding("model", answers(&model, &agents).await));
    }
    findings
}

/// What stands between us and the Slack workspace, if there is to be one.
async fn slack(config: &Config) -> Vec<Finding> {
    let Some(settings) = config.slack() else { return Vec::new() };
    let settings = settings.settings(config.channel_sync());
    // Before the first start there is nothing to look into.
    let kept = Onlooker::open(&config.database()).await.ok().map(Onlooker::store);
    let kept = kept.as_ref().map(|kept| kept as &dyn Archive);
    let named: Vec<String> = config.channels.keys().map(|key| key.0.clone()).collect();
    let told = examine_slack(&settings, &named, kept).await;
    told.into_iter().map(|told| Finding { what: "slack", told }).collect()
}

/// What stands between us and Discord, if it is to live there.
async fn discord(config: &Config) -> Vec<Finding> {
    let Some(settings) = config.discord() else { return Vec::new() };
    let settings = settings.settings(config.channel_sync(), config.zone_or(TimeZone::system()));
    let told = examine_discord(&settings, &config.rulebook()).await;
    told.into_iter().map(|told| Finding { what: "discord", told }).collect()
}

fn prompts(config: &Config) -> Result<String, String> {
    app::prompts(config).map_err(|error| format!("{error:#}"))?;
    Ok(config.prompts_dir().map_or("built in".to_owned(), |folder| folder.display().to_string()))
}

fn database(
    config: &Config,
    found: Result<Found, StoreError>,
    is_ours: bool,
) -> Result<String, String> {
    let shown = config.database();
    match found {
        Ok(Found::Absent) => Ok(format!("{shown} will be created")),
        Ok(Found::Current) => Ok(shown.to_string()),
        Ok(Found::Older) => Ok(format!("{shown} will be brought up to date at the next start")),
        Ok(Found::InUse) if is_ours => Ok(format!("{shown} is in use by an Aizuchi that runs")),
        Ok(Found::InUse) if matches!(shown, Address::Server(_)) => {
            Ok(format!("another Aizuchi is active on {shown}; this one would stand by"))
        }
        Ok(Found::InUse) => {
            Err(format!("{shown} is in use by an Aizuchi that runs with other settings"))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// A port that would do.
enum Port {
    Free,
    /// By the Aizuchi that runs on our database.
    Served,
}

impl Port {
    fn told(&self, address: SocketAddr) -> String {
        match self {
            Port::Free => format!("{address} is free"),
            Port::Served => format!("{address} is served by an Aizuchi that runs"),
        }
    }
}

async fn port(address: SocketAddr, is_running: bool) -> Result<Port, String> {
    match TcpListener::bind(address).await {
        Ok(_) => Ok(Port::Free),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            match (is_aizuchi(address).await, is_running) {
                (true, true) => Ok(Port::Served),
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
    let answer = tokio::time::timeout(PATIENCE, ask).await;
    let answer = answer.ok().and_then(Result::ok).unwrap_or_default();
    String::from_utf8_lossy(&answer).contains(r#""status":"live""#)
}

/// Every model that is configured, once, with the agents that it serves.
fn models(config: &Config) -> Vec<(Model, Vec<&'static str>)> {
    let minds = &config.minds;
    // Nobody asks the last two yet, so they matter only to those who have named them.
    let memory = config.agents.memory.as_ref().map(|_| ("memory", &minds.memory));
    let state = config.agents.state.as_ref().map(|_| ("state", &minds.state));
    let agents = [("response", &minds.response), ("judgment", &minds.judgment)];
    let agents = agents.into_iter().chain(memory).chain(state);
    let mut found: Vec<(Model, Vec<&'static str>)> = Vec::new();
    for (agent, mind) in agents {
        for model in std::iter::once(&mind.model).chain(&mind.fallback) {
            let is_same = |(other, _): &&mut (Model, Vec<_>)| {
                other.id == model.id && other.server == model.server
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

async fn answers(model: &Model, agents: &[&str]) -> Result<String, String> {
    let told = format!("{} ({})", model.id, agents.join(", "));
    let Some(settings) = model.settings() else { return Ok(told) };
    let clock = Clock::system();
    let began = clock.now();
    let mind = ProviderMind::new(&settings, clock.clone()).map_err(|error| format!("{error:#}"))?;
    mind.check().await.map_err(|error| error.to_string())?;
    let seconds = clock.now().duration_since(began).as_secs_f64();
    Ok(format!("{told} answered in {seconds:.1} s"))
}
