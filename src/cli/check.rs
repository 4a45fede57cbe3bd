//! `check`: would it run? One line for each thing that it needs, and nothing is changed.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::app;
use crate::cli::print;
use crate::clock::Clock;
use crate::config::minds::Model;
use crate::config::{Config, Loaded};
use crate::llm::model::ModelId;
use crate::llm::provider::ProviderMind;
use crate::store::sqlite::examine::{Found, examine};

/// How long somebody who listens on our port may take to say whether it is one of us.
const PATIENCE: Duration = Duration::from_secs(2);

/// What was found out, and whether it stands in the way.
struct Finding {
    what: &'static str,
    told: Result<String, String>,
}

pub fn obey(file: Option<&Path>, model: Option<&ModelId>) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Runtime::new()?;
    let findings = runtime.block_on(findings(file, model));
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

async fn findings(file: Option<&Path>, model: Option<&ModelId>) -> Vec<Finding> {
    let finding = |what, told| Finding { what, told };
    let Loaded { config, warnings } = match Config::load(file, model) {
        Ok(loaded) => loaded,
        Err(error) => return vec![finding("config", Err(format!("{error:#}")))],
    };
    let shown = file.map_or("no file; everything has its default".to_owned(), |file| {
        file.display().to_string()
    });
    let mut findings = vec![finding("config", Ok(shown))];
    findings.extend(warnings.into_iter().map(|warning| finding("note", Ok(warning))));
    findings.push(finding("database", database(&config).await));
    findings.push(finding("pages", port(config.http.listen.0).await));
    if let Some(health) = &config.health_check.port {
        findings.push(finding("health", port(app::everywhere(health)).await));
    }
    for (model, agents) in models(&config) {
        findings.push(finding("model", answers(&model, &agents).await));
    }
    findings
}

async fn database(config: &Config) -> Result<String, String> {
    let path = config.database();
    let shown = path.display();
    match examine(&path).await {
        Ok(Found::Absent) => Ok(format!("{shown} will be created")),
        Ok(Found::Current) => Ok(shown.to_string()),
        Ok(Found::Older) => Ok(format!("{shown} will be brought up to date at the next start")),
        Ok(Found::InUse) => Ok(format!("{shown} is in use by an Aizuchi that runs")),
        Err(error) => Err(error.to_string()),
    }
}

async fn port(address: SocketAddr) -> Result<String, String> {
    match TcpListener::bind(address).await {
        Ok(_) => Ok(format!("{address} is free")),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            if is_aizuchi(address).await {
                Ok(format!("{address} is served by an Aizuchi that runs"))
            } else {
                Err(format!("another program listens on {address}"))
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
    let agents = [
        ("response", &minds.response),
        ("judgment", &minds.judgment),
        ("memory", &minds.memory),
        ("state", &minds.state),
    ];
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
