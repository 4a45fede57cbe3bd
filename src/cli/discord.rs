//! `aizuchi discord`: the link that adds the bot to a server.

use std::path::Path;

use aizuchi_config::ModelSelection;
use aizuchi_config::environment::Environment;
use aizuchi_config::source::ConfigSource;
use aizuchi_discord::invite::{application_id, bot_page_url, invite_url};
use clap::{Args, Subcommand};

use crate::cli::{print, tell};

#[derive(Debug, Args)]
pub struct DiscordArgs {
    #[command(subcommand)]
    command: DiscordCommand,
}

#[derive(Debug, Subcommand)]
enum DiscordCommand {
    /// Print the link that adds the bot to a server, with the permissions that it needs and no more. It works for people
    /// who may manage the server.
    Invite {
        /// The application's id, from its page General Information. If omitted: it is read from the token, in the config
        /// or in DISCORD_TOKEN.
        #[arg(long, value_name = "ID")]
        application: Option<u64>,
    },
}

impl DiscordArgs {
    pub fn run(self, source: &ConfigSource) -> anyhow::Result<()> {
        let DiscordCommand::Invite { application } = self.command;
        let application = match application {
            Some(id) => Some(id),
            None => application_id(&token(source)?),
        };
        let application = application.ok_or_else(|| {
            anyhow::anyhow!(
                "the token does not name its application; --application takes the id, from the page \
                 General Information at https://discord.com/developers/applications"
            )
        })?;
        print(&invite_url(application))?;
        tell(&format!(
            "\nOpen the link in a browser and choose the server. Before that, switch on Message Content Intent at\n{}",
            bot_page_url(application)
        ));
        Ok(())
    }
}

fn token(source: &ConfigSource) -> anyhow::Result<String> {
    let absent = || {
        anyhow::anyhow!(
            "there is no token yet: name the config with --config, set DISCORD_TOKEN, or use --application"
        )
    };
    if source.file().is_some() {
        let config = source.load_without_database(ModelSelection::NoModel)?.config;
        if let Some(token) = config.discord.and_then(|discord| discord.token) {
            return Ok(token.expose().to_owned());
        }
    }
    let environment = Environment::from_process(Path::new(""))?;
    environment.get("DISCORD_TOKEN").map(str::to_owned).ok_or_else(absent)
}
