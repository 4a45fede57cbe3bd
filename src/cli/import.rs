//! `aizuchi import`: what another program kept is brought along.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use jiff::tz::TimeZone;
use tokio_util::sync::CancellationToken;

use crate::cli::print;
use crate::config::{Config, Loaded, Thinkers};
use crate::replay::history::History;
use crate::replay::to_import;
use aizuchi_core::chat::{UserId, WorkspaceId, one_line};
use aizuchi_core::clock::Clock;
use aizuchi_core::hear::rooms::Rooms;
use aizuchi_core::hear::under_way::UnderWay;
use aizuchi_core::hear::{Ears, Withheld};
use aizuchi_core::metrics::Metrics;
use aizuchi_core::store::database::DatabaseStore;
use aizuchi_core::store::{Archive, Store};
use aizuchi_import::myao2::database::Myao2;
use aizuchi_import::myao2::{Circumstances, WhereMemos};
use aizuchi_import::{Belongings, LeftOut, Report, Tally};
use aizuchi_slack::ask_who;

/// Bring along what another program kept: the database of myao2, or recorded messages. It only becomes
/// known; nothing is answered. What is here already stays.
#[derive(Debug, Args)]
pub struct Import {
    /// A database of myao2 (it is not changed), or JSON lines as `replay` reads them.
    input: PathBuf,
    /// The workspace that it is of: a Slack team's id, like T0123456789.
    #[arg(long, value_name = "TEAM")]
    workspace: Option<String>,
    /// The user that the persona was, like U0123456789. Left out, myao2's database tells.
    #[arg(long, value_name = "USER")]
    bot: Option<String>,
    /// Have everybody know every memo, as in myao2. Otherwise a memo is seen only where it was made.
    #[arg(long)]
    share_memos: bool,
}

impl Import {
    pub fn obey(self, file: Option<&Path>) -> anyhow::Result<ExitCode> {
        let Loaded { config, .. } = Config::load(file, Thinkers::Nobody)?;
        let runtime = tokio::runtime::Runtime::new().context("starting the runtime")?;
        runtime.block_on(async {
            let workspace = self.workspace(&config).await?;
            let belongings = self.read(&config, &workspace).await?;
            let (store, writer) = config.database().open().await?;
            let stop = CancellationToken::new();
            let bringing = async {
                let report = bring(belongings, Arc::new(store), &config, &workspace).await;
                stop.cancel();
                report
            };
            let (written, report) = tokio::join!(writer.run(stop.clone()), bringing);
            written?;
            print(&told(&report?, &config))?;
            Ok(ExitCode::SUCCESS)
        })
    }

    /// The one that is named, or the one that the config's token is of.
    async fn workspace(&self, config: &Config) -> anyhow::Result<WorkspaceId> {
        let named = self.workspace.as_deref().map(one_line).filter(|it| !it.is_empty());
        if let Some(named) = named {
            return Ok(WorkspaceId::new(named));
        }
        let slack = config.slack().context(
            "the input does not say which workspace it is of: --workspace takes the id of the Slack \
             team, which begins with T and stands in the address of the workspace's web page",
        )?;
        let who = ask_who(&slack.settings(config.channel_sync())).await;
        Ok(who.context("asking Slack which workspace it is; --workspace can name it")?.workspace)
    }

    async fn read(&self, config: &Config, workspace: &WorkspaceId) -> anyhow::Result<Belongings> {
        let shown = self.input.display();
        anyhow::ensure!(self.input.exists(), "{shown} does not exist");
        anyhow::ensure!(self.input.is_file(), "{shown} is not a file");
        let persona = self.bot.as_deref().map(|bot| UserId::new(one_line(bot)));
        if let Some(mut old) = Myao2::open(&self.input).await? {
            let circumstances = Circumstances {
                workspace: workspace.clone(),
                persona,
                persona_name: config.persona.name.0.clone(),
                memos: match self.share_memos {
                    true => WhereMemos::Everywhere,
                    false => WhereMemos::OwnRoom,
                },
                zone: config.zone_or(TimeZone::system()),
            };
            return Ok(aizuchi_import::myao2::read(&mut old, &circumstances).await?);
        }
        let history = History::open(&self.input)?;
        anyhow::ensure!(
            !history.rooms.is_empty(),
            "{shown} is neither a database of myao2 nor recorded messages"
        );
        Ok(to_import::read(&history, workspace, persona.as_ref()))
    }
}

async fn bring(
    belongings: Belongings,
    store: Arc<DatabaseStore>,
    config: &Config,
    workspace: &WorkspaceId,
) -> anyhow::Result<Report> {
    let clock = Clock::system();
    let rooms = Rooms::new(config.agent().rulebook);
    for channel in store.channels(workspace).await? {
        rooms.learn(&channel);
    }
    rooms.obey(workspace, &store.orders(workspace).await?);
    let ears = Ears {
        store: store.clone(),
        under_way: Arc::new(UnderWay::default()),
        rooms: Arc::new(rooms),
        clock: clock.clone(),
        metrics: Arc::new(Metrics::default()),
        waiting: aizuchi_import::waiting(),
        withheld: Withheld::Dropped,
        // Whoever was ordered about then was another.
        commanded_as: None,
        announces: false,
        // What is remembered of it comes along; the rest is remembered with what is said next.
        remembers_after: None,
        seed: 0,
    };
    let history_from = config.slack().map(|slack| clock.now() - slack.history);
    Ok(aizuchi_import::bring(belongings, &ears, &*store, history_from).await?)
}

fn told(report: &Report, config: &Config) -> String {
    let Report { channels, users, lines, memories, memos, left_out } = report;
    let tally = |what: &str, Tally { new, known }: &Tally| {
        format!("{what:<9} {new} brought along, {known} here already\n")
    };
    let mut told = String::new();
    for (what, count) in [
        ("channels", channels),
        ("people", users),
        ("messages", lines),
        ("memories", memories),
        ("memos", memos),
    ] {
        told += &tally(what, count);
    }
    for LeftOut { what, count, why } in left_out {
        told += &format!("left out  {what}: {count}; {why}\n");
    }
    if channels.new > 0 {
        told += "note      Who may read the new channels is not known, so what was said there stays there, also \
                 when Slack says that they are public.\n";
    }
    format!("{told}database  {}", config.database())
}
