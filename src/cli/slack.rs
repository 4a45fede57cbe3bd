//! `aizuchi slack`: the manifest that creates the Slack app.

use aizuchi_model::chat::to_single_line;
use aizuchi_slack::manifest::{MAX_APP_NAME_LENGTH, ManifestTransport, build_manifest};
use clap::{Args, Subcommand};

use crate::cli::print_json;

#[derive(Debug, Args)]
pub struct SlackArgs {
    #[command(subcommand)]
    command: SlackCommand,
}

#[derive(Debug, Subcommand)]
enum SlackCommand {
    /// Print the manifest from which Slack creates the app. Paste it at <https://api.slack.com/apps>: Create New App,
    /// From a manifest.
    Manifest {
        /// The name of the app.
        #[arg(long, value_name = "NAME", default_value = "Aizuchi")]
        name: String,
        /// Have Slack send events over HTTP to this address, which it must be able to reach, instead of using Socket Mode.
        #[arg(long, value_name = "URL")]
        http: Option<String>,
    },
}

impl SlackArgs {
    pub fn run(self) -> anyhow::Result<()> {
        let SlackCommand::Manifest { name, http } = self.command;
        let name = to_single_line(&name);
        let length = name.chars().count();
        anyhow::ensure!(
            (1..=MAX_APP_NAME_LENGTH).contains(&length),
            "an app's name on Slack has 1 to {MAX_APP_NAME_LENGTH} characters"
        );
        let transport = match http {
            None => ManifestTransport::SocketMode,
            Some(url) => ManifestTransport::Webhooks(parse_https_address(url)?),
        };
        print_json(&build_manifest(&name, &transport))
    }
}

/// Checks the address for webhooks. Slack requires HTTPS.
fn parse_https_address(url: String) -> anyhow::Result<String> {
    let host = url.strip_prefix("https://").unwrap_or_default();
    let is_valid = !host.is_empty()
        && !host.starts_with(['/', ':'])
        && !host.contains(|character: char| character.is_whitespace() || "?#".contains(character));
    anyhow::ensure!(is_valid, "--http takes an address like https://aizuchi.example.com");
    Ok(url)
}
