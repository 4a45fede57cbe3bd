//! `aizuchi slack`: what a workspace needs to know of the app.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::cli::print;
use aizuchi_core::chat::one_line;
use aizuchi_slack::manifest::{Delivery, LONGEST_NAME, manifest};

#[derive(Debug, Args)]
pub struct Slack {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print the app's manifest, from which Slack creates the app: paste it at
    /// <https://api.slack.com/apps>, Create New App, From a manifest.
    Manifest {
        /// What the app is called.
        #[arg(long, value_name = "NAME", default_value = "Aizuchi")]
        name: String,
        /// Have the events sent to this address of yours, which Slack must be able to reach, instead of
        /// Socket Mode.
        #[arg(long, value_name = "URL")]
        http: Option<String>,
    },
}

impl Slack {
    pub fn obey(self) -> anyhow::Result<ExitCode> {
        let What::Manifest { name, http } = self.what;
        let name = one_line(&name);
        let length = name.chars().count();
        anyhow::ensure!(
            (1..=LONGEST_NAME).contains(&length),
            "an app's name on Slack has 1 to {LONGEST_NAME} characters"
        );
        let delivery = match http {
            None => Delivery::Socket,
            Some(url) => Delivery::Http(address(url)?),
        };
        print(&serde_json::to_string_pretty(&manifest(&name, &delivery))?)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Slack sends its requests encrypted, or not at all.
fn address(url: String) -> anyhow::Result<String> {
    let host = url.strip_prefix("https://").unwrap_or_default();
    let is_fine = !host.is_empty()
        && !host.starts_with(['/', ':'])
        && !host.contains(|letter: char| letter.is_whitespace() || "?#".contains(letter));
    anyhow::ensure!(is_fine, "--http takes an address like https://aizuchi.example.com");
    Ok(url)
}
