//! `aizuchi health`: whether the Aizuchi of this config is available on this machine. For health checks of
//! containers whose image has no other HTTP client.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use aizuchi_config::http::page_address;
use aizuchi_config::source::ConfigSource;
use aizuchi_config::{Config, ModelSelection};
use aizuchi_llm::provider::loopback_client;
use clap::Args;

use crate::cli::{block_on, print};

/// A healthy process answers at once.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Check whether the Aizuchi on this machine is ready or standing by.
///
/// The exit code is 0 if it is, and 1 otherwise, for container health checks. The command asks the health port in the
/// config, or the page if there is none. If it asks the page, a process that stands by counts as not available.
#[derive(Debug, Args)]
pub struct HealthArgs {}

impl HealthArgs {
    pub fn run(self, source: &ConfigSource) -> anyhow::Result<ExitCode> {
        let config = source.load_without_database(ModelSelection::NoModel)?.config;
        let address = address(&config);
        let asked = block_on(async {
            let request = loopback_client()?.get(&address).timeout(TIMEOUT);
            anyhow::Ok(request.send().await?.status())
        });
        let (told, code) = match asked {
            Ok(status) if status.is_success() => ("available".to_owned(), ExitCode::SUCCESS),
            Ok(status) => (format!("not available: {address} answers {status}"), ExitCode::FAILURE),
            Err(_) => (format!("not available: nothing answers at {address}"), ExitCode::FAILURE),
        };
        print(&told)?;
        Ok(code)
    }
}

fn address(config: &Config) -> String {
    let health = config.health_check.port.and_then(|port| u16::try_from(port.0).ok());
    match health {
        Some(port) => {
            format!("http://{}/available", SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        }
        None => format!("{}/ready", page_address(config.http.listen.0)),
    }
}
