//! `aizuchi console link`: prints a single-use link for signing in to the running program.

use aizuchi_actions::access::SignedInUser;
use aizuchi_config::http::ReaderName;
use aizuchi_config::source::ConfigSource;
use aizuchi_config::{Config, ModelSelection};
use aizuchi_model::access_role::AccessRole;
use aizuchi_model::clock::Clock;
use aizuchi_store::read_only::ReadOnlyDatabase;
use aizuchi_web::sign_in_link::{LINK_AGE, LinkKey, Purpose};
use anyhow::{Context as _, bail};
use clap::{Args, Subcommand, ValueEnum};

use crate::app::last_program::LastProgram;
use crate::cli::{block_on, print, tell};

/// Print a link for signing in to the console.
#[derive(Debug, Args)]
pub struct ConsoleArgs {
    #[command(subcommand)]
    command: ConsoleCommand,
}

#[derive(Debug, Subcommand)]
enum ConsoleCommand {
    /// Print a single-use link that signs in to the console of the Aizuchi running on this database. It is valid for ten minutes.
    Link {
        /// What the person who opens the link may do.
        #[arg(long, value_name = "ROLE", default_value = "admin")]
        role: RoleArg,
        /// The name that is recorded when this person reads private channels.
        #[arg(long, value_name = "NAME", default_value = "link", value_parser = parse_name)]
        name: ReaderName,
        /// The address at which this person reaches the pages, if it is not the one that Aizuchi listens on, for
        /// example behind a proxy.
        #[arg(long, value_name = "URL")]
        url: Option<String>,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum RoleArg {
    /// Reads figures.
    Viewer,
    /// Also controls Aizuchi, and reads public channels.
    Operator,
    /// Also reads private channels, which is recorded.
    Admin,
}

fn parse_name(text: &str) -> Result<ReaderName, &'static str> {
    ReaderName::try_from(text.to_owned())
}

impl ConsoleArgs {
    pub fn run(self, source: &ConfigSource) -> anyhow::Result<()> {
        let ConsoleCommand::Link { role, name, url } = self.command;
        let config = source.load(ModelSelection::NoModel)?.config;
        if !config.http.has_sign_in_links() {
            bail!(
                "people sign in at the proxy of http.proxy_sign_in; a link needs http.token or http.tokens"
            );
        }
        let (page, secret) = block_on(read(&config))?;
        let role = match role {
            RoleArg::Viewer => AccessRole::Viewer,
            RoleArg::Operator => AccessRole::Operator,
            RoleArg::Admin => AccessRole::Admin,
        };
        let holder = SignedInUser::new(name.0, role);
        let key = LinkKey::new(&secret, &config.http);
        let now = Clock::system().now();
        let code = key.mint(Purpose::SignIn, &holder, now).context("cannot make the link")?;
        let page = url.unwrap_or(page);
        print(&format!("{}/login?link={code}", page.trim_end_matches('/')))?;
        tell(&format!(
            "\nThe link works once, within {} minutes, as {}.",
            LINK_AGE.as_mins(),
            role.name()
        ));
        Ok(())
    }
}

/// The address of the pages of the program on this database, and its part of the key.
async fn read(config: &Config) -> anyhow::Result<(String, String)> {
    let store = ReadOnlyDatabase::open(&config.database_address()).await?.into_store();
    let left = LastProgram::read(&store).await?;
    left.page
        .zip(left.link_key)
        .context("no Aizuchi has run on this database yet; start it, and try again")
}
