//! Converts recorded chat, and everything else in an export, to the data of an import. The messages may not fit in
//! memory, so they are sorted on disk and heard in batches.

pub mod arranged;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::BufRead;
use std::path::Path;

use crate::record_sorter::{RecordSorter, SorterLimits};
use crate::{ImportData, ImportedMemo, ImportedMemory, SkippedItems, name_lines};
use aizuchi_model::chat::{
    Channel, ChannelId, User, UserId, Visibility, WorkspaceId, channel_topic,
};
use aizuchi_model::memory::asker::signer;
use aizuchi_model::persona::Language;
use aizuchi_model::rules::setting_override::{SettingChange, SettingKind, SettingScope};
use aizuchi_model::standing_order::{StandingOrderScope, StandingOrderText};
use aizuchi_store::order::Order;
use anyhow::Context as _;
use serde_json::Value;

use crate::export_lines::{LineKind, MessageLine, OtherLine, memory_key, scope_columns};
use crate::history::RecordedMessage;
use crate::input::Recording;
use crate::json_lines::{holds, read_lines};
use crate::quoted_messages::QuotedMessages;

/// The number of unreadable lines whose line numbers are kept.
const MAX_NUMBERS: usize = 10;
const UNKNOWN: &str = "who may read them is not known; start Aizuchi there once, so that the platform tells it, stop it, and \
     import again";

/// The contents of a JSON Lines file. Without the messages, its size grows with the number of channels and users.
pub struct RecordedData {
    /// The lines of messages, by message. A message that changed while an export was written has two lines, of which
    /// the later one counts.
    lines: RecordSorter,
    /// What an export holds besides messages, by workspace.
    pub exported: BTreeMap<WorkspaceId, ExportedWorkspace>,
    /// The authors of the messages that do not name their workspace, which are those of other recordings. `None` if
    /// there are no such messages.
    pub recorded: Option<BTreeSet<UserId>>,
    bad_lines: BadLines,
    /// The number of items in an export that are not imported, by kind.
    left_out: BTreeMap<&'static str, usize>,
}

/// What an export holds of a workspace besides its messages.
#[derive(Default)]
pub struct ExportedWorkspace {
    /// The users who wrote messages, or reacted to them.
    users: BTreeSet<UserId>,
    others: Vec<OtherLine>,
    quoted: QuotedMessages,
}

/// Lines that could not be read.
#[derive(Default)]
struct BadLines {
    count: usize,
    /// The first line numbers, counted from 1.
    numbers: Vec<usize>,
}

/// What the database knows and the export of a platform may not say.
#[derive(Default)]
pub struct KnownHere {
    pub channels: HashMap<(WorkspaceId, ChannelId), Visibility>,
    pub personas: HashSet<(WorkspaceId, UserId)>,
}

/// The kind of a message's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordedMessageKind {
    /// A message of a recording that is not an export.
    Recorded,
    /// A message of an export.
    Exported,
    /// A message of an export that no prompt may contain.
    Withheld,
}

/// Reads JSON Lines.
pub fn read(input: impl BufRead) -> anyhow::Result<RecordedData> {
    read_within(input, SorterLimits::default())
}

/// Like [`read`], with limits on the memory used.
pub fn read_within(mut input: impl BufRead, limits: SorterLimits) -> anyhow::Result<RecordedData> {
    let mut data = RecordedData::new(limits);
    read_lines(&mut input, &mut |number, line| data.push(number, line))
        .context("cannot read the recorded messages")?;
    Ok(data)
}

/// Returns the workspaces that an export of Slack or Discord names.
pub fn exported_workspaces(path: &Path) -> anyhow::Result<BTreeSet<WorkspaceId>> {
    let mut workspaces = BTreeSet::new();
    Recording::read_lines(path, Language::En, &mut |_, line| {
        workspaces.insert(line.workspace);
        Ok(())
    })?;
    Ok(workspaces)
}

/// Reads an export of Slack or Discord. `named` is the workspace if the export does not name it.
pub fn read_export(
    path: &Path,
    language: Language,
    named: Option<&WorkspaceId>,
    known: &KnownHere,
) -> anyhow::Result<RecordedData> {
    let mut data = RecordedData::new(SorterLimits::default());
    let mut unknown = BTreeSet::new();
    let bad_records = Recording::read_lines(path, language, &mut |number, mut line| {
        if line.workspace.as_str().is_empty() {
            let named = named.context(
                "it does not say which Slack team it is of; give --workspace the team's id, like T0123456789",
            )?;
            line.workspace = named.clone();
        }
        let channel = (line.workspace.clone(), line.channel.clone());
        let known_here = known.channels.get(&channel).copied();
        // What only its members read is taken only where the companion is one of them.
        if line.visibility != Some(Visibility::Public) {
            line.visibility = known_here.map(|here| line.visibility.unwrap_or(here));
        }
        if line.visibility.is_none() {
            unknown.insert(channel);
            return Ok(());
        }
        line.persona = known.personas.contains(&(line.workspace.clone(), line.author.clone()));
        data.push(number, Ok(&serde_json::to_vec(&line)?))
    })?;
    let unknown = unknown.len();
    anyhow::ensure!(!data.is_empty() || unknown == 0, "of its channels, {unknown}: {UNKNOWN}");
    data.left_out.extend([("channels", unknown), ("records", bad_records)]);
    data.left_out.retain(|_, count| *count > 0);
    Ok(data)
}

impl RecordedData {
    fn new(limits: SorterLimits) -> Self {
        Self {
            lines: RecordSorter::new(limits),
            exported: BTreeMap::new(),
            recorded: None,
            bad_lines: BadLines::default(),
            left_out: BTreeMap::new(),
        }
    }

    fn push(&mut self, number: u64, line: Result<&[u8], String>) -> anyhow::Result<()> {
        let taken = line.and_then(|line| Ok((self.take(line)?, line)));
        match taken {
            Ok((Some((kind, key)), line)) => self.lines.push(key, kind.record(number, line)),
            Ok((None, _)) => Ok(()),
            Err(_) => {
                self.bad_lines.add(number);
                Ok(())
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.recorded.is_none() && self.exported.is_empty()
    }

    /// Returns the users in an export's workspace or, for `None`, in the messages that do not name their workspace.
    pub fn users(&self, workspace: Option<&WorkspaceId>) -> BTreeSet<UserId> {
        let Some(workspace) = workspace else { return self.recorded.clone().unwrap_or_default() };
        let exported = self.exported.get(workspace);
        exported.map(|exported| exported.users.clone()).unwrap_or_default()
    }

    /// Takes a line, and returns its kind and key if it is a message. The error says what is wrong with it.
    fn take(&mut self, line: &[u8]) -> Result<Option<(RecordedMessageKind, Vec<u8>)>, String> {
        match LineKind::from_line(line) {
            LineKind::Other => {
                self.take_other(line);
                return Ok(None);
            }
            LineKind::Withheld => {
                *self.left_out.entry("withheld messages").or_default() += 1;
                let line = serde_json::from_slice::<MessageLine>(line).ok();
                return Ok(line.map(|line| (RecordedMessageKind::Withheld, exported_key(&line))));
            }
            LineKind::Message => {}
        }
        let message = RecordedMessage::parse(line)?;
        // The lines of other recordings are parsed only once.
        let keys = match holds(line, "\"workspace\"") {
            true => serde_json::from_slice::<Value>(line).unwrap_or_default(),
            false => Value::Null,
        };
        if !keys["workspace"].is_string() {
            let users = self.recorded.get_or_insert_default();
            users.insert(UserId::new(message.author.as_str()));
            let key = key_of(&[&message.channel, &message.id]);
            return Ok(Some((RecordedMessageKind::Recorded, key)));
        }
        let line: MessageLine = serde_json::from_slice(line)
            .map_err(|_| "it is no line of an export, though it names a workspace".to_owned())?;
        let key = exported_key(&line);
        let exported = self.exported.entry(line.workspace).or_default();
        exported.quoted.add(&line.mentions);
        exported.users.insert(line.author);
        exported
            .users
            .extend(line.reactions.into_iter().flat_map(|it| it.users).map(|user| user.id));
        Ok(Some((RecordedMessageKind::Exported, key)))
    }

    fn take_other(&mut self, line: &[u8]) {
        let Ok(other) = serde_json::from_slice::<OtherLine>(line) else {
            *self.left_out.entry("lines of another kind").or_default() += 1;
            return;
        };
        let workspace = match &other {
            OtherLine::Decision { .. } => {
                *self.left_out.entry("decisions").or_default() += 1;
                return;
            }
            OtherLine::Mark { .. } => {
                *self.left_out.entry("marks").or_default() += 1;
                return;
            }
            OtherLine::Channel { workspace, .. }
            | OtherLine::User { workspace, .. }
            | OtherLine::Memory { workspace, .. }
            | OtherLine::Memo { workspace, .. }
            | OtherLine::OptOut { workspace, .. }
            | OtherLine::Mute { workspace, .. }
            | OtherLine::Mode { workspace, .. }
            | OtherLine::Setting { workspace, .. }
            | OtherLine::StandingOrder { workspace, .. } => workspace.clone(),
        };
        if let Some(kind) = unusable_order(&other) {
            *self.left_out.entry(kind).or_default() += 1;
            return;
        }
        let exported = self.exported.entry(workspace).or_default();
        match &other {
            OtherLine::User { id, .. } => {
                exported.users.insert(id.clone());
            }
            OtherLine::Memo { memo, .. } => exported.users.extend(memo.said_by.clone()),
            OtherLine::Setting { by, .. } | OtherLine::StandingOrder { by, .. } => {
                exported.users.extend(signer(by).map(UserId::new));
            }
            OtherLine::Channel { .. }
            | OtherLine::Memory { .. }
            | OtherLine::OptOut { .. }
            | OtherLine::Mute { .. }
            | OtherLine::Mode { .. }
            | OtherLine::Decision { .. }
            | OtherLine::Mark { .. } => {}
        }
        exported.others.push(other);
    }
}

/// Parses the setting change in a line.
fn setting_change(setting: &str, value: &str) -> Option<SettingChange> {
    SettingKind::from_name(setting)?.parse(value).map(SettingChange::Set)
}

/// Returns the name under which an order counts as left out, if this version cannot use it.
fn unusable_order(other: &OtherLine) -> Option<&'static str> {
    match other {
        OtherLine::Setting { channel, thread, setting, value, .. } => {
            let is_place = scope_columns(channel.as_ref(), thread.as_ref()).is_some();
            let is_known = is_place && setting_change(setting, value).is_some();
            (!is_known).then_some("settings")
        }
        OtherLine::StandingOrder { channel, thread, text, .. } => {
            let is_place = scope_columns(channel.as_ref(), thread.as_ref()).is_some();
            let is_known = is_place && StandingOrderText::parse(text).is_ok();
            (!is_known).then_some("standing orders")
        }
        OtherLine::Channel { .. }
        | OtherLine::User { .. }
        | OtherLine::Memory { .. }
        | OtherLine::Memo { .. }
        | OtherLine::OptOut { .. }
        | OtherLine::Mute { .. }
        | OtherLine::Mode { .. }
        | OtherLine::Decision { .. }
        | OtherLine::Mark { .. } => None,
    }
}

/// Returns the items that are not imported, and why.
fn skipped(bad_lines: &BadLines, left_out: &BTreeMap<&'static str, usize>) -> Vec<SkippedItems> {
    let why = format!("they cannot be read{}", name_lines(&bad_lines.numbers));
    let bad = SkippedItems::new_if_any("lines", bad_lines.count, why);
    let left_out = left_out.iter().map(|(kind, count)| {
        let reason = match *kind {
            "withheld messages" => {
                "they are in no prompt: commands, what was deleted, and what was said by those who opted out"
            }
            "channels" => UNKNOWN,
            "records" => "they cannot be read",
            "lines of another kind" => "this version does not know it",
            "settings" => "this version knows no such setting, value or place",
            "standing orders" => "their text or place cannot be one",
            _ => "Aizuchi makes its own",
        };
        SkippedItems { kind, count: *count, reason: reason.into() }
    });
    bad.into_iter().chain(left_out).collect()
}

impl BadLines {
    fn add(&mut self, number: u64) {
        self.count += 1;
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let place = self.numbers.partition_point(|other| *other <= number);
        self.numbers.insert(place, number);
        self.numbers.truncate(MAX_NUMBERS);
    }
}

impl RecordedMessageKind {
    /// Encodes a line and its number for sorting on disk.
    fn record(self, number: u64, line: &[u8]) -> Vec<u8> {
        let kind = match self {
            RecordedMessageKind::Recorded => b'r',
            RecordedMessageKind::Exported => b'e',
            RecordedMessageKind::Withheld => b'w',
        };
        [&[kind][..], &number.to_le_bytes(), line].concat()
    }

    /// Decodes a record.
    fn split(record: &[u8]) -> Option<(Self, u64, &[u8])> {
        let (kind, rest) = record.split_first()?;
        let kind = match kind {
            b'r' => RecordedMessageKind::Recorded,
            b'e' => RecordedMessageKind::Exported,
            b'w' => RecordedMessageKind::Withheld,
            _ => return None,
        };
        let (number, line) = rest.split_first_chunk()?;
        Some((kind, u64::from_le_bytes(*number), line))
    }
}

fn exported_key(line: &MessageLine) -> Vec<u8> {
    key_of(&[line.workspace.as_str(), line.channel.as_str(), line.id.as_str()])
}

/// Encodes parts as a key that differs for different parts, and for different numbers of parts.
fn key_of(parts: &[&str]) -> Vec<u8> {
    let lengths = parts.iter().flat_map(|part| (part.len() as u64).to_be_bytes());
    let mut key = vec![u8::try_from(parts.len()).unwrap_or(u8::MAX)];
    key.extend(lengths);
    parts.iter().for_each(|part| key.extend_from_slice(part.as_bytes()));
    key
}

fn take_other(
    data: &mut ImportData,
    other: OtherLine,
    workspace: &WorkspaceId,
    (channels, users): (&mut BTreeMap<ChannelId, Channel>, &mut BTreeMap<UserId, User>),
) {
    let workspace = workspace.clone();
    match other {
        OtherLine::Channel { channel: id, channel_name: name, visibility, topic, .. } => {
            let topic = topic.map(|topic| channel_topic(&topic));
            channels.insert(id.clone(), Channel { workspace, id, name, visibility, topic });
        }
        OtherLine::User { id, name, is: kind, role, .. } => {
            users.insert(id.clone(), User { workspace, id, name, kind, role, zone: None });
        }
        OtherLine::Memory { channel, thread, term, newest, entries, .. } => {
            if let Some(key) = memory_key(workspace, channel, thread, term) {
                data.memories.push(ImportedMemory { key, entries, newest });
            }
        }
        OtherLine::Memo { memo, messages, .. } => {
            data.memos.push(ImportedMemo { memo, messages });
        }
        OtherLine::OptOut { user, .. } => data.orders.push(Order::OptOut { workspace, user }),
        OtherLine::Mute { channel, until, by, .. } => {
            data.orders.push(Order::Mute { workspace, channel, until, by });
        }
        OtherLine::Mode { channel, mode, .. } => {
            data.orders.push(Order::Mode { workspace, channel, mode: Some(mode) });
        }
        OtherLine::Setting { channel, thread, setting, value, role, by, at, .. } => {
            let columns = scope_columns(channel.as_ref(), thread.as_ref());
            if let Some(((channel, thread), change)) = columns.zip(setting_change(&setting, &value))
            {
                let scope = SettingScope::from_columns(channel, thread);
                data.orders.push(Order::ChangeSetting { workspace, scope, change, role, by, at });
            }
        }
        OtherLine::StandingOrder { channel, thread, text, by, .. } => {
            let columns = scope_columns(channel.as_ref(), thread.as_ref());
            if let Some(((channel, thread), text)) =
                columns.zip(StandingOrderText::parse(&text).ok())
            {
                let scope = StandingOrderScope::from_columns(channel, thread);
                data.orders.push(Order::GiveStandingOrder { workspace, scope, text, by });
            }
        }
        OtherLine::Decision { .. } | OtherLine::Mark { .. } => {}
    }
}
