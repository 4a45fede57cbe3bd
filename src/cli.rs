//! The command line: its arguments, and one module for each verb.

mod backup;
mod find_by_name;
mod check;
mod completions;
mod config;
mod console;
#[cfg(feature = "demo")]
mod demo;
#[cfg(feature = "demo")]
mod dev;
mod discord;
mod eval;
mod export;
mod forget;
mod health;
mod help;
mod import;
mod judge;
mod locale;
mod log;
mod man;
mod migrate;
mod model;
mod money;
mod prompt;
mod recording;
mod reload;
mod replay;
mod report;
mod report_page;
mod restore;
mod run;
mod running;
mod search;
mod set;
mod slack;
mod status;
mod traces;
mod transfer;
mod tune;
mod why;

use std::cell::Cell;
use std::fs::{File, Permissions};
use std::io::{ErrorKind, IsTerminal, Write};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::ExitCode;
use std::time::Instant;

use aizuchi_config::file_permissions;
use aizuchi_config::http::page_address;
use aizuchi_config::source::ConfigSource;
use aizuchi_config::{Config, LoadedConfig, ModelSelection};
use aizuchi_llm::model_id::ModelId;
use aizuchi_model::chat::strip_control_characters;
use aizuchi_model::persona::Language;
use aizuchi_model::rules::Mode;
use aizuchi_model::texts;
use aizuchi_model::texts::counted::Counted;
use aizuchi_store::database::DatabaseStore;
use aizuchi_store::database::location::DatabaseLocation;
use aizuchi_web::configuration::ConfigInForce;
use anyhow::Context as _;
use clap::{FromArgMatches as _, Parser, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{Level, enabled, error, warn};

use crate::app::{App, browser};
use crate::cli::locale::terminal_language;
use crate::cli::model::ModelFlag;
use crate::cli::reload::Reload;
use crate::cli::run::RunArgs;
use crate::cli::traces::Traces;
use crate::pdf_text;

/// A companion that lives in a team's chat as a member and decides by itself when to speak.
#[derive(Debug, Parser)]
#[command(name = "aizuchi", version, about, max_term_width = 100)]
pub struct Cli {
    /// The config file. If omitted: the file that AIZUCHI_CONFIG names, else ./config.yaml or /etc/aizuchi/config.yaml
    /// if it exists.
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// Use this language model instead of the config's. Its key comes from the environment or the config. `auto` takes
    /// the first model that a server on this machine (Ollama, LM Studio, llama.cpp, vLLM) offers.
    #[arg(long, value_name = "PROVIDER/MODEL", global = true)]
    model: Option<ModelFlag>,
    #[command(flatten)]
    run: RunArgs,
    #[command(subcommand)]
    command: Option<CliCommand>,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    /// Run Aizuchi: the local room, and Slack and Discord if configured (the default).
    Run(RunArgs),
    /// Check whether Aizuchi can start: config, database, ports, platforms and models.
    Check,
    /// Explain why Aizuchi spoke or stayed silent.
    Why(why::WhyArgs),
    Status(status::StatusArgs),
    Health(health::HealthArgs),
    /// Search old messages.
    Search(search::SearchArgs),
    /// Show the prompt that a language model would get in a channel now.
    Prompt(prompt::PromptArgs),
    /// Replay recorded messages, and measure when Aizuchi would have spoken.
    Replay(replay::ReplayArgs),
    /// Look for settings that suit recorded messages better than the current ones.
    ///
    /// The command tries values of wait, timers, min_confidence, cooldown and gates on the first part of the history,
    /// and checks the best of them on the rest. Settings that hold up there are printed as part of a config. If the
    /// data is inconclusive, nothing is recommended and the exit code is 2.
    Tune(tune::TuneArgs),
    Report(report::ReportArgs),
    /// Measure how well the built-in rules or a model decide, on labeled examples.
    Eval(eval::EvalArgs),
    Import(import::ImportArgs),
    Export(export::ExportArgs),
    Forget(forget::ForgetArgs),
    Set(set::SetArgs),
    Reload(reload::ReloadArgs),
    Backup(backup::BackupArgs),
    Restore(restore::RestoreArgs),
    Migrate(migrate::MigrateArgs),
    /// Print an example config, its JSON Schema, or the settings of kotonoha as a config.
    Config(config::ConfigArgs),
    Console(console::ConsoleArgs),
    /// Print the manifest that creates the Slack app.
    Slack(slack::SlackArgs),
    /// Print the link that adds the bot to a Discord server.
    Discord(discord::DiscordArgs),
    /// Print a shell completion script.
    Completions(completions::CompletionsArgs),
    /// Print the manual page, or write all of them into a folder.
    Man(man::ManArgs),
    /// Watch a one-minute scripted conversation, or try Slack or Discord without an account.
    #[cfg(feature = "demo")]
    Demo(demo::DemoArgs),
    /// Run a stand-in for Slack or Discord, to try things out without an account.
    #[cfg(feature = "demo")]
    Dev(dev::DevArgs),
}

/// Runs the command line, and prints an error as one line.
pub fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|verb| verb == pdf_text::COMMAND) {
        return pdf_text::main();
    }
    let matches = help::command().try_get_matches();
    let parsed = matches.and_then(|matches| {
        let verb = matches.subcommand_name().unwrap_or("run").to_owned();
        Ok((Cli::from_arg_matches(&matches)?, verb))
    });
    let (cli, verb) = parsed.unwrap_or_else(|error| help::with_replacement(error).exit());
    match cli.run(&verb) {
        Ok(code) => code,
        Err(error) => {
            tell(&format!("aizuchi: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

impl Cli {
    fn run(self, verb: &str) -> anyhow::Result<ExitCode> {
        let model = self.model.as_ref().map(ModelFlag::find).transpose()?;
        let selection =
            model.as_ref().map_or(ModelSelection::Configured, |model| model.selection());
        let command = self.command.unwrap_or_else(|| CliCommand::Run(RunArgs::default()));
        check_options(verb, self.model.as_ref(), &self.run)?;
        let named_config = self.config.clone();
        let source = ConfigSource::find(self.config);
        match command {
            CliCommand::Run(run) => return run_app(&source, selection, &run.merge(self.run)),
            CliCommand::Check => return check::run(&source, selection),
            CliCommand::Why(why) => why.run(&source, self.run.language)?,
            CliCommand::Status(status) => status.run(&source)?,
            CliCommand::Health(health) => return health.run(&source),
            CliCommand::Search(search) => search.run(&source)?,
            CliCommand::Prompt(prompt) => prompt.run(&source, selection)?,
            // `replay` and `tune` measure a config that is named explicitly: one that happens to be in the folder does
            // not count.
            CliCommand::Replay(replay) => return replay.run(named_config, &source, selection),
            CliCommand::Tune(tune) => return tune.run(named_config, &source),
            CliCommand::Report(report) => report.run(&source)?,
            CliCommand::Eval(eval) => return eval.run(&source, selection),
            CliCommand::Import(import) => import.run(&source)?,
            CliCommand::Export(export) => export.run(&source)?,
            CliCommand::Forget(forget) => forget.run(&source)?,
            CliCommand::Set(set) => set.run(&source)?,
            CliCommand::Reload(reload) => reload.run(&source)?,
            CliCommand::Backup(backup) => backup.run(&source)?,
            CliCommand::Restore(restore) => restore.run(&source)?,
            CliCommand::Migrate(migrate) => migrate.run(&source)?,
            CliCommand::Config(config) => config.run()?,
            CliCommand::Console(console) => console.run(&source)?,
            CliCommand::Slack(slack) => slack.run()?,
            CliCommand::Discord(discord) => discord.run(&source)?,
            CliCommand::Completions(completions) => completions.run()?,
            CliCommand::Man(man) => man.run()?,
            #[cfg(feature = "demo")]
            CliCommand::Demo(_) if named_config.is_some() => {
                anyhow::bail!("--config cannot be used with demo, which has its own settings")
            }
            #[cfg(feature = "demo")]
            CliCommand::Demo(demo) => {
                // A model that was chosen for another room does not apply to a demo.
                demo.run(model.as_ref().map_or(ModelSelection::NoModel, |model| model.selection()))?
            }
            #[cfg(feature = "demo")]
            CliCommand::Dev(dev) => dev.run()?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The verbs that `--model` before them applies to.
const WITH_MODEL: [&str; 6] = ["run", "check", "prompt", "replay", "eval", "demo"];

/// Checks that the options before a verb apply to it.
fn check_options(verb: &str, model: Option<&ModelFlag>, run: &RunArgs) -> anyhow::Result<()> {
    anyhow::ensure!(
        model.is_none() || WITH_MODEL.contains(&verb),
        "--model works only with run, check, prompt, replay, eval and demo"
    );
    let is_known = match verb {
        "run" => true,
        "why" => RunArgs { language: None, ..run.clone() } == RunArgs::default(),
        _ => *run == RunArgs::default(),
    };
    anyhow::ensure!(
        is_known,
        "--port and --open work only with run, and --language only with run and why"
    );
    Ok(())
}

fn run_app(
    source: &ConfigSource,
    selection: ModelSelection<'_>,
    run: &RunArgs,
) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let loaded = source.load(selection)?;
    let settings = run.settings(&loaded);
    let LoadedConfig { mut config, warnings, fingerprints, .. } = loaded;
    run.apply(&mut config)?;
    let runtime = Runtime::new().context("cannot start the runtime")?;
    let (traces, problem) = match Traces::from_environment(runtime.handle().clone()) {
        Ok(traces) => (traces, None),
        Err(error) => (None, Some(error)),
    };
    let levels = log::init(&config.logging, traces.as_ref());
    if let Some(problem) = problem {
        // The cause of the error may contain the endpoint, and that a secret.
        warn!(error = %problem, "traces are off");
    }
    for warning in warnings {
        warn!("{warning}");
    }
    for exposed in file_permissions::exposed_files(source.file(), &config.database_address()) {
        warn!("{exposed}");
    }
    let ended = runtime.block_on(async {
        let mut stops = StopSignals::listen()?;
        let mut hangups = Hangups::listen()?;
        let stop = CancellationToken::new();
        // A process that has stood by runs with the config of this moment.
        let newest = Cell::new(None);
        let reread = || {
            let loaded = source.load(selection)?;
            let settings = run.settings(&loaded);
            let LoadedConfig { config: mut newer, fingerprints, .. } = loaded;
            run.apply(&mut newer)?;
            newest.set(Some((fingerprints, settings)));
            Ok(newer)
        };
        let app = tokio::select! {
            app = App::open(&config, reread, started) => app?,
            // A process on standby has no work to finish.
            () = stops.recv() => return Ok(ExitCode::SUCCESS),
        };
        let (fingerprints, settings) = newest.take().unwrap_or((fingerprints, settings));
        levels.replace(&app.live.config.read().logging)?;
        if let Some(traces) = &traces {
            traces.set_installation(&app.installation());
        }
        let language = terminal_language(config.language);
        print(&welcome_text(&config, source, &app))?;
        if run.open {
            browser::open(page_address(app.address));
        }
        let mut reload = Reload {
            source,
            selection,
            run,
            started: fingerprints.clone(),
            newest: fingerprints,
            levels,
            live: app.live.clone(),
        };
        *app.live.configuration.in_force.write() = ConfigInForce {
            file: reload::config_file(source),
            settings,
            need_restart: Vec::new(),
        };
        let configuration = app.live.configuration.clone();
        let mut offers = pin!(model::print_offers(app.models(), language));
        let mut has_offered = false;
        let mut ended = Box::pin(app.run(stop.clone()));
        // A reload asks the platforms to accept new tokens. Nothing else waits for it.
        let mut terminal_closed = pin!(async {
            loop {
                tokio::select! {
                    hangup = hangups.recv() => match hangup {
                        Hangup::Reload => drop(reload.reload().await),
                        Hangup::TerminalClosed => break,
                    },
                    Some(request) = configuration.next_request() => {
                        let reloaded = reload.reload().await;
                        // Who asked may be gone.
                        request.send(reloaded).ok();
                    }
                }
            }
        });
        loop {
            tokio::select! {
                ended = &mut ended => return ended.map(|()| ExitCode::SUCCESS),
                () = stops.recv() => break,
                () = &mut offers, if !has_offered => has_offered = true,
                () = &mut terminal_closed => break,
            }
        }
        stop.cancel();
        tokio::select! {
            ended = ended => ended.map(|()| ExitCode::SUCCESS),
            () = stops.recv() => anyhow::bail!("stopped immediately; Aizuchi finishes the work at the next start"),
        }
    });
    if let Some(traces) = traces {
        traces.shutdown();
    }
    match ended {
        // As a line of the log, like all others, and even if the log has just told of the same trouble.
        Err(error) if log::is_json(&config.logging) && enabled!(Level::ERROR) => {
            error!(why = format!("{error:#}"), "the program has ended");
            Ok(ExitCode::FAILURE)
        }
        ended => ended,
    }
}

/// Does the work of a command on a runtime of its own.
fn block_on<T, E>(work: impl Future<Output = Result<T, E>>) -> anyhow::Result<T>
where
    anyhow::Error: From<E>,
{
    Ok(Runtime::new().context("cannot start the runtime")?.block_on(work)?)
}

/// Does the work of a command that changes the database.
async fn with_store<T>(
    address: &DatabaseLocation,
    work: impl AsyncFnOnce(DatabaseStore) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let (store, writer) = address.open().await?;
    let stop = CancellationToken::new();
    let work = async {
        let result = work(store).await;
        stop.cancel();
        result
    };
    let (writer_end, result) = tokio::join!(writer.run(stop.clone()), work);
    writer_end?;
    result
}

/// A progress bar, or a spinner if the length of the work is not known. Hidden unless stderr is a terminal.
fn progress_bar(template: &str, length: Option<u64>) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = length.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Writes JSON to stdout.
fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print(&serde_json::to_string_pretty(value)?)
}

/// Writes to stdout. A closed pipe is not an error.
fn print(text: &str) -> anyhow::Result<()> {
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to stdout")
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes to stderr. Unlike `eprintln!`, it does not panic if that is a closed pipe or a file on a full disk.
fn tell(text: &str) {
    // There is no other place where the failure could be reported.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Writes a file with chat messages, readable by the process's own user only.
fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path);
    let owned = |file: File| -> std::io::Result<File> {
        // A file that already existed keeps the mode it had. A device such as /dev/null belongs to everybody.
        if file.metadata()?.is_file() {
            file.set_permissions(Permissions::from_mode(0o600))?;
        }
        Ok(file)
    };
    file.and_then(owned)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// A count of things, in English like the whole command line.
fn number_of(things: Counted, number: u64) -> String {
    things(Language::En, usize::try_from(number).unwrap_or(usize::MAX), &number.to_string())
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

/// SIGTERM and SIGINT. The program subscribes before it does anything else, because a signal may arrive at any time.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    fn listen() -> anyhow::Result<Self> {
        let terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
        let interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
        Ok(Self { terminate, interrupt })
    }

    async fn recv(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// SIGHUP, which requests a reload or reports that the terminal was closed.
struct Hangups {
    hangup: Signal,
    was_on_terminal: bool,
}

enum Hangup {
    Reload,
    /// The terminal that the program was started on was closed, so the program should not outlive it.
    TerminalClosed,
}

impl Hangups {
    fn listen() -> anyhow::Result<Self> {
        let hangup = signal(SignalKind::hangup()).context("cannot listen for SIGHUP")?;
        Ok(Self { hangup, was_on_terminal: std::io::stdin().is_terminal() })
    }

    async fn recv(&mut self) -> Hangup {
        self.hangup.recv().await;
        match self.was_on_terminal && !std::io::stdin().is_terminal() {
            true => Hangup::TerminalClosed,
            false => Hangup::Reload,
        }
    }
}

fn welcome_text(config: &Config, source: &ConfigSource, app: &App) -> String {
    let language = terminal_language(config.language);
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

/// Describes to the operator which models answer and judge.
fn describe_minds(config: &Config) -> String {
    let (response, judgment) = (&config.minds.response.model.id, &config.minds.judgment.model.id);
    let language = terminal_language(config.language);
    let model_name = |model: &ModelId| match model {
        ModelId::Builtin => texts::command_line::builtin_mind(language).to_owned(),
        ModelId::Hosted { .. } => model.to_string(),
    };
    if response == judgment {
        return model_name(response);
    }
    texts::command_line::two_minds(language, &model_name(response), &model_name(judgment))
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::fd::{AsRawFd as _, OwnedFd};

    use super::*;

    #[test]
    fn only_a_file_is_made_private() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("page.html");
        std::fs::write(&page, "before").unwrap();
        std::fs::set_permissions(&page, Permissions::from_mode(0o644)).unwrap();
        write_private(&page, "after").unwrap();
        let mode = |file: &File| file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&File::open(&page).unwrap()), 0o600);
        let (mut reader, writer) = std::io::pipe().unwrap();
        let pipe = File::from(OwnedFd::from(writer));
        pipe.set_permissions(Permissions::from_mode(0o622)).unwrap();
        write_private(&PathBuf::from(format!("/dev/fd/{}", pipe.as_raw_fd())), "after").unwrap();
        assert_eq!(mode(&pipe), 0o622);
        drop(pipe);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "after");
    }
}
