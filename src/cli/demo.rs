//! `aizuchi demo`: a scripted minute in the local room, or a stand-in for a chat platform with Aizuchi in it. Nothing
//! is kept, and no config file is read.

mod platform;

use std::fs::DirBuilder;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::time::Instant;

use aizuchi_config::{Config, ModelSelection};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_platform::demo::{DemoStatus, Phase};
use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tracing::warn;
use uuid::Uuid;

use crate::app::{App, browser};
use crate::cli::demo::platform::DemoPlatform;
use crate::cli::locale::environment_language;
use crate::cli::{StopSignals, block_on, log, print};

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// A platform to try without an account. If omitted: a one-minute scripted conversation between two people in the local room.
    #[arg(value_enum)]
    platform: Option<DemoPlatform>,
    /// The port of the page, on this machine. If omitted: any free port.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// The language of the demo. If omitted: Japanese if the environment's language is Japanese, else English.
    #[arg(long, value_enum)]
    language: Option<DemoLanguage>,
    /// Open the page in a browser.
    #[arg(long)]
    open: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DemoLanguage {
    En,
    Ja,
}

impl DemoArgs {
    pub fn run(self, selection: ModelSelection<'_>) -> anyhow::Result<()> {
        log::init_plain("warn");
        let folder = TemporaryFolder::new()?;
        block_on(async {
            // Subscribe before printing anything, because a script may send a signal as soon as it reads the output.
            let stops = StopSignals::listen()?;
            match self.platform {
                Some(platform) => platform.run(&self, &folder, selection, stops).await,
                None => self.run_room(&folder, selection, stops).await,
            }
        })
    }

    /// Serves the local room. Its page plays the demo when it is opened.
    async fn run_room(
        &self,
        folder: &TemporaryFolder,
        selection: ModelSelection<'_>,
        mut stops: StopSignals,
    ) -> anyhow::Result<()> {
        let config = self.config(folder, self.address(), json!({}), selection)?;
        let Some(app) = open(&config, &mut stops).await? else { return Ok(()) };
        let page = format!("http://{}/?demo", app.address);
        let language = config.language.own();
        print(&texts::demo::welcome(language, &config.persona.name.0, &page))?;
        self.open_page(&page);
        let demo = app.demo();
        let tell = async {
            let (mut status, mut told) = (demo.subscribe(), None);
            while status.changed().await.is_ok() {
                let line = line(&status.borrow_and_update(), language);
                if line != told {
                    line.iter().try_for_each(|line| print(line))?;
                    told = line;
                }
            }
            Ok(())
        };
        tokio::select! {
            ended = run_until_stopped(app, &mut stops) => ended,
            told = tell => told,
        }
    }

    /// The config of a demo, with these additional sections.
    fn config(
        &self,
        folder: &TemporaryFolder,
        listen: SocketAddr,
        sections: Value,
        selection: ModelSelection<'_>,
    ) -> anyhow::Result<Config> {
        let database = folder.0.join("demo.db");
        let mut settings = json!({
            "language": self.language().tag(),
            "http": { "listen": listen },
            "memory": { "database_path": database },
        });
        for (key, section) in sections.as_object().into_iter().flatten() {
            settings[key] = section.clone();
        }
        Config::for_demo(&settings.to_string(), selection)
    }

    fn language(&self) -> Language {
        match self.language {
            Some(DemoLanguage::En) => Language::En,
            Some(DemoLanguage::Ja) => Language::Ja,
            None => environment_language(),
        }
    }

    /// The address to serve the page at.
    fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    fn open_page(&self, page: &str) {
        if self.open {
            browser::open(page.to_owned());
        }
    }
}

/// Opens the app, unless SIGTERM or SIGINT arrives first.
async fn open(config: &Config, stops: &mut StopSignals) -> anyhow::Result<Option<App>> {
    tokio::select! {
        app = App::open(config, || Ok(config.clone()), Instant::now()) => app.map(Some),
        () = stops.recv() => Ok(None),
    }
}

/// Runs the app until SIGTERM or SIGINT.
async fn run_until_stopped(app: App, stops: &mut StopSignals) -> anyhow::Result<()> {
    let stop = CancellationToken::new();
    let mut ended = Box::pin(app.run(stop.clone()));
    tokio::select! {
        ended = &mut ended => return ended,
        () = stops.recv() => stop.cancel(),
    }
    ended.await
}

/// The page's caption for the terminal.
fn line(status: &DemoStatus, language: Language) -> Option<String> {
    match &status.phase {
        Phase::Playing(progress) => {
            let caption = match language {
                Language::En => &progress.caption.english,
                Language::Ja => &progress.caption.japanese,
            };
            Some(format!("  {}. {caption}", progress.scene))
        }
        Phase::Idle | Phase::Over => None,
    }
}

/// A folder that only this user can read, and that is deleted at the end.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("aizuchi-demo-{}", Uuid::now_v7().simple()));
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.with_context(|| format!("cannot make the folder {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            warn!(folder = %self.0.display(), %error, "the demo's folder could not be deleted");
        }
    }
}
