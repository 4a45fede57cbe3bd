//! `aizuchi export`: writes the stored data in a form that other programs can read, or what is known about one person.

mod everything;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use aizuchi_actions::export_user::describe_user;
use aizuchi_config::ModelSelection;
use aizuchi_config::source::ConfigSource;
use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_model::persona::Language;
use aizuchi_model::texts::counted;
use aizuchi_past::eval::decide::from_marks;
use aizuchi_store::archive::Archive as _;
use aizuchi_store::database::DatabaseStore;
use aizuchi_store::database::location::DatabaseLocation;
use aizuchi_store::query::DecisionQuery;
use aizuchi_store::read_only::ReadOnlyDatabase;
use anyhow::Context as _;
use clap::Args;
use jiff::Timestamp;

use crate::cli::export::everything::Export;
use crate::cli::find_by_name::find_user;
use crate::cli::{block_on, number_of, print};

/// Export everything, what is known about one person, or marked decisions.
///
/// Messages with their reactions, channels, people, memories, memos, opt-outs, mutes, modes, settings and standing orders in
/// force, decisions and marks are written as JSON Lines, which `replay` and `import` read. What is known about a person is a text that can be given
/// to them. Marked decisions become cases for `eval`. Aizuchi can keep running.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The file to write; it must not exist yet. If omitted: standard output.
    file: Option<PathBuf>,
    /// Only what is known about this person: their id or name.
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Only this channel: its name or its id.
    #[arg(long, value_name = "CHANNEL", conflicts_with = "user")]
    channel: Option<String>,
    /// The decisions that were marked on the console, as cases that `eval` reads, with their prompts. These hold what was
    /// known from other channels, too, so `--channel` leaves them out.
    #[arg(long, conflicts_with = "user")]
    marks: bool,
}

impl ExportArgs {
    pub fn run(self, source: &ConfigSource) -> anyhow::Result<()> {
        let config = source.load(ModelSelection::NoModel)?.config;
        block_on(self.export(&config.database_address(), config.language.own()))
    }

    async fn export(&self, address: &DatabaseLocation, language: Language) -> anyhow::Result<()> {
        let database = ReadOnlyDatabase::open(address).await?;
        let workspaces = database.workspaces().await?;
        let only = match &self.channel {
            None => None,
            Some(wanted) => {
                let found = database.find_channels(wanted).await?;
                anyhow::ensure!(
                    !found.is_empty(),
                    "there is no channel {wanted:?} in the database"
                );
                Some(found.into_iter().collect::<BTreeSet<_>>())
            }
        };
        let store = database.into_store();
        match &self.user {
            None if self.marks => {
                let count = self.export_marks(&store, workspaces, only, language).await?;
                if let Some(file) = &self.file {
                    let cases = number_of(counted::cases, count as u64);
                    print(&format!("{} holds {cases}", file.display()))?;
                }
            }
            None => {
                let count = self.export_all(&store, workspaces, only).await?;
                if let Some(file) = &self.file {
                    let messages = number_of(counted::messages, count as u64);
                    print(&format!("{} holds {messages}", file.display()))?;
                }
            }
            Some(user) => self.export_user(&store, &workspaces, user).await?,
        }
        Ok(())
    }

    /// Opens the output. Only the process's own user can read the file.
    fn open(&self) -> anyhow::Result<Box<dyn Write>> {
        let Some(path) = &self.file else { return Ok(Box::new(std::io::stdout().lock())) };
        let file = File::options().write(true).create_new(true).mode(0o600).open(path);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Box::new(BufWriter::new(file)))
    }

    async fn export_all(
        &self,
        store: &DatabaseStore,
        workspaces: Vec<WorkspaceId>,
        only: Option<BTreeSet<(WorkspaceId, ChannelId)>>,
    ) -> anyhow::Result<usize> {
        let mut export = Export { output: self.open()?, store, only: only.as_ref(), messages: 0 };
        for workspace in workspaces {
            export.write_workspace(&workspace).await?;
        }
        export.output.flush().context("cannot write the export")?;
        Ok(export.messages)
    }

    /// One case for each marked decision, in the order in which they were marked.
    async fn export_marks(
        &self,
        store: &DatabaseStore,
        workspaces: Vec<WorkspaceId>,
        only: Option<BTreeSet<(WorkspaceId, ChannelId)>>,
        language: Language,
    ) -> anyhow::Result<usize> {
        let mut output = self.open()?;
        let mut count = 0;
        for workspace in workspaces {
            for mark in store.marks_since(&workspace, Timestamp::UNIX_EPOCH).await? {
                if let Some(only) = &only {
                    let id = mark.decision;
                    let query = DecisionQuery::One { workspace: workspace.clone(), id };
                    let found = store.decisions(query).await?.pop();
                    let channel = found.map(|decision| decision.conversation.channel);
                    if !channel.is_some_and(|it| only.contains(&(workspace.clone(), it))) {
                        continue;
                    }
                }
                let item = from_marks::read(store, &workspace, &mark, language).await?;
                if let Some(mut item) = item {
                    item.prompt = item.prompt.filter(|_| only.is_none());
                    let line = serde_json::to_string(&item).context("cannot write a case")?;
                    writeln!(output, "{line}").context("cannot write the cases")?;
                    count += 1;
                }
            }
        }
        output.flush().context("cannot write the cases")?;
        Ok(count)
    }

    async fn export_user(
        &self,
        store: &DatabaseStore,
        workspaces: &[WorkspaceId],
        wanted: &str,
    ) -> anyhow::Result<()> {
        let users = find_user(store, wanted).await?;
        let mut output = self.open()?;
        for user in &users {
            if workspaces.contains(&user.workspace) {
                let text = describe_user(store, store, user).await?;
                output.write_all(text.as_bytes()).context("cannot write what is known")?;
            }
        }
        output.flush().context("cannot write what is known")?;
        Ok(())
    }
}
