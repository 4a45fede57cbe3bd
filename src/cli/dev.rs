//! `aizuchi dev`: what stands in for the outside world, for people who develop or try things out.

use std::net::SocketAddr;
use std::process::{Command, ExitCode};

use anyhow::Context as _;
use clap::{Args, Subcommand, ValueEnum};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::cli::{Stops, log, print};
use crate::dev::slack::{FakeSlack, Settings, serve};

#[derive(Debug, Args)]
pub struct Dev {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Be a Slack workspace: its Web API, Socket Mode, and a page to talk on.
    Slack(Slack),
}

#[derive(Debug, Args)]
struct Slack {
    /// Where to listen. Whoever reaches it can do everything, so keep it on this machine.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4010")]
    listen: SocketAddr,
    /// Whether to open the page in a browser.
    #[arg(long, value_enum, default_value_t = OpenBrowser::No)]
    open_browser: OpenBrowser,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OpenBrowser {
    Yes,
    No,
}

impl Dev {
    pub fn obey(self) -> anyhow::Result<ExitCode> {
        log::begin_plain("warn");
        let What::Slack(slack) = self.what;
        let runtime = tokio::runtime::Runtime::new().context("starting the runtime")?;
        runtime.block_on(slack.obey())
    }
}

impl Slack {
    async fn obey(self) -> anyhow::Result<ExitCode> {
        let mut stops = Stops::listen()?;
        let listener = TcpListener::bind(self.listen).await;
        let listener = listener.with_context(|| format!("listening on {}", self.listen))?;
        let address = listener.local_addr().context("reading the listener's address")?;
        let fake = FakeSlack::new(Settings::default());
        fake.seed().context("filling the workspace")?;
        print(&welcome(&fake.settings, address))?;
        if self.open_browser == OpenBrowser::Yes {
            open(&format!("http://{address}"));
        }
        let shutdown = CancellationToken::new();
        let mut served = Box::pin(serve(listener, fake, shutdown.clone()));
        tokio::select! {
            served = &mut served => served?,
            () = stops.next() => {
                shutdown.cancel();
                served.await?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn welcome(settings: &Settings, address: SocketAddr) -> String {
    let Settings { bot_token, app_token, signing_secret, .. } = settings;
    format!(
        "A workspace that is like Slack: http://{address}\n\
         \n  Point Aizuchi at it with this in a config, and open the page to talk to it:\n\
         \n    slack:\n      api_base: http://{address}/api\n      bot_token: {bot_token}\n      app_token: {app_token}\n\
         \n  Other programs steer it by POST http://{address}/control/…, and see all of it at\n  \
         http://{address}/control/state. Events over HTTP are signed with {signing_secret}.\n\
         \nNothing is kept. Ctrl-C stops."
    )
}

/// Shows a page in whatever browser there is.
fn open(address: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let opened = Command::new(program).arg(address).status();
    if !opened.is_ok_and(|status| status.success()) {
        warn!("no browser could be opened; the page is at {address}");
    }
}
