//! The command line: its arguments, and one module for each verb.

mod check;
mod config;
#[cfg(feature = "demo")]
mod dev;
mod discord;
mod eval;
mod forget;
mod import;
mod log;
mod prompt;
mod replay;
mod run;
mod search;
mod slack;
mod why;

use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::app::{App, browser};
use crate::cli::run::RunArgs;
use crate::config::http::page_address;
use crate::config::source::ConfigSource;
use crate::config::{Config, LoadedConfig, ModelSelection};
use aizuchi_core::chat::to_single_line;
use aizuchi_core::llm::model::ModelId;
use aizuchi_core::rules::Mode;
use aizuchi_core::texts;

/// A companion that lives in a team's chat as a member and decides by itself when to speak.
#[derive(Debug, Parser)]
#[command(name = "aizuchi", version, about)]
pub struct Cli {
    /// The config file. Without it: the one that AIZUCHI_CONFIG names, else ./config.yaml if there is one.
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// Think with this model, whatever the config says. Its key comes from the environment, or from
    /// the config where that has a model of the same provider.
    #[arg(long, value_name = "PROVIDER/MODEL", global = true)]
    model: Option<ModelId>,
    #[command(flatten)]
    run: RunArgs,
    #[command(subcommand)]
    command: Option<CliCommand>,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    /// Run everything the config names (the default).
    Run(RunArgs),
    /// See whether it would run: config, database, ports, and a one-token call to each model.
    Check,
    /// Replay a recorded chat on a virtual clock, under one or more policies.
    Replay(replay::ReplayArgs),
    /// Measure a mind against labelled cases.
    Eval(eval::EvalArgs),
    /// Show what a model would be asked now.
    Prompt(prompt::PromptArgs),
    /// Find old lines by their words.
    Search(search::SearchArgs),
    /// Tell why it spoke, or why it did not.
    Why(why::WhyArgs),
    Forget(forget::ForgetArgs),
    Import(import::ImportArgs),
    /// Show what can be set.
    Config(config::ConfigArgs),
    /// Set up the app in a Slack workspace.
    Slack(slack::SlackArgs),
    /// Let the bot in on a Discord server.
    Discord(discord::DiscordArgs),
    /// Stand in for the outside world, to try things out and to develop.
    #[cfg(feature = "demo")]
    Dev(dev::DevArgs),
}

const MODEL_NOT_ACCEPTED: &str = "--model goes with run, check, prompt and eval only";

/// Runs the command line, and prints an error as one line.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("aizuchi: {error:#}");
            ExitCode::FAILURE
        }
    }
}

impl Cli {
    fn run(self) -> anyhow::Result<ExitCode> {
        let selection =
            self.model.as_ref().map_or(ModelSelection::Configured, ModelSelection::Override);
        let command = self.command.unwrap_or_else(|| CliCommand::Run(RunArgs::default()));
        anyhow::ensure!(
            self.run == RunArgs::default() || matches!(command, CliCommand::Run(_)),
            "--port, --language and --open go with run only"
        );
        let named_config = self.config.clone();
        let source = ConfigSource::find(self.config);
        match command {
            CliCommand::Run(run) => run_app(&source, selection, &run.merge(self.run)),
            CliCommand::Check => check::run(&source, selection),
            CliCommand::Replay(_)
            | CliCommand::Search(_)
            | CliCommand::Why(_)
            | CliCommand::Forget(_)
            | CliCommand::Import(_)
            | CliCommand::Config(_)
            | CliCommand::Slack(_)
            | CliCommand::Discord(_)
                if self.model.is_some() =>
            {
                anyhow::bail!(MODEL_NOT_ACCEPTED)
            }
            #[cfg(feature = "demo")]
            CliCommand::Dev(_) if self.model.is_some() => anyhow::bail!(MODEL_NOT_ACCEPTED),
            CliCommand::Prompt(prompt) => prompt.run(&source, selection),
            // What it measures is named: a config that happens to be in the folder does not count.
            CliCommand::Replay(replay) => replay.run(named_config),
            CliCommand::Eval(eval) => eval.run(&source, selection),
            CliCommand::Search(search) => search.run(&source),
            CliCommand::Why(why) => why.run(&source),
            CliCommand::Forget(forget) => forget.run(&source),
            CliCommand::Import(import) => import.run(&source),
            CliCommand::Config(config) => config.run(),
            CliCommand::Slack(slack) => slack.run(),
            CliCommand::Discord(discord) => discord.run(&source),
            #[cfg(feature = "demo")]
            CliCommand::Dev(dev) => dev.run(),
        }
    }
}

fn run_app(
    source: &ConfigSource,
    selection: ModelSelection<'_>,
    run: &RunArgs,
) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let LoadedConfig { mut config, warnings } = source.load(selection)?;
    run.apply(&mut config)?;
    log::init(&config.logging);
    for warning in warnings {
        warn!("{warning}");
    }
    let runtime = tokio::runtime::Runtime::new().context("starting the runtime")?;
    runtime.block_on(async {
        let mut stops = StopSignals::listen()?;
        let stop = CancellationToken::new();
        let app = tokio::select! {
            app = App::open(&config, started) => app?,
            // A process on standby has nothing to finish.
            () = stops.recv() => return Ok(ExitCode::SUCCESS),
        };
        print(&welcome_text(&config, source, &app))?;
        if run.open {
            browser::open(page_address(app.address));
        }
        let mut ended = Box::pin(app.run(stop.clone()));
        tokio::select! {
            ended = &mut ended => return ended.map(|()| ExitCode::SUCCESS),
            () = stops.recv() => {}
        }
        stop.cancel();
        tokio::select! {
            ended = ended => ended.map(|()| ExitCode::SUCCESS),
            () = stops.recv() => anyhow::bail!("stopped at once; what was unfinished goes on at the next start"),
        }
    })
}

/// Writes to stdout. A closed pipe is not an error.
fn print(text: &str) -> anyhow::Result<()> {
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("writing to stdout")
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Removes escape sequences and other control characters, so that chat text cannot control the terminal.
fn strip_control_characters(text: &str) -> String {
    to_single_line(text)
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect()
}

/// The beginning of a message's text, as one line.
fn excerpt(text: &str) -> String {
    const SHOWN: usize = 160;
    let text = strip_control_characters(text);
    let mut characters = text.chars();
    let beginning: String = characters.by_ref().take(SHOWN).collect();
    let rest = if characters.next().is_some() { "…" } else { "" };
    format!("{beginning}{rest}")
}

/// SIGTERM and SIGINT. The program subscribes before it does anything else, because a signal may come at once.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    fn listen() -> anyhow::Result<Self> {
        let terminate = signal(SignalKind::terminate()).context("listening for SIGTERM")?;
        let interrupt = signal(SignalKind::interrupt()).context("listening for SIGINT")?;
        Ok(Self { terminate, interrupt })
    }

    async fn recv(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

fn welcome_text(config: &Config, source: &ConfigSource, app: &App) -> String {
    let language = config.language;
    let name = &config.persona.name.0;
    let address = app.address;
    let file = config.database_address().to_string();
    let wait = config.room_wait_settings().min_wait_seconds;
    let mind = describe_minds(config);
    let accounts: String = app
        .accounts()
        .iter()
        .map(|account| {
            let label = account.platform.to_lowercase();
            let name = strip_control_characters(&account.name);
            let servers = match account.servers {
                None => String::new(),
                Some(1) => texts::command_line::on_one_server(language).to_owned(),
                Some(servers) => texts::command_line::on_servers(language, servers),
            };
            format!("\n  {label:<9} {name}{servers}")
        })
        .collect();
    let joins_in = config.rulebook().default_rules.mode == Mode::Companion;
    let ask = match joins_in {
        true => texts::command_line::welcome_ask(language, wait, name),
        false => String::new(),
    };
    let source = source.describe(language);
    let places = texts::command_line::welcome_places(language, &source, &file);
    texts::command_line::welcome(language, name, address, &ask, &mind, &accounts, &places)
}

/// Which models answer and judge, for the operator.
fn describe_minds(config: &Config) -> String {
    let (response, judgment) = (&config.minds.response.model.id, &config.minds.judgment.model.id);
    let language = config.language;
    let model_name = |model: &ModelId| match model {
        ModelId::Builtin => texts::command_line::builtin_mind(language).to_owned(),
        ModelId::Hosted { .. } => model.to_string(),
    };
    if response == judgment {
        return model_name(response);
    }
    texts::command_line::two_minds(language, &model_name(response), &model_name(judgment))
}
