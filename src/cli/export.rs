//! `aizuchi export`: what was heard, in a form that other programs read, or what is known of one person.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use jiff::Timestamp;
use serde_json::json;

use crate::cli::{person, print, strip_control_characters};
use crate::config::ModelSelection;
use crate::config::source::ConfigSource;
use crate::eval::decide::from_marks;
use aizuchi_core::chat::{AuthorKind, Channel, ChannelId, UserId, WorkspaceId};
use aizuchi_core::memory::{Memory, MessageRef};
use aizuchi_core::persona::Language;
use aizuchi_core::store::database::DatabaseStore;
use aizuchi_core::store::database::location::DatabaseLocation;
use aizuchi_core::store::database::read_only::ReadOnlyDatabase;
use aizuchi_core::store::{Archive as _, DecisionQuery, Store as _, StoredMessage};

/// How many messages are read at once.
const PAGE: usize = 1000;

/// Export all messages, what is known about one person, or marked decisions.
///
/// Messages are written as JSON Lines, which `replay` and `import` read. What is known about a person is a text that can be given
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
    /// The decisions that were marked on the console, as cases that `eval` reads.
    #[arg(long, conflicts_with = "user")]
    marks: bool,
}

impl ExportArgs {
    pub fn run(self, source: &ConfigSource) -> anyhow::Result<ExitCode> {
        let config = source.load(ModelSelection::NoModel)?.config;
        let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
        runtime.block_on(self.export(&config.database_address(), config.language.own()))?;
        Ok(ExitCode::SUCCESS)
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
                    print(&format!("{} holds {count} cases", file.display()))?;
                }
            }
            None => {
                let count = self.export_messages(&store, workspaces, only).await?;
                if let Some(file) = &self.file {
                    print(&format!("{} holds {count} messages", file.display()))?;
                }
            }
            Some(user) => self.export_user(&store, &workspaces, user).await?,
        }
        Ok(())
    }

    /// Only the process's own user can read the file.
    fn open(&self) -> anyhow::Result<Box<dyn Write>> {
        let Some(path) = &self.file else { return Ok(Box::new(std::io::stdout().lock())) };
        let file = File::options().write(true).create_new(true).mode(0o600).open(path);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Box::new(BufWriter::new(file)))
    }

    async fn export_messages(
        &self,
        store: &DatabaseStore,
        workspaces: Vec<WorkspaceId>,
        only: Option<BTreeSet<(WorkspaceId, ChannelId)>>,
    ) -> anyhow::Result<usize> {
        let mut output = self.open()?;
        let mut count = 0;
        for workspace in workspaces {
            let channels: HashMap<ChannelId, Channel> = store
                .channels(&workspace)
                .await?
                .into_iter()
                .map(|channel| (channel.id.clone(), channel))
                .collect();
            let mut pages = Pages { store, workspace: &workspace, revision: 0 };
            while let Some(page) = pages.next().await? {
                for stored in page {
                    let channel = stored.message.conversation.channel.clone();
                    let is_wanted = only
                        .as_ref()
                        .is_none_or(|only| only.contains(&(workspace.clone(), channel.clone())));
                    if stored.is_deleted || !is_wanted {
                        continue;
                    }
                    let line = message_json(&workspace, &stored, channels.get(&channel));
                    writeln!(output, "{line}").context("cannot write the messages")?;
                    count += 1;
                }
            }
        }
        output.flush().context("cannot write the messages")?;
        Ok(count)
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
                if let Some(item) = item {
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
        let users = person::find_one(store, wanted).await?;
        let mut output = self.open()?;
        for user in &users {
            if workspaces.contains(&user.workspace) {
                write_user(&mut output, store, &user.workspace, &user.id, &user.name).await?;
            }
        }
        output.flush().context("cannot write what is known")?;
        Ok(())
    }
}

/// The messages of a workspace, in the order in which they came or changed.
struct Pages<'a> {
    store: &'a DatabaseStore,
    workspace: &'a WorkspaceId,
    revision: u64,
}

impl Pages<'_> {
    async fn next(&mut self) -> anyhow::Result<Option<Vec<StoredMessage>>> {
        let page = self.store.messages_since(self.workspace, self.revision, PAGE).await?;
        let Some(last) = page.last() else { return Ok(None) };
        self.revision = last.revision;
        Ok(Some(page))
    }
}

fn message_json(
    workspace: &WorkspaceId,
    stored: &StoredMessage,
    channel: Option<&Channel>,
) -> serde_json::Value {
    let message = &stored.message;
    json!({
        "workspace": workspace,
        "room": message.conversation.channel,
        "room_name": channel.map(|channel| &channel.name),
        "visibility": channel.map(|channel| channel.visibility),
        "thread": message.conversation.thread,
        "id": message.id,
        "ts": message.at.as_millisecond() as f64 / 1000.0,
        "author": message.author.id,
        "name": stored.author_name,
        "bot": message.author.kind != AuthorKind::Human,
        "text": message.text,
    })
}

/// A text about one person, for them to read.
async fn write_user(
    output: &mut dyn Write,
    store: &DatabaseStore,
    workspace: &WorkspaceId,
    user: &UserId,
    name: &str,
) -> anyhow::Result<()> {
    let shown = |text: &str| strip_control_characters(text);
    writeln!(
        output,
        "# {} ({}) in {}",
        shown(name),
        shown(user.as_str()),
        shown(workspace.as_str())
    )?;
    let orders = store.orders(workspace).await?;
    if orders.opted_out.contains(user) {
        writeln!(output, "\nOpted out: what they say is in no prompt and no memory.")?;
    }
    let names: BTreeMap<ChannelId, String> = store
        .channels(workspace)
        .await?
        .into_iter()
        .map(|channel| (channel.id.clone(), channel.name.to_string()))
        .collect();
    let channel_name = |id: &ChannelId| {
        shown(names.get(id).map_or(id.as_str(), String::as_str).trim_start_matches('#')).to_string()
    };
    let mut theirs = BTreeSet::new();
    writeln!(output, "\n## Messages\n")?;
    let mut pages = Pages { store, workspace, revision: 0 };
    while let Some(page) = pages.next().await? {
        for stored in page {
            let message = &stored.message;
            if message.author.id != *user || stored.is_deleted {
                continue;
            }
            let channel = &message.conversation.channel;
            theirs.insert(MessageRef(channel.clone(), message.id.clone()));
            let at = message.at.strftime("%Y-%m-%d %H:%M:%S UTC");
            let text = indented(&message.text);
            writeln!(output, "- {at} #{}: {text}", channel_name(channel))?;
        }
    }
    if theirs.is_empty() {
        writeln!(output, "None.")?;
    }
    writeln!(output, "\n## Remembered from them\n")?;
    let memories = store.memories(workspace).await?;
    let entries: Vec<String> =
        memories.iter().flat_map(|memory| entries_from(memory, &theirs)).collect();
    for entry in &entries {
        writeln!(output, "- {}", indented(entry))?;
    }
    let mut memos = BTreeMap::new();
    for channel in names.keys() {
        memos.extend(store.memos(workspace, channel).await?);
    }
    let memos: Vec<_> = memos.values().filter(|memo| memo.said_by.as_ref() == Some(user)).collect();
    for memo in &memos {
        writeln!(output, "- Memo “{}”: {}", indented(&memo.name), indented(&memo.content))?;
    }
    if entries.is_empty() && memos.is_empty() {
        writeln!(output, "Nothing.")?;
    }
    writeln!(output)?;
    Ok(())
}

/// A text of several lines under its bullet. A terminal obeys nothing in it.
fn indented(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(strip_control_characters).collect();
    lines.join("\n    ")
}

/// The entries of a memory that rest on one of these messages.
fn entries_from(memory: &Memory, theirs: &BTreeSet<MessageRef>) -> Vec<String> {
    let from_them = memory
        .entries
        .iter()
        .filter(|entry| entry.messages.iter().any(|message| theirs.contains(message)));
    from_them.map(|entry| entry.text.to_string()).collect()
}
