//! What the program is told on the command line.

mod config;
mod replay;

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::warn;
use tracing_subscriber::EnvFilter;

use crate::app::App;
use crate::config::logging::{Level, LogFormat, LoggingConfig};
use crate::config::{Config, Loaded};
use crate::persona::Language;

/// A companion that lives in a team's chat as a member and decides by itself when to speak.
#[derive(Debug, Parser)]
#[command(name = "aizuchi", version, about)]
pub struct Cli {
    /// The file of settings; without it, the local room and the built-in mind.
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run everything the config names (the default).
    Run,
    /// Replay a recorded chat on a virtual clock, under one or more policies.
    Replay(replay::Replay),
    /// Show what can be set.
    Config(config::Config),
}

/// Does what the command line says, and says what went wrong in one sentence.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.obey() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("aizuchi: {error:#}");
            ExitCode::FAILURE
        }
    }
}

impl Cli {
    fn obey(self) -> anyhow::Result<ExitCode> {
        match self.verb.unwrap_or(Verb::Run) {
            Verb::Run => run(self.config),
            Verb::Replay(replay) => replay.obey(self.config),
            Verb::Config(config) => config.obey(),
        }
    }
}

fn run(file: Option<PathBuf>) -> anyhow::Result<ExitCode> {
    let Loaded { config, warnings } = Config::load(file.as_deref())?;
    log(&config.logging);
    for warning in warnings {
        warn!("{warning}");
    }
    let runtime = tokio::runtime::Runtime::new().context("starting the runtime")?;
    runtime.block_on(async {
        let mut stops = Stops::listen()?;
        let stop = CancellationToken::new();
        let app = App::open(&config).await?;
        print(&welcome(&config, &app))?;
        let mut ended = Box::pin(app.run(stop.clone()));
        tokio::select! {
            ended = &mut ended => return ended.map(|()| ExitCode::SUCCESS),
            () = stops.next() => {}
        }
        stop.cancel();
        tokio::select! {
            ended = ended => ended.map(|()| ExitCode::SUCCESS),
            () = stops.next() => anyhow::bail!("stopped at once; what was unfinished goes on at the next start"),
        }
    })
}

/// Writes to stdout. Whoever has stopped reading does not want the rest.
fn print(text: &str) -> anyhow::Result<()> {
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("writing to stdout")
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Logs go to stderr, as the config says; `RUST_LOG` outranks its levels.
fn log(logging: &LoggingConfig) {
    let level = logging.level.filter();
    // Other people's code may tell more than it should when it tells much.
    let others = match logging.level {
        Level::Debug => "info",
        Level::Info | Level::Warning => "warn",
        Level::Error | Level::Critical => "error",
    };
    let parts =
        logging.loggers.iter().map(|(part, level)| format!(",{}={}", part.0, level.filter()));
    let filter = filter(&format!("{others},aizuchi={level}{}", parts.collect::<String>()));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match logging.format {
        LogFormat::Auto => lines.with_ansi(std::io::stderr().is_terminal()).init(),
        LogFormat::Text => lines.with_ansi(false).init(),
        LogFormat::Json => lines.json().init(),
    }
}

/// For verbs that end by themselves.
fn log_from(level: &str) {
    tracing_subscriber::fmt()
        .with_env_filter(filter(level))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}

fn filter(levels: &str) -> EnvFilter {
    EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(levels))
}

/// SIGTERM and SIGINT. Listened for before anything else is done, since a stop may come at once.
struct Stops {
    terminate: Signal,
    interrupt: Signal,
}

impl Stops {
    fn listen() -> anyhow::Result<Self> {
        let terminate = signal(SignalKind::terminate()).context("listening for SIGTERM")?;
        let interrupt = signal(SignalKind::interrupt()).context("listening for SIGINT")?;
        Ok(Self { terminate, interrupt })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

fn welcome(config: &Config, app: &App) -> String {
    let name = &config.persona.name.0;
    let address = app.address;
    let file = config.database().display().to_string();
    let wait = config.room_waiting().min_wait_seconds;
    match config.language {
        Language::En => format!(
            "{name} is listening in the local room: http://{address}\n\
             \n  Open the page in two tabs, give each a name, and talk. Ask the room a question and wait\n  \
             about {wait} s: {name} decides whether to join in. Write @{name} for an answer at once.\n\
             \n  mind      built in: a few rules, not a language model\n  storage   {file}\n\nCtrl-C stops."
        ),
        Language::Ja => format!(
            "{name} がローカルの部屋で聞いています: http://{address}\n\
             \n  ページを二つのタブで開き、それぞれ名前を付けて話してみてください。みんなに質問して\n  \
             {wait} 秒ほど待つと、{name} が会話に加わるかどうかを決めます。@{name} と書けばすぐに答えます。\n\
             \n  頭脳      内蔵（いくつかの規則で動き、言語モデルではありません）\n  保存先    {file}\n\nCtrl-C で終了します。"
        ),
    }
}
