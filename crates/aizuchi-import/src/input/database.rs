//! Reads Aizuchi's own database, even while the program is running on it.

use std::collections::{BTreeMap, HashMap};

use aizuchi_agent::learner;
use aizuchi_model::chat::{Channel, Visibility, WorkspaceId};
use aizuchi_model::decision::tolerance::Label;
use aizuchi_model::memory::MessageRef;
use aizuchi_store::Store;
use aizuchi_store::archive::Archive;
use aizuchi_store::database::DatabaseStore;
use aizuchi_store::database::location::DatabaseLocation;
use aizuchi_store::query::{MessageQuery, MessageRange};
use aizuchi_store::read_only::ReadOnlyDatabase;
use aizuchi_store::stored_message::StoredMessage;
use anyhow::Context as _;
use jiff::{SignedDuration, Timestamp};

use crate::history::RecordedMessage;
use crate::input::{InputFormat, InputOptions, InputWriter, PrivateChannels, Recording};

/// The number of messages that are read at once.
const PAGE: usize = 1000;

/// The welcome labels of each channel, by the name under which it is replayed, oldest first.
pub type LabelsByChannel = BTreeMap<String, Vec<Label>>;

/// Reads the welcome labels of the channels, as far as they were known a day after the last message.
pub async fn welcome_labels(
    location: &DatabaseLocation,
    private: PrivateChannels,
) -> anyhow::Result<LabelsByChannel> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let database = ReadOnlyDatabase::open_any_version(location, folder.path()).await?;
    let mut channels = Vec::new();
    let workspaces = database.workspaces().await?;
    for workspace in &workspaces {
        channels.extend(database.channels(workspace).await?);
    }
    let names = channel_names(&channels);
    let store = database.into_store();
    let mut known = HashMap::new();
    for workspace in workspaces {
        let activity = store.channel_activity(&workspace).await?.into_iter();
        let newest =
            activity.flat_map(|channel| [channel.last_heard, channel.last_spoke]).flatten().max();
        let end =
            newest.map_or(Timestamp::UNIX_EPOCH, |newest| newest + SignedDuration::from_hours(24));
        known.insert(workspace.clone(), learner::welcome_labels(&store, &workspace, end).await?);
    }
    let is_taken = |channel: &Channel| match (channel.visibility, private) {
        (Visibility::Public, _) | (_, PrivateChannels::Taken) => true,
        (Visibility::Private | Visibility::Direct, PrivateChannels::LeftOut) => false,
    };
    let named = channels.iter().zip(names).filter(|(channel, _)| is_taken(channel));
    let labels = named.filter_map(|(channel, name)| {
        let labels = known.get_mut(&channel.workspace)?.remove(&channel.id)?;
        Some((name, labels))
    });
    Ok(labels.collect())
}

/// Reads all channels of all workspaces.
pub async fn read(
    location: &DatabaseLocation,
    options: &InputOptions,
    progress: &dyn Fn(u64),
) -> anyhow::Result<Recording> {
    let mut writer = InputWriter::new(options, progress);
    // Before an upgrade, the new version replays what the old version has heard, so any version of the database is
    // read.
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let database = ReadOnlyDatabase::open_any_version(location, folder.path()).await?;
    let mut channels = Vec::new();
    for workspace in database.workspaces().await? {
        channels.extend(database.channels(&workspace).await?);
    }
    let labels = channel_names(&channels);
    let store = database.into_store();
    for (channel, label) in channels.iter().zip(&labels) {
        let is_private = match channel.visibility {
            Visibility::Public => false,
            Visibility::Private | Visibility::Direct => true,
        };
        if writer.takes_channel(label, is_private) {
            writer.begin_file(format!("{label}, message "));
            read_channel(&store, channel, label, &mut writer).await?;
        }
    }
    writer.finish(InputFormat::Database)
}

async fn read_channel(
    store: &DatabaseStore,
    channel: &Channel,
    label: &str,
    writer: &mut InputWriter<'_>,
) -> anyhow::Result<()> {
    let mut range = MessageRange::AfterTime(Timestamp::UNIX_EPOCH);
    let mut number = 0;
    loop {
        let query = MessageQuery {
            workspace: channel.workspace.clone(),
            channel: channel.id.clone(),
            thread: None,
            range,
            limit: PAGE,
        };
        let page = store.messages(query).await?;
        let Some(last) = page.last() else { return Ok(()) };
        range = MessageRange::After(last.message.id.clone());
        for stored in readable(store, page, &channel.workspace, writer).await? {
            number += 1;
            add(number, &stored, label, writer)?;
        }
    }
}

/// Returns the messages of a page that may be read. Messages from the time when the channel was private stay private,
/// and messages that no prompt may contain are not replayed: commands, and messages by users who have opted out.
async fn readable(
    store: &DatabaseStore,
    page: Vec<StoredMessage>,
    workspace: &WorkspaceId,
    writer: &mut InputWriter<'_>,
) -> anyhow::Result<Vec<StoredMessage>> {
    let mut kept = Vec::with_capacity(page.len());
    for stored in page {
        match (stored.is_expired, stored.is_deleted) {
            (true, _) => writer.left_out.expired += 1,
            (false, true) => writer.left_out.deleted += 1,
            (false, false) => kept.push(stored),
        }
    }
    let reference = |stored: &StoredMessage| {
        MessageRef(stored.message.conversation.channel.clone(), stored.message.id.clone())
    };
    let references: Vec<MessageRef> = kept.iter().map(reference).collect();
    let found = store.source_messages(workspace, &references).await?.into_iter();
    let found: HashMap<_, _> =
        found.map(|(message, visibility)| (message.id.clone(), visibility)).collect();
    let mut readable = Vec::with_capacity(kept.len());
    for stored in kept {
        match found.get(&stored.message.id) {
            None => writer.left_out.withheld += 1,
            Some(Visibility::Private | Visibility::Direct)
                if writer.options.private == PrivateChannels::LeftOut =>
            {
                writer.left_out.private_messages += 1;
            }
            Some(_) => readable.push(stored),
        }
    }
    Ok(readable)
}

fn add(
    number: u64,
    stored: &StoredMessage,
    label: &str,
    writer: &mut InputWriter<'_>,
) -> anyhow::Result<()> {
    if stored.message.id.is_join() {
        writer.left_out.notices += 1;
        return Ok(());
    }
    writer.add(number, &RecordedMessage::from_stored(label, stored))
}

/// Returns the name of each channel, with its workspace or its id where the name is ambiguous.
fn channel_names(channels: &[Channel]) -> Vec<String> {
    let first = channels.first().map(|channel| &channel.workspace);
    let is_one_workspace = channels.iter().all(|channel| Some(&channel.workspace) == first);
    let label = |channel: &Channel| {
        let name = channel.name.strip_prefix('#').unwrap_or(&channel.name);
        let name = if name.is_empty() { channel.id.as_str() } else { name };
        match is_one_workspace {
            true => name.to_owned(),
            false => format!("{}/{name}", channel.workspace),
        }
    };
    let mut counts: HashMap<String, usize> = HashMap::new();
    channels.iter().for_each(|channel| *counts.entry(label(channel)).or_default() += 1);
    let name = |channel: &Channel| match label(channel) {
        label if counts.get(&label).is_some_and(|count| *count > 1) => {
            format!("{label} ({})", channel.id)
        }
        label => label,
    };
    channels.iter().map(name).collect()
}
