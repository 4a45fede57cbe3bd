//! `aizuchi status`: the current status of every workspace and channel. It opens the database read-only, so it also
//! works while an Aizuchi is running, and asks that process for what is not in the database.

use std::fmt::Write as _;

use aizuchi_config::source::ConfigSource;
use aizuchi_config::{Config, ModelSelection};
use aizuchi_model::chat::strip_control_characters;
use aizuchi_model::clock::Clock;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_store::Store as _;
use aizuchi_store::archive::Archive as _;
use aizuchi_store::read_only::ReadOnlyDatabase;
use aizuchi_web::status::{
    ChannelStatus, ConnectionStatus, Status, StatusReader, WorkspaceStatus, told_cost,
};
use clap::Args;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::cli::running::{ProgramClient, RunningWorkspace, UnknownConnections};
use crate::cli::{block_on, print, print_json};

/// Show the state of every channel, what is pending, and today's cost.
///
/// If Aizuchi is running on this database, the command asks it for the names of workspaces, their connections and how
/// far their history has been read. Otherwise, one line says why these are unknown.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The JSON output. The field names are documented and stable.
#[derive(Debug, Serialize)]
struct PrintedStatus {
    #[serde(flatten)]
    status: Status,
    /// The version of the running program. `None` if it is unknown.
    running_version: Option<String>,
    /// Why the connections are unknown. `None` if they are known.
    connection_unknown: Option<UnknownConnections>,
}

impl StatusArgs {
    pub fn run(self, source: &ConfigSource) -> anyhow::Result<()> {
        let config = source.load(ModelSelection::NoModel)?.config;
        let now = Clock::system().now();
        let status = block_on(read(&config, now))?;
        if self.json {
            print_json(&status)
        } else {
            print(&format_status(&status, &config.models.currency.0, now))
        }
    }
}

async fn read(config: &Config, now: Timestamp) -> anyhow::Result<PrintedStatus> {
    let location = config.database_address();
    let database = ReadOnlyDatabase::open(&location).await?;
    let mut workspaces = database.workspaces().await?;
    let store = database.into_store();
    let (running, unknown) = match ProgramClient::find(config, &store).await? {
        Ok((_, running)) => (Some(running), None),
        Err(unknown) => (None, Some(unknown)),
    };
    // The running program also knows workspaces in which it has not heard anything yet.
    for RunningWorkspace { workspace, .. } in running.iter().flat_map(|it| &it.workspaces) {
        if !workspaces.contains(workspace) && !store.channels(workspace).await?.is_empty() {
            workspaces.push(workspace.clone());
        }
    }
    let (rulebook, zone) = (config.rulebook(), config.time_zone_or(TimeZone::system()));
    let reader = StatusReader { archive: &store, rulebook: &rulebook, zone: &zone, now };
    let mut read = Vec::new();
    for workspace in workspaces {
        let orders = store.orders(&workspace).await?;
        let connection = running.as_ref().and_then(|running| running.connection(&workspace));
        read.push(WorkspaceStatus { connection, ..reader.workspace(&workspace, &orders).await? });
    }
    let status = Status {
        version: env!("CARGO_PKG_VERSION"),
        database: location.to_string(),
        installation: store.counters().await?.installation,
        workspaces: read,
        dead_letters: store.backlog().await?.dead_letters,
    };
    let running_version = running.map(|running| running.version);
    Ok(PrintedStatus { status, running_version, connection_unknown: unknown })
}

fn format_status(printed: &PrintedStatus, currency: &str, now: Timestamp) -> String {
    let PrintedStatus { status, running_version, connection_unknown } = printed;
    let mut text = format!("Aizuchi {}, {}\n", status.version, status.database);
    // Writing to a string never fails.
    if let Some(version) = running_version.as_ref().filter(|running| *running != status.version) {
        let _ = writeln!(text, "Version {} is running.", strip_control_characters(version));
    }
    if let Some(unknown) = connection_unknown {
        let told = strip_control_characters(&unknown.told);
        let _ = writeln!(text, "Whether workspaces are connected is unknown: {told}.");
    }
    for workspace in &status.workspaces {
        text.push_str(&format_workspace(workspace, currency, now));
    }
    if status.workspaces.is_empty() {
        text.push_str("\nNothing has been heard yet.\n");
    }
    if status.dead_letters > 0 {
        let posts = if status.dead_letters == 1 { "post was" } else { "posts were" };
        let _ =
            writeln!(text, "\n{} {posts} given up; the console shows them.", status.dead_letters);
    }
    text.truncate(text.trim_end().len());
    text
}

fn format_workspace(workspace: &WorkspaceStatus, currency: &str, now: Timestamp) -> String {
    let mut text = format!("\n{}", strip_control_characters(&workspace_label(workspace)));
    let muted = workspace.muted_until.map(|until| format!(", {}", format_mute(until, now)));
    let cost = |money, unpriced| told_cost(Language::En, money, currency, unpriced);
    let _ = writeln!(
        text,
        "{}: today {} tokens and {}, in 30 days {}",
        muted.unwrap_or_default(),
        workspace.tokens_today,
        cost(workspace.money_today, workspace.unpriced_tokens_today),
        cost(workspace.money_this_month, workspace.unpriced_tokens_this_month),
    );
    if let Some(connection) = workspace.connection.as_ref().and_then(format_connection) {
        let _ = writeln!(text, "  {}", strip_control_characters(&connection));
    }
    let row = |channel: &ChannelStatus| {
        let cost = match channel.tokens_today {
            0 => "–".to_owned(),
            _ => cost(channel.money_today, channel.unpriced_tokens_today),
        };
        format_channel(channel, cost, now)
    };
    let rows: Vec<[String; 7]> = workspace.channels.iter().map(row).collect();
    let header = ["CHANNEL", "MODE", "HEARD", "SPOKE", "WAITING", "TODAY", "COST TODAY"];
    let header = header.map(str::to_owned);
    let rows: Vec<_> = std::iter::once(header).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    for row in &rows {
        let mut line = String::from(" ");
        for (column, cell) in row.iter().enumerate() {
            let padding = width(column).unwrap_or(0) - cell.chars().count();
            let _ = write!(line, " {cell}{:padding$} ", "");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The workspace's name on its platform, with its id.
fn workspace_label(workspace: &WorkspaceStatus) -> String {
    let name = workspace.connection.as_ref().and_then(|connection| connection.name.as_ref());
    match name {
        Some(name) => format!("{name} ({})", workspace.workspace),
        None => workspace.workspace.to_string(),
    }
}

/// Says whether a workspace is connected, and how far its channels are read. `None` for the local room, which is always
/// connected.
fn format_connection(connection: &ConnectionStatus) -> Option<String> {
    let ConnectionStatus { platform, outage, behind, channels, failing, .. } = connection;
    let state = match (platform, outage) {
        (None, None) => return None,
        (None, Some(_)) => texts::console::no_platform(Language::En).to_owned(),
        (Some(platform), None) => {
            format!("{platform}: {}", texts::console::connected(Language::En))
        }
        (Some(platform), Some(why)) => {
            format!("{platform}: {}", texts::console::not_connected(Language::En, why))
        }
    };
    let read = channels.saturating_sub(*behind);
    let behind = (*behind > 0).then(|| texts::console::catching_up(Language::En, read, *channels));
    let failing = (*failing > 0).then(|| texts::console::failing(Language::En, *failing));
    let facts: Vec<String> = [Some(state), behind, failing].into_iter().flatten().collect();
    Some(facts.join(", "))
}

fn format_channel(channel: &ChannelStatus, cost: String, now: Timestamp) -> [String; 7] {
    let name = strip_control_characters(channel.name.trim_start_matches('#'));
    let lock = if channel.visibility == "public" { "" } else { " (private)" };
    let muted = channel.muted_until.map(|until| format!(", {}", format_mute(until, now)));
    let ago = |at: Option<f64>| at.map_or("–".to_owned(), |at| format!("{} ago", span(at, now)));
    let waiting = channel.pending.iter().min_by(|one, other| one.due.total_cmp(&other.due));
    let waiting = waiting.map_or("–".to_owned(), |step| {
        let verb = if step.owed { format!("{} (asked)", step.verb) } else { step.verb.to_owned() };
        match step.due - seconds(now) {
            _ if step.in_progress => format!("{verb} now"),
            late if late <= 0.0 => format!("{verb} due"),
            _ => format!("{verb} in {}", span(step.due, now)),
        }
    });
    let decisions = channel.decisions_today.iter();
    let today: Vec<String> = decisions
        .map(|(outcome, count)| format!("{count} {}", outcome.replace('_', " ")))
        .collect();
    [
        format!("#{name}{lock}"),
        format!("{}{}", channel.mode, muted.unwrap_or_default()),
        ago(channel.last_heard),
        ago(channel.last_spoke),
        waiting,
        if today.is_empty() { "–".to_owned() } else { today.join(", ") },
        cost,
    ]
}

/// Formats when a mute ends. A mute without an end is stored with the latest possible time.
fn format_mute(until: f64, now: Timestamp) -> String {
    const YEAR: f64 = 366.0 * 86_400.0;
    match until - seconds(now) {
        left if left > YEAR => "muted".to_owned(),
        _ => format!("muted for {}", span(until, now)),
    }
}

/// The time between `at` and now, in its largest unit.
fn span(at: f64, now: Timestamp) -> String {
    let apart = SignedDuration::from_secs((at - seconds(now)).abs().round() as i64);
    let (number, unit) = match apart.as_secs() {
        seconds @ ..60 => (seconds, "s"),
        seconds @ ..3600 => (seconds / 60, "min"),
        seconds @ ..86_400 => (seconds / 3600, "h"),
        seconds => (seconds / 86_400, "d"),
    };
    format!("{number} {unit}")
}

fn seconds(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1000.0
}
