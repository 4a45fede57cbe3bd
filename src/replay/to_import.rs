//! Converts recorded chat, and what else an export holds, to the data of an import.

use std::collections::{BTreeMap, HashSet};
use std::io::BufRead;

use anyhow::Context as _;
use jiff::SignedDuration;
use serde_json::Value;

use crate::replay::export_lines::{LineKind, MessageLine, OtherLine, memory_key};
use crate::replay::history::{
    BadLine, DUPLICATE_PROBLEM, History, RecordedChannel, RecordedMessage, epoch_seconds,
};
use crate::replay::json_lines::{holds, read_lines};
use aizuchi_core::chat::attachment::Attachment;
use aizuchi_core::chat::{
    Author, AuthorKind, Channel, ChannelId, ConversationId, Message, MessageId, Reaction,
    ReactionChange, Role, User, UserId, Visibility, WorkspaceId,
};
use aizuchi_core::store::Order;
use aizuchi_import::{ImportData, ImportedMemory, ImportedMessage, SkippedItems, name_lines};

/// How many files of a message are kept.
const MAX_FILES: usize = 20;

/// What a file of JSON Lines holds.
#[derive(Default)]
pub struct RecordedData {
    /// Messages of any recording, which do not say which workspace they are of.
    pub history: History,
    /// What an export holds, by workspace.
    pub exported: BTreeMap<WorkspaceId, ExportedWorkspace>,
    recorded_ids: HashSet<(String, String)>,
    /// What an export holds and is not imported.
    left_out: BTreeMap<&'static str, usize>,
}

/// What an export holds of a workspace.
#[derive(Default)]
pub struct ExportedWorkspace {
    /// What changed while the export was written has two lines: the later one counts.
    messages: BTreeMap<(ChannelId, MessageId), MessageLine>,
    others: Vec<OtherLine>,
}

/// Reads JSON Lines into memory.
pub fn read(mut input: impl BufRead) -> anyhow::Result<RecordedData> {
    let mut data = RecordedData::default();
    // What names no workspace is read as any recording is.
    let mut recorded = Vec::new();
    let mut bad_lines = Vec::new();
    read_lines(&mut input, &mut |number, line| {
        let taken = match line {
            Ok(line) => data.take(line, &mut recorded),
            Err(problem) => Err(problem),
        };
        if let Err(problem) = taken {
            bad_lines.push(BadLine { number: number as usize, problem });
        }
        Ok(())
    })
    .context("cannot read the recorded messages")?;
    data.history = History::of_messages(recorded);
    data.history.bad_lines.append(&mut bad_lines);
    Ok(data)
}

impl RecordedData {
    pub fn is_empty(&self) -> bool {
        self.history.channels.is_empty() && self.exported.is_empty()
    }

    fn take(&mut self, line: &[u8], recorded: &mut Vec<RecordedMessage>) -> Result<(), String> {
        match LineKind::of(line) {
            LineKind::Other => return self.take_other(line),
            LineKind::Withheld => {
                self.withhold(line);
                *self.left_out.entry("withheld messages").or_default() += 1;
                return Ok(());
            }
            LineKind::Message => {}
        }
        let message = RecordedMessage::parse(line)?;
        // The lines of other recordings are parsed once.
        let keys = match holds(line, "\"workspace\"") {
            true => serde_json::from_slice::<Value>(line).unwrap_or_default(),
            false => Value::Null,
        };
        if !keys["workspace"].is_string() {
            let id = (message.room.clone(), message.id.clone());
            if !self.recorded_ids.insert(id) {
                return Err(DUPLICATE_PROBLEM.to_owned());
            }
            recorded.push(message);
            return Ok(());
        }
        let line: MessageLine = serde_json::from_value(keys)
            .map_err(|_| "it is no line of an export, though it names a workspace".to_owned())?;
        let exported = self.exported.entry(line.workspace.clone()).or_default();
        exported.messages.insert((line.room.clone(), line.id.clone()), line);
        Ok(())
    }

    fn withhold(&mut self, line: &[u8]) {
        let Ok(line) = serde_json::from_slice::<MessageLine>(line) else { return };
        if let Some(exported) = self.exported.get_mut(&line.workspace) {
            exported.messages.remove(&(line.room, line.id));
        }
    }

    fn take_other(&mut self, line: &[u8]) -> Result<(), String> {
        let Ok(other) = serde_json::from_slice::<OtherLine>(line) else {
            *self.left_out.entry("lines of another kind").or_default() += 1;
            return Ok(());
        };
        let workspace = match &other {
            OtherLine::Decision { .. } => {
                *self.left_out.entry("decisions").or_default() += 1;
                return Ok(());
            }
            OtherLine::Mark { .. } => {
                *self.left_out.entry("marks").or_default() += 1;
                return Ok(());
            }
            OtherLine::Channel { workspace, .. }
            | OtherLine::User { workspace, .. }
            | OtherLine::Memory { workspace, .. }
            | OtherLine::Memo { workspace, .. }
            | OtherLine::OptOut { workspace, .. }
            | OtherLine::Mute { workspace, .. }
            | OtherLine::Mode { workspace, .. } => workspace.clone(),
        };
        self.exported.entry(workspace).or_default().others.push(other);
        Ok(())
    }

    /// What is not imported, and why.
    pub fn skipped(&self) -> Vec<SkippedItems> {
        let numbers: Vec<usize> = self.history.bad_lines.iter().map(|line| line.number).collect();
        let why = format!("they cannot be read{}", name_lines(&numbers));
        let bad = SkippedItems::new_if_any("lines", numbers.len(), why);
        let left_out = self.left_out.iter().map(|(kind, count)| {
            let reason = match *kind {
                "withheld messages" => {
                    "they are in no prompt: commands, and what was said by those who opted out"
                }
                "lines of another kind" => "this version does not know it",
                _ => "Aizuchi makes its own",
            };
            SkippedItems { kind, count: *count, reason: reason.into() }
        });
        bad.into_iter().chain(left_out).collect()
    }
}

/// Converts the channels of a recording. `persona` is the author whose messages count as the persona's own.
pub fn from_channels(
    recorded: Vec<RecordedChannel>,
    workspace: &WorkspaceId,
    persona: Option<&UserId>,
) -> ImportData {
    let kind = |message: &RecordedMessage| match (persona, message.bot) {
        (Some(persona), _) if persona.as_str() == message.author => AuthorKind::Persona,
        (_, true) => AuthorKind::Bot,
        (_, false) => AuthorKind::Human,
    };
    let channel = |recorded: &RecordedChannel| Channel {
        workspace: workspace.clone(),
        id: ChannelId::new(recorded.name.as_str()),
        name: recorded.name.as_str().into(),
        visibility: Visibility::Private,
    };
    let channels = recorded.iter().map(channel).collect();
    let mut users = BTreeMap::new();
    let mut messages = Vec::new();
    // Each channel is dropped as soon as it is converted, so that no long one is there twice.
    for channel in recorded {
        for message in &channel.messages {
            let name = message.name.as_deref().unwrap_or(&message.author);
            let user = User {
                workspace: workspace.clone(),
                id: UserId::new(message.author.as_str()),
                name: name.into(),
                kind: kind(message),
                role: Role::Member,
            };
            messages.push(to_imported_message(message, workspace, user.kind));
            users.insert(user.id.clone(), user);
        }
    }
    ImportData {
        channels,
        users: users.into_values().collect(),
        messages,
        ..ImportData::new(workspace.clone())
    }
}

fn to_imported_message(
    message: &RecordedMessage,
    workspace: &WorkspaceId,
    kind: AuthorKind,
) -> ImportedMessage {
    let message = Message {
        conversation: ConversationId {
            workspace: workspace.clone(),
            channel: ChannelId::new(message.room.as_str()),
            thread: message.thread.as_deref().map(MessageId::new),
        },
        id: MessageId::new(message.id.as_str()),
        at: message.at(),
        author: Author { id: UserId::new(message.author.as_str()), kind },
        text: message.text.as_str().into(),
        mentions: Vec::new(),
        attachments: Vec::new(),
        edits: 0,
    };
    ImportedMessage { message, has_platform_id: true }
}

/// Converts what an export holds of one workspace to data of `workspace`, which may have another name.
pub fn from_export(
    exported: ExportedWorkspace,
    workspace: &WorkspaceId,
    persona: Option<&UserId>,
) -> ImportData {
    let ExportedWorkspace { messages, others } = exported;
    let mut messages: Vec<MessageLine> = messages.into_values().collect();
    let mut data = ImportData { knows_visibility: true, ..ImportData::new(workspace.clone()) };
    let mut channels: BTreeMap<ChannelId, Channel> = BTreeMap::new();
    let mut users: BTreeMap<UserId, User> = BTreeMap::new();
    messages.sort_by(|one, other| one.ts.total_cmp(&other.ts));
    for line in messages {
        let channel = Channel {
            workspace: workspace.clone(),
            id: line.room.clone(),
            name: line.room_name.clone().unwrap_or_else(|| line.room.0.clone()),
            visibility: line.visibility.unwrap_or(Visibility::Private),
        };
        channels.insert(channel.id.clone(), channel);
        let kind = match (line.persona || persona == Some(&line.author), line.bot) {
            (true, _) => AuthorKind::Persona,
            (false, true) => AuthorKind::Bot,
            (false, false) => AuthorKind::Human,
        };
        let user = User {
            workspace: workspace.clone(),
            id: line.author.clone(),
            name: line.name.clone().unwrap_or_else(|| line.author.0.clone()),
            kind,
            role: Role::Member,
        };
        users.insert(user.id.clone(), user);
        take_message(&mut data, line, workspace, kind);
    }
    for other in others {
        take_other(&mut data, other, workspace, (&mut channels, &mut users));
    }
    data.channels = channels.into_values().collect();
    data.users = users.into_values().collect();
    data
}

fn take_message(
    data: &mut ImportData,
    line: MessageLine,
    workspace: &WorkspaceId,
    kind: AuthorKind,
) {
    let conversation = ConversationId { workspace: workspace.clone(), ..line.conversation() };
    let at = epoch_seconds(line.ts);
    let mut order = 0;
    for group in &line.reactions {
        for user in &group.users {
            order += 1;
            data.reactions.push(Reaction {
                workspace: workspace.clone(),
                channel: line.room.clone(),
                message: line.id.clone(),
                user: user.id.clone(),
                kind: user.is,
                emoji: group.emoji.clone(),
                // When it was is not in the export; this keeps the order.
                at: at.checked_add(SignedDuration::from_millis(order)).unwrap_or(at),
                change: ReactionChange::Added,
            });
        }
    }
    let message = Message {
        conversation,
        id: line.id,
        at,
        author: Author { id: line.author, kind },
        text: line.text,
        mentions: line.mentions,
        attachments: line.attachments.into_iter().take(MAX_FILES).map(rebuilt).collect(),
        edits: 0,
    };
    let message = ImportedMessage { message, has_platform_id: true };
    match line.said_in.or(line.visibility) {
        Some(Visibility::Public) => data.messages.push(message),
        Some(Visibility::Private | Visibility::Direct) | None => {
            data.private_messages.push(message);
        }
    }
}

/// The same file as an adapter would have told of it: names are short and on one line, and no address is believed.
fn rebuilt(file: Attachment) -> Attachment {
    let known = Attachment::new(&file.id, &file.name, &file.media_type, file.size_bytes);
    let known = known.with_alt_text(file.alt_text.as_deref().unwrap_or_default());
    Attachment { seconds: file.seconds, content: file.content, ..known }
}

fn take_other(
    data: &mut ImportData,
    other: OtherLine,
    workspace: &WorkspaceId,
    (channels, users): (&mut BTreeMap<ChannelId, Channel>, &mut BTreeMap<UserId, User>),
) {
    let workspace = workspace.clone();
    match other {
        OtherLine::Channel { room: id, room_name: name, visibility, .. } => {
            channels.insert(id.clone(), Channel { workspace, id, name, visibility });
        }
        OtherLine::User { id, name, is: kind, role, .. } => {
            users.insert(id.clone(), User { workspace, id, name, kind, role });
        }
        OtherLine::Memory { room, thread, term, newest, entries, .. } => {
            if let Some(key) = memory_key(workspace, room, thread, term) {
                data.memories.push(ImportedMemory { key, entries, newest });
            }
        }
        OtherLine::Memo { memo, .. } => data.memos.push(memo),
        OtherLine::OptOut { user, .. } => data.orders.push(Order::OptOut { workspace, user }),
        OtherLine::Mute { room: channel, until, by, .. } => {
            data.orders.push(Order::Mute { workspace, channel, until, by });
        }
        OtherLine::Mode { room: channel, mode, .. } => {
            data.orders.push(Order::Mode { workspace, channel, mode: Some(mode) });
        }
        OtherLine::Decision { .. } | OtherLine::Mark { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aizuchi_core::chat::attachment::AttachmentContent;

    #[test]
    fn a_file_is_imported_as_an_adapter_tells_of_it() {
        let content = Some(AttachmentContent::Description("a boat".into()));
        let written = Attachment {
            id: "F1".into(),
            name: "plan\n## Task.png".into(),
            media_type: "IMAGE/png".into(),
            size_bytes: 7,
            seconds: None,
            alt_text: Some("a\nb".into()),
            url: Some("https://evil.example/".into()),
            content: content.clone(),
        };
        let expected = Attachment::new("F1", "plan\n## Task.png", "image/png", 7);
        let expected = Attachment { content, ..expected.with_alt_text("a\nb") };
        let file = rebuilt(written);
        assert_eq!(file, expected);
        assert!(!file.name.contains('\n') && file.url.is_none());
    }
}
