//! `aizuchi import`: imports the data of another bot, or recorded messages.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::PathBuf;
use std::sync::Arc;

use aizuchi_agent::forgetter::expires_before;
use aizuchi_agent::inbox::channel_cache::ChannelCache;
use aizuchi_agent::inbox::in_flight::InFlight;
use aizuchi_agent::inbox::{Inbox, Redaction};
use aizuchi_agent::metrics::Metrics;
use aizuchi_config::source::ConfigSource;
use aizuchi_config::{Config, LoadedConfig, ModelSelection};
use aizuchi_discord::text::is_id;
use aizuchi_import::history::open_text;
use aizuchi_import::input::{InputFormat, format};
use aizuchi_import::kotonoha::arranged::KotonohaArranged;
use aizuchi_import::kotonoha::dump::{KotonohaDump, KotonohaOptions, MentionSessions};
use aizuchi_import::kotonoha::{self, copy};
use aizuchi_import::myao2::database::Myao2Database;
use aizuchi_import::myao2::{Myao2MemoTarget, Myao2Messages, Myao2Options};
use aizuchi_import::record_sorter::SorterLimits;
use aizuchi_import::streamed::StreamedMessage;
use aizuchi_import::to_import::arranged::{Arranged, Destination};
use aizuchi_import::to_import::{self, KnownHere, RecordedData};
use aizuchi_import::{ImportCount, ImportData, ImportReport, SkippedItems};
use aizuchi_model::chat::local;
use aizuchi_model::chat::{AuthorKind, Channel, UserId, Visibility, WorkspaceId, to_single_line};
use aizuchi_model::clock::Clock;
use aizuchi_slack::identity::fetch_identity;
use aizuchi_store::Store;
use aizuchi_store::archive::Archive;
use aizuchi_store::database::DatabaseStore;
use anyhow::Context as _;
use clap::Args;
use futures_util::{Stream, stream};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::cli::{block_on, print, with_store};

/// Import from myao2, kotonoha or another Aizuchi, or from exports and recorded messages.
///
/// Stop Aizuchi first. Afterwards, Aizuchi knows the imported messages but does not answer them. Everything that is already in its database stays unchanged.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// The database of myao2, which is not changed; a dump of kotonoha's database, as `pg_dump DATABASE` prints it,
    /// plain or gzipped; an export of Slack (the zip or its folder), or the JSON of DiscordChatExporter (a file, a folder
    /// or a zip); an export of another Aizuchi, or recorded messages in JSON Lines, plain or gzipped.
    input: PathBuf,
    /// The workspace that the messages belong to: the id of a Slack team, like T0123456789; a Discord server, like
    /// discord:1234567890; or `local`, the local room. If omitted: the workspace that the input names, else the team of
    /// the configured Slack token, or the local room if no platform is configured.
    #[arg(long, value_name = "WORKSPACE")]
    workspace: Option<String>,
    /// The user id of the bot, like U0123456789. If omitted: the id in myao2's database, or for an export the persona that the database knows.
    #[arg(long, value_name = "USER")]
    bot: Option<String>,
    /// Make every memo known in every channel, as in myao2. Otherwise, a memo stays in the channel where it was made.
    #[arg(long)]
    share_memos: bool,
    /// Import what people said to kotonoha by mention, and put each person's messages into the channel where they
    /// began. Otherwise, these messages are left out, because kotonoha does not store in which channels the later ones
    /// were written.
    #[arg(long)]
    mentions: bool,
}

/// The kind of input.
enum ImportInput {
    Myao2(Box<Myao2Database>),
    KotonohaDump,
    /// An export of Slack or Discord.
    PlatformExport,
    Recording,
}

/// The data to import.
enum ReadInput {
    Myao2(Box<ImportData>, Box<Myao2Messages>),
    KotonohaDump(Box<KotonohaDump>),
    /// Messages stored on disk, and the workspaces that they go to.
    Recorded(Box<RecordedData>, Vec<Destination>),
}

/// The results of an import.
struct Imported {
    reports: Vec<(WorkspaceId, ImportReport)>,
    /// Whether all channels of the data are private.
    is_private: bool,
    /// How many messages are older than the retention period.
    expired: usize,
}

impl ImportArgs {
    pub fn run(self, source: &ConfigSource) -> anyhow::Result<()> {
        let LoadedConfig { config, .. } = source.load(ModelSelection::NoModel)?;
        let imported = block_on(async {
            let input = self.read(&config).await?;
            let work = async |store| import(input, Arc::new(store), &config).await;
            with_store(&config.database_address(), work).await
        })?;
        print(&describe_imported(&imported, &config))
    }

    async fn read(&self, config: &Config) -> anyhow::Result<ReadInput> {
        let persona = self.bot.as_deref().map(|bot| UserId::new(to_single_line(bot)));
        let persona_name = config.persona.name.0.clone();
        let zone = config.time_zone_or(TimeZone::system());
        match self.open().await? {
            ImportInput::Myao2(database) => {
                let options = Myao2Options {
                    workspace: self.workspace(config).await?,
                    persona,
                    persona_name,
                    memo_scope: match self.share_memos {
                        true => Myao2MemoTarget::Everywhere,
                        false => Myao2MemoTarget::OriginChannel,
                    },
                    zone,
                };
                let expired_before = expired_before(config);
                let (data, messages) =
                    aizuchi_import::myao2::read(*database, options, expired_before).await?;
                Ok(ReadInput::Myao2(Box::new(data), Box::new(messages)))
            }
            ImportInput::KotonohaDump => {
                let options = KotonohaOptions {
                    workspace: self.named_workspace(),
                    persona,
                    persona_name,
                    zone,
                    mentions: match self.mentions {
                        true => MentionSessions::OfFirstChannel,
                        false => MentionSessions::LeftOut,
                    },
                };
                let input = open_text(&self.input)?;
                let dump = kotonoha::dump::read(input, options)
                    .with_context(|| format!("cannot import {}", self.input.display()))?;
                Ok(ReadInput::KotonohaDump(Box::new(dump)))
            }
            ImportInput::PlatformExport => {
                let recorded = self.read_export(config).await;
                let recorded =
                    recorded.with_context(|| format!("cannot import {}", self.input.display()))?;
                self.place(recorded, config, persona).await
            }
            ImportInput::Recording => {
                let recorded = to_import::read(open_text(&self.input)?)
                    .with_context(|| format!("cannot read {}", self.input.display()))?;
                self.place(recorded, config, persona).await
            }
        }
    }

    async fn read_export(&self, config: &Config) -> anyhow::Result<RecordedData> {
        let named = self.named_workspace();
        let workspaces = to_import::exported_workspaces(&self.input)?;
        let (store, _) = config.database_address().open().await?;
        let mut known = KnownHere::default();
        for workspace in workspaces.iter().chain(&named) {
            let channels = store.channels(workspace).await?.into_iter();
            known.channels.extend(channels.map(|it| ((it.workspace, it.id), it.visibility)));
            let users = store.users(workspace).await?.into_iter();
            let own = users.filter(|user| user.kind == AuthorKind::Persona);
            known.personas.extend(own.map(|it| (it.workspace, it.id)));
        }
        to_import::read_export(&self.input, config.language.own(), named.as_ref(), &known)
    }

    /// Places recorded messages. Data that names its workspace goes there, and the rest to the workspace that the
    /// options select.
    async fn place(
        &self,
        recorded: RecordedData,
        config: &Config,
        persona: Option<UserId>,
    ) -> anyhow::Result<ReadInput> {
        let input = self.input.display();
        anyhow::ensure!(
            !recorded.is_empty(),
            "{input} is neither a myao2 database, nor a dump of kotonoha's database, nor recorded messages"
        );
        let exported = &recorded.exported;
        let named = self.named_workspace();
        let is_one_of = |named: &WorkspaceId| exported.contains_key(named);
        if let Some(named) = named.as_ref().filter(|named| exported.len() > 1 && !is_one_of(named))
        {
            let known: Vec<&str> = exported.keys().map(WorkspaceId::as_str).collect();
            anyhow::bail!(
                "{input} holds several workspaces ({}), and {named} is none of them; without --workspace each is imported \
                 as it is",
                known.join(", ")
            );
        }
        let is_wanted = |workspace: &WorkspaceId| {
            exported.len() == 1 || named.as_ref().is_none_or(|named| named == workspace)
        };
        let destination = |source: Option<&WorkspaceId>, workspace: WorkspaceId| Destination {
            source: source.cloned(),
            workspace,
            persona: persona.clone(),
            forgotten: HashMap::new(),
        };
        let wanted = exported.keys().filter(|workspace| is_wanted(workspace));
        let mut destinations: Vec<Destination> = wanted
            .map(|source| {
                let workspace = named.as_ref().unwrap_or(source).clone();
                destination(Some(source), workspace)
            })
            .collect();
        if recorded.recorded.is_some() {
            let workspace = self.workspace(config).await?;
            destinations.push(destination(None, workspace));
        }
        Ok(ReadInput::Recorded(Box::new(recorded), destinations))
    }

    /// Detects what the input is.
    async fn open(&self) -> anyhow::Result<ImportInput> {
        let input = self.input.display();
        anyhow::ensure!(self.input.exists(), "{input} does not exist");
        let is_file = self.input.is_file();
        if is_file && let Some(database) = Myao2Database::open(&self.input).await? {
            return Ok(ImportInput::Myao2(Box::new(database)));
        }
        // A damaged file is reported by whatever reads it.
        let format = format::recognize(&self.input).unwrap_or_default();
        if let Some(InputFormat::Slack | InputFormat::Discord) = format {
            return Ok(ImportInput::PlatformExport);
        }
        anyhow::ensure!(is_file, "{input} is not a file");
        let mut text = open_text(&self.input)?;
        let beginning = text.fill_buf().with_context(|| format!("cannot read {input}"))?;
        anyhow::ensure!(
            !copy::is_custom_dump(beginning),
            "{input} is a dump in pg_dump's own format; `pg_restore --file=dump.sql {input}` makes a plain one of it, \
             which can be imported"
        );
        match copy::is_dump(beginning) {
            true => Ok(ImportInput::KotonohaDump),
            false => Ok(ImportInput::Recording),
        }
    }

    fn named_workspace(&self) -> Option<WorkspaceId> {
        let named = self.workspace.as_deref().map(to_single_line).filter(|it| !it.is_empty());
        // A bare number is the id of a Discord server.
        named.map(|named| match is_id(&named) {
            true => WorkspaceId::new(format!("discord:{named}")),
            false => WorkspaceId::new(named),
        })
    }

    /// The workspace of `--workspace`, or the one that the configured Slack token belongs to, or the local room if no
    /// platform is configured.
    async fn workspace(&self, config: &Config) -> anyhow::Result<WorkspaceId> {
        if let Some(named) = self.named_workspace() {
            return Ok(named);
        }
        let Some(slack) = config.slack_settings() else {
            anyhow::ensure!(
                config.discord.is_none(),
                "the input does not say which workspace it comes from; --workspace can name a Discord server, as in \
                 discord:1234567890 (its id is in the address of its web page, after /channels/), or the local room: local"
            );
            return Ok(local::workspace_id());
        };
        let identity = fetch_identity(&slack).await;
        Ok(identity
            .context(
                "cannot ask Slack which workspace this is; give --workspace the id of the Slack team, which begins with T \
                 and is in the address of the workspace's web page",
            )?
            .workspace)
    }
}

/// Imports the data of each workspace.
async fn import(
    input: ReadInput,
    store: Arc<DatabaseStore>,
    config: &Config,
) -> anyhow::Result<Imported> {
    let expired_before = expired_before(config);
    let limits = SorterLimits::default();
    let mut reports = Vec::new();
    match input {
        ReadInput::Myao2(mut data, mut messages) => {
            let (workspace, expired) = (data.workspace.clone(), messages.expired);
            let is_private = has_only_private_channels(std::slice::from_ref(&*data));
            let forgotten = store.forgotten_at(&workspace, &data.user_ids()).await?;
            messages.leave_out(forgotten, &mut data).await?;
            let report = import_one(*data, messages.stream(), store, config).await?;
            Ok(Imported { reports: vec![(workspace, report)], is_private, expired })
        }
        ReadInput::KotonohaDump(dump) => {
            let mut forgotten = HashMap::new();
            for workspace in dump.workspaces() {
                let users = dump.users(&workspace);
                let of_workspace = store.forgotten_at(&workspace, &users).await?;
                forgotten.insert(workspace, of_workspace);
            }
            let KotonohaArranged { data, mut messages, expired } =
                dump.arrange(&forgotten, limits, expired_before)?;
            let is_private = has_only_private_channels(&data);
            for (index, data) in data.into_iter().enumerate() {
                let workspace = data.workspace.clone();
                let messages = stream::iter(messages.of(index));
                let report = import_one(data, messages, store.clone(), config).await?;
                reports.push((workspace, report));
            }
            Ok(Imported { reports, is_private, expired })
        }
        ReadInput::Recorded(recorded, mut destinations) => {
            for destination in &mut destinations {
                let users = recorded.users(destination.source.as_ref());
                destination.forgotten = store.forgotten_at(&destination.workspace, &users).await?;
            }
            let Arranged { data, mut messages, expired } =
                recorded.arrange(destinations, limits, expired_before)?;
            let is_private = has_only_private_channels(&data);
            for (index, data) in data.into_iter().enumerate() {
                let workspace = data.workspace.clone();
                let messages = stream::iter(messages.of(index));
                let report = import_one(data, messages, store.clone(), config).await?;
                reports.push((workspace, report));
            }
            Ok(Imported { reports, is_private, expired })
        }
    }
}

/// The retention limit: older messages are erased the next time Aizuchi runs.
fn expired_before(config: &Config) -> Option<Timestamp> {
    let retention = config.message_retention();
    retention.map(|max_age| expires_before(Timestamp::now(), max_age))
}

fn has_only_private_channels(data: &[ImportData]) -> bool {
    let is_private = |channel: &Channel| channel.visibility == Visibility::Private;
    data.iter().all(|data| !data.knows_visibility && data.channels.iter().all(is_private))
}

/// How much of the platform's own history is read when a channel is first seen.
fn history_span(config: &Config, workspace: &WorkspaceId) -> Option<SignedDuration> {
    if workspace.as_str().starts_with("discord:") {
        return config.discord_settings().map(|discord| discord.history_span);
    }
    config.slack_settings().map(|slack| slack.history_span)
}

/// Imports the data of one workspace and its messages, which are too many to hold in memory.
async fn import_one(
    mut data: ImportData,
    streamed: impl Stream<Item = anyhow::Result<StreamedMessage>>,
    store: Arc<DatabaseStore>,
    config: &Config,
) -> anyhow::Result<ImportReport> {
    let workspace = &data.workspace.clone();
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
        // Old messages may contain commands that were meant for the other bot.
        persona_name: None,
        also_called: Vec::new(),
        zone: TimeZone::UTC,
        is_announcing: false,
        // The memories are imported as well. What they lack is remembered together with the next new messages.
        remember_delay: None,
        random_seed: 0,
    };
    let forgotten = store.forgotten_at(workspace, &data.user_ids()).await?;
    data.leave_out_forgotten(&forgotten);
    let history_from = history_span(config, workspace).map(|span| clock.now() - span);
    aizuchi_import::import_stream(data, streamed, &inbox, &*store, &*store, history_from).await
}

fn describe_imported(imported: &Imported, config: &Config) -> String {
    let Imported { reports, is_private, expired } = imported;
    let mut text = String::new();
    for (workspace, report) in reports {
        if reports.len() > 1 {
            text += &format!("workspace {workspace}\n");
        }
        text += &describe_report(report);
    }
    if *is_private && reports.iter().any(|(_, report)| report.channels.new > 0) {
        text += "note      Who may read the new channels is not known, so they count as private, even if the platform \
                 says that they are public.\n";
    }
    if *expired > 0 {
        text += &format!(
            "note      Messages in it that are older than retention.messages_days allows, {expired} in all, are erased when \
             Aizuchi runs next.\n"
        );
    }
    format!("{text}database  {}", config.database_address())
}

fn describe_report(report: &ImportReport) -> String {
    let ImportReport { channels, users, messages, reactions, memories, memos, orders, skipped } =
        report;
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
    // Other bots have neither of these.
    for (kind, count) in [("reactions", reactions), ("orders", orders)] {
        if count.new + count.existing > 0 {
            text += &row(kind, count);
        }
    }
    for SkippedItems { kind, count, reason } in skipped {
        text += &format!("left out  {kind}: {count}; {reason}\n");
    }
    text
}
