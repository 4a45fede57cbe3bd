//! `aizuchi import`: imports the data of another bot, or recorded messages.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio_util::sync::CancellationToken;

use crate::cli::print;
use crate::config::source::ConfigSource;
use crate::config::{Config, LoadedConfig, ModelSelection};
use crate::replay::history::History;
use crate::replay::to_import;
use aizuchi_core::chat::{UserId, WorkspaceId, to_single_line};
use aizuchi_core::clock::Clock;
use aizuchi_core::forgetter::expires_before;
use aizuchi_core::inbox::channel_cache::ChannelCache;
use aizuchi_core::inbox::in_flight::InFlight;
use aizuchi_core::inbox::{Inbox, Redaction};
use aizuchi_core::metrics::Metrics;
use aizuchi_core::platform::local;
use aizuchi_core::store::database::DatabaseStore;
use aizuchi_core::store::sqlite::myao2;
use aizuchi_core::store::{Archive, Store};
use aizuchi_import::myao2::database::Myao2Database;
use aizuchi_import::myao2::{Myao2MemoTarget, Myao2Options};
use aizuchi_import::{ImportCount, ImportData, ImportReport, SkippedItems};
use aizuchi_slack::identity::fetch_identity;

/// Import the database of myao2, or recorded messages.
///
/// Stop Aizuchi first. Afterwards, Aizuchi knows the imported messages but does not answer them. Everything that is already in its database stays unchanged.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// The database of myao2, which is not changed, or recorded messages as `replay` reads them.
    input: PathBuf,
    /// The workspace that the messages belong to: the id of a Slack team, like T0123456789. Without it: the team of the
    /// configured Slack token; recorded messages belong to the local room if no platform is configured.
    #[arg(long, value_name = "TEAM")]
    workspace: Option<String>,
    /// The user id of the bot, like U0123456789. Without it, the id is taken from myao2's database.
    #[arg(long, value_name = "USER")]
    bot: Option<String>,
    /// Make every memo known in every channel, as in myao2. Otherwise a memo stays in the channel where it was made.
    #[arg(long)]
    share_memos: bool,
}

impl ImportArgs {
    pub fn run(self, source: &ConfigSource) -> anyhow::Result<ExitCode> {
        let LoadedConfig { config, .. } = source.load(ModelSelection::NoModel)?;
        let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
        runtime.block_on(async {
            let workspace = self.workspace(&config).await?;
            let data = self.read(&config, &workspace).await?;
            let expired = count_expired(&data, &config, Timestamp::now());
            let (store, writer) = config.database_address().open().await?;
            let stop = CancellationToken::new();
            let import = async {
                let report = import_with_progress(data, Arc::new(store), &config, &workspace).await;
                stop.cancel();
                report
            };
            let (writer_end, report) = tokio::join!(writer.run(stop.clone()), import);
            writer_end?;
            print(&describe_report(&report?, expired, &config))?;
            Ok(ExitCode::SUCCESS)
        })
    }

    /// The workspace of `--workspace`, or the one that the configured Slack token belongs to, or the local room if no
    /// platform is configured.
    async fn workspace(&self, config: &Config) -> anyhow::Result<WorkspaceId> {
        let named = self.workspace.as_deref().map(to_single_line).filter(|it| !it.is_empty());
        if let Some(named) = named {
            return Ok(WorkspaceId::new(named));
        }
        let is_local = config.slack.is_none() && config.discord.is_none();
        // myao2 knows Slack only.
        if is_local && !myao2::is_at(&self.input) {
            return Ok(local::workspace_id());
        }
        let slack = config.resolved_slack().context(
            "the input does not say which workspace it comes from; give --workspace the id of the Slack \
             team, which begins with T and is in the address of the workspace's web page",
        )?;
        let identity = fetch_identity(&slack.settings(config.channel_sync_interval())).await;
        Ok(identity
            .context("cannot ask Slack which workspace it is; --workspace can name it")?
            .workspace)
    }

    async fn read(&self, config: &Config, workspace: &WorkspaceId) -> anyhow::Result<ImportData> {
        let input = self.input.display();
        anyhow::ensure!(self.input.exists(), "{input} does not exist");
        anyhow::ensure!(self.input.is_file(), "{input} is not a file");
        let persona = self.bot.as_deref().map(|bot| UserId::new(to_single_line(bot)));
        if let Some(mut database) = Myao2Database::open(&self.input).await? {
            let options = Myao2Options {
                workspace: workspace.clone(),
                persona,
                persona_name: config.persona.name.0.clone(),
                memo_scope: match self.share_memos {
                    true => Myao2MemoTarget::Everywhere,
                    false => Myao2MemoTarget::OriginChannel,
                },
                zone: config.time_zone_or(TimeZone::system()),
            };
            return Ok(aizuchi_import::myao2::read(&mut database, &options).await?);
        }
        let history = History::open(&self.input)?;
        anyhow::ensure!(
            !history.channels.is_empty(),
            "{input} is neither a database of myao2 nor recorded messages"
        );
        Ok(to_import::read(&history, workspace, persona.as_ref()))
    }
}

async fn import_with_progress(
    data: ImportData,
    store: Arc<DatabaseStore>,
    config: &Config,
    workspace: &WorkspaceId,
) -> anyhow::Result<ImportReport> {
    let clock = Clock::system();
    let channel_cache = ChannelCache::new(config.agent_settings().rulebook);
    for channel in store.channels(workspace).await? {
        channel_cache.update_channel(&channel);
    }
    channel_cache.replace_orders(workspace, &store.orders(workspace).await?);
    let inbox = Inbox {
        store: store.clone(),
        archive: store.clone(),
        in_flight: Arc::new(InFlight::default()),
        channel_cache: Arc::new(channel_cache),
        clock: clock.clone(),
        metrics: Arc::new(Metrics::default()),
        wait_settings: aizuchi_import::wait_settings(),
        redaction: Redaction::Drop,
        // Old messages may hold commands, which were for the other bot.
        persona_name: None,
        is_announcing: false,
        // The memories are imported, too. What they lack is remembered along with the next new messages.
        remember_delay: None,
        random_seed: 0,
    };
    let history_from = config.resolved_slack().map(|slack| clock.now() - slack.history);
    Ok(aizuchi_import::import_data(data, &inbox, &*store, history_from).await?)
}

/// How many of the messages are older than messages are kept.
fn count_expired(data: &ImportData, config: &Config, now: Timestamp) -> usize {
    let Some(max_age) = config.message_retention() else { return 0 };
    let before = expires_before(now, max_age);
    data.messages.iter().filter(|imported| imported.message.at < before).count()
}

fn describe_report(report: &ImportReport, expired: usize, config: &Config) -> String {
    let ImportReport { channels, users, messages, memories, memos, skipped } = report;
    let row = |kind: &str, ImportCount { new, existing }: &ImportCount| {
        format!("{kind:<9} {new} imported, {existing} known already\n")
    };
    let mut text = String::new();
    for (kind, count) in [
        ("channels", channels),
        ("people", users),
        ("messages", messages),
        ("memories", memories),
        ("memos", memos),
    ] {
        text += &row(kind, count);
    }
    for SkippedItems { kind, count, reason } in skipped {
        text += &format!("left out  {kind}: {count}; {reason}\n");
    }
    if channels.new > 0 {
        text += "note      Who may read the new channels is not known, so they count as private, even if Slack says \
                 that they are public.\n";
    }
    if expired > 0 {
        text += &format!(
            "note      Messages in it that are older than retention.messages_days allows, {expired} in all, are erased when \
             Aizuchi runs next.\n"
        );
    }
    format!("{text}database  {}", config.database_address())
}
