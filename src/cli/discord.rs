//! `aizuchi discord`: what a server needs to let the bot in.

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::cli::print;
use crate::config::environment::Environment;
use crate::config::{Config, Thinkers};
use aizuchi_discord::invite::{application_of, bot_page, invite};

#[derive(Debug, Args)]
pub struct Discord {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print the link at which somebody who may manage a server lets the bot in, with the permissions that
    /// it needs and no more.
    Invite {
        /// The application's id, from the page General Information. Left out: it is taken from the token,
        /// in the config or in DISCORD_TOKEN.
        #[arg(long, value_name = "ID")]
        application: Option<u64>,
    },
}

impl Discord {
    pub fn obey(self, file: Option<&Path>) -> anyhow::Result<ExitCode> {
        let What::Invite { application } = self.what;
        let application = match application {
            Some(id) => Some(id),
            None => application_of(&token(file)?),
        };
        let application = application.ok_or_else(|| {
            anyhow::anyhow!(
                "the token does not name its application; --application takes the id, from the page \
                 General Information at https://discord.com/developers/applications"
            )
        })?;
        print(&invite(application))?;
        eprintln!(
            "\nOpen it in a browser and choose the server. Before that, switch on Message Content Intent at\n{}",
            bot_page(application)
        );
        Ok(ExitCode::SUCCESS)
    }
}

fn token(file: Option<&Path>) -> anyhow::Result<String> {
    let absent = || {
        anyhow::anyhow!(
            "there is no token yet: name the config with --config, set DISCORD_TOKEN, or use --application"
        )
    };
    if file.is_some() {
        let config = Config::load(file, Thinkers::Nobody)?.config;
        let discord = config.discord().ok_or_else(absent)?;
        return Ok(discord.token.expose().to_owned());
    }
    let environment = Environment::of_process(Path::new(""))?;
    environment.get("DISCORD_TOKEN").map(str::to_owned).ok_or_else(absent)
}
