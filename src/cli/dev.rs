//! `aizuchi dev`: stand-ins for Slack and Discord, for development and demos.

use std::net::SocketAddr;

use aizuchi_fakes::discord::{self, FakeDiscord};
use aizuchi_fakes::slack::{self, FakeSlack};
use anyhow::Context as _;
use clap::{Args, Subcommand, ValueEnum};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::app::browser;
use crate::cli::locale::environment_language;
use crate::cli::{StopSignals, block_on, log, print};

#[derive(Debug, Args)]
pub struct DevArgs {
    #[command(subcommand)]
    command: DevCommand,
}

#[derive(Debug, Subcommand)]
enum DevCommand {
    /// Run a stand-in for Slack: its Web API, Socket Mode, and a page to write on.
    Slack(FakeSlackArgs),
    /// Run a stand-in for Discord: its REST API, its gateway, and a page to write on.
    Discord(FakeDiscordArgs),
}

#[derive(Debug, Args)]
struct FakeSlackArgs {
    /// The address to listen on. Anyone who can reach it has full control, so keep it on this machine.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4010")]
    listen: SocketAddr,
    #[command(flatten)]
    page: StandInPageArgs,
}

#[derive(Debug, Args)]
struct FakeDiscordArgs {
    /// The address to listen on. Anyone who can reach it has full control, so keep it on this machine.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4011")]
    listen: SocketAddr,
    #[command(flatten)]
    page: StandInPageArgs,
}

#[derive(Debug, Args)]
struct StandInPageArgs {
    /// Open the page in a browser.
    #[arg(long)]
    open: bool,
    /// The same as `--open`, as earlier versions had it.
    #[arg(long, value_enum, default_value_t = OpenBrowser::No, hide = true)]
    open_browser: OpenBrowser,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OpenBrowser {
    Yes,
    No,
}

impl DevArgs {
    pub fn run(self) -> anyhow::Result<()> {
        log::init_plain("warn");
        block_on(async {
            // Subscribe before printing anything, because a script may send a signal as soon as it reads the output.
            let stops = StopSignals::listen()?;
            match self.command {
                DevCommand::Slack(slack) => slack.run(stops).await,
                DevCommand::Discord(discord) => discord.run(stops).await,
            }
        })
    }
}

impl FakeSlackArgs {
    async fn run(self, stops: StopSignals) -> anyhow::Result<()> {
        let (listener, address) = listen(self.listen).await?;
        let fake = FakeSlack::new(slack::FakeSlackSettings::default());
        fake.seed(environment_language()).context("cannot fill the workspace")?;
        self.page.announce(&slack_welcome(&fake.settings, address), address)?;
        serve_until_stopped(stops, |shutdown| slack::serve(listener, fake, shutdown)).await
    }
}

impl FakeDiscordArgs {
    async fn run(self, stops: StopSignals) -> anyhow::Result<()> {
        let (listener, address) = listen(self.listen).await?;
        let fake = FakeDiscord::new(discord::FakeDiscordSettings::default());
        fake.seed(environment_language()).context("cannot fill the server")?;
        self.page.announce(&discord_welcome(&fake.settings, address), address)?;
        serve_until_stopped(stops, |shutdown| discord::serve(listener, fake, shutdown)).await
    }
}

async fn listen(address: SocketAddr) -> anyhow::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address).await;
    let listener = listener.with_context(|| format!("cannot listen on {address}"))?;
    let address = listener.local_addr().context("cannot read the listener's address")?;
    Ok((listener, address))
}

/// Serves until SIGTERM or SIGINT.
async fn serve_until_stopped<S>(
    mut stops: StopSignals,
    serve: impl FnOnce(CancellationToken) -> S,
) -> anyhow::Result<()>
where
    S: Future<Output = anyhow::Result<()>>,
{
    let shutdown = CancellationToken::new();
    let mut served = Box::pin(serve(shutdown.clone()));
    tokio::select! {
        served = &mut served => served?,
        () = stops.recv() => {
            shutdown.cancel();
            served.await?;
        }
    }
    Ok(())
}

impl StandInPageArgs {
    /// Prints the welcome text, and opens the page in a browser if asked to.
    fn announce(&self, welcome: &str, address: SocketAddr) -> anyhow::Result<()> {
        print(welcome)?;
        if self.open || self.open_browser == OpenBrowser::Yes {
            browser::open(format!("http://{address}"));
        }
        Ok(())
    }
}

fn slack_welcome(settings: &slack::FakeSlackSettings, address: SocketAddr) -> String {
    let slack::FakeSlackSettings { bot_token, app_token, signing_secret, .. } = settings;
    format!(
        "A stand-in for Slack: http://{address}\n\
         \n  Point Aizuchi at it with this in a config, and open the page to talk to it:\n\
         \n    slack:\n      api_base: http://{address}/api\n      bot_token: {bot_token}\n      app_token: {app_token}\n\
         \n  Programs control it by POST http://{address}/control/…, and read its state at\n  \
         http://{address}/control/state. Events over HTTP are signed with {signing_secret}.\n\
         \nNothing is stored. Press Ctrl-C to stop."
    )
}

fn discord_welcome(settings: &discord::FakeDiscordSettings, address: SocketAddr) -> String {
    let token = &settings.token;
    format!(
        "A stand-in for Discord: http://{address}\n\
         \n  Point Aizuchi at it with this in a config, and open the page to talk to it:\n\
         \n    discord:\n      api_base: http://{address}\n      gateway_url: ws://{address}/gateway\n      token: {token}\n\
         \n  Programs control it by POST http://{address}/control/…, and read its state at\n  \
         http://{address}/control/state.\n\
         \nNothing is stored. Press Ctrl-C to stop."
    )
}
