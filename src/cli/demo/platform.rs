//! A stand-in for a chat platform and Aizuchi in it, in one process.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use aizuchi_config::ModelSelection;
use aizuchi_fakes::discord::{self, FakeDiscord, FakeDiscordSettings};
use aizuchi_fakes::slack::{self, FakeSlack, FakeSlackSettings};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use anyhow::Context as _;
use clap::ValueEnum;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::cli::demo::{DemoArgs, TemporaryFolder, open, run_until_stopped};
use crate::cli::{StopSignals, print};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DemoPlatform {
    Slack,
    Discord,
}

impl DemoPlatform {
    fn name(self) -> &'static str {
        match self {
            DemoPlatform::Slack => "Slack",
            DemoPlatform::Discord => "Discord",
        }
    }

    pub(super) async fn run(
        self,
        args: &DemoArgs,
        folder: &TemporaryFolder,
        selection: ModelSelection<'_>,
        mut stops: StopSignals,
    ) -> anyhow::Result<()> {
        let listener = TcpListener::bind(args.address()).await;
        let listener = listener.with_context(|| format!("cannot listen on {}", args.address()))?;
        let address = listener.local_addr().context("cannot read the listener's address")?;
        let stand_in = StandIn::new(self, args.language())?;
        let sections = stand_in.sections(address);
        let any_port = (Ipv4Addr::LOCALHOST, 0).into();
        let config = args.config(folder, any_port, sections, selection)?;
        let shutdown = CancellationToken::new();
        let companion = async {
            let Some(app) = open(&config, &mut stops).await? else { return Ok(()) };
            let (page, room) = (format!("http://{address}"), format!("http://{}", app.address));
            let name = &config.persona.name.0;
            let welcome = texts::demo::platform_welcome(
                config.language.own(),
                self.name(),
                &page,
                name,
                &room,
            );
            print(&welcome)?;
            args.open_page(&page);
            run_until_stopped(app, &mut stops).await
        };
        // The stand-in starts before the companion and stops after it.
        let mut served = Box::pin(stand_in.serve(listener, shutdown.clone()));
        let ended = tokio::select! {
            served = &mut served => {
                served?;
                anyhow::bail!("the stand-in stopped unexpectedly");
            }
            ended = companion => ended,
        };
        shutdown.cancel();
        served.await?;
        ended
    }
}

enum StandIn {
    Slack(Arc<FakeSlack>),
    Discord(Arc<FakeDiscord>),
}

impl StandIn {
    fn new(platform: DemoPlatform, language: Language) -> anyhow::Result<Self> {
        Ok(match platform {
            DemoPlatform::Slack => {
                let fake = FakeSlack::new(FakeSlackSettings::default());
                fake.seed(language).context("cannot fill the workspace")?;
                StandIn::Slack(fake)
            }
            DemoPlatform::Discord => {
                let fake = FakeDiscord::new(FakeDiscordSettings::default());
                fake.seed(language).context("cannot fill the server")?;
                StandIn::Discord(fake)
            }
        })
    }

    /// The config sections of a companion on this platform. Its waits are short, because a user who tries it out is
    /// watching.
    fn sections(&self, address: SocketAddr) -> Value {
        let response = json!({
            "mode": "companion",
            "min_wait_seconds": 6,
            "min_wait_floor_seconds": 4,
            "timing": "plain",
        });
        match self {
            StandIn::Slack(fake) => {
                let FakeSlackSettings { bot_token, app_token, .. } = &fake.settings;
                json!({
                    "response": response,
                    "slack": {
                        "api_base": format!("http://{address}/api"),
                        "bot_token": bot_token,
                        "app_token": app_token,
                    },
                })
            }
            StandIn::Discord(fake) => json!({
                "response": response,
                "discord": {
                    "api_base": format!("http://{address}"),
                    "gateway_url": format!("ws://{address}/gateway"),
                    "token": fake.settings.token,
                },
            }),
        }
    }

    async fn serve(
        &self,
        listener: TcpListener,
        shutdown: CancellationToken,
    ) -> anyhow::Result<()> {
        match self {
            StandIn::Slack(fake) => slack::serve(listener, fake.clone(), shutdown).await,
            StandIn::Discord(fake) => discord::serve(listener, fake.clone(), shutdown).await,
        }
    }
}
