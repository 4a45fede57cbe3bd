//! The messages of a recording, without duplicates, in the order in which they are heard.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::iter::Peekable;

use crate::ImportData;
use crate::quoted_messages::QuotedMessages;
use crate::record_sorter::{KeyedRecord, RecordSorter, SortedRecords, SorterLimits};
use crate::streamed::{StreamedAuthors, StreamedMessage};
use aizuchi_model::chat::attachment::Attachment;
use aizuchi_model::chat::{
    Author, AuthorKind, Channel, ChannelId, ConversationId, Message, MessageId, Reaction,
    ReactionChange, Role, User, UserId, Visibility, WorkspaceId,
};
use aizuchi_model::memory::MessageRef;
use aizuchi_model::memory::asker::signer;
use aizuchi_store::FORGOTTEN_USER_ID;
use anyhow::Context as _;
use jiff::{SignedDuration, Timestamp};

use crate::export_lines::{MessageLine, OtherLine};
use crate::history::RecordedMessage;
use crate::rows::epoch_seconds;
use crate::to_import::{ExportedWorkspace, RecordedData, RecordedMessageKind, skipped, take_other};

/// The maximum number of attachments of a message that are kept.
const MAX_FILES: usize = 20;
const UNREADABLE: &str = "cannot read a record";

/// The destination of recorded data.
#[derive(Clone, Debug)]
pub struct Destination {
    /// The workspace that an export names; `None` for messages that do not name one.
    pub source: Option<WorkspaceId>,
    /// The workspace here, which may have another name.
    pub workspace: WorkspaceId,
    /// The author whose messages count as the persona's own.
    pub persona: Option<UserId>,
    /// The users that the database has forgotten, and when. Their earlier messages are left out.
    pub forgotten: HashMap<UserId, Timestamp>,
}

/// The data to import.
pub struct Arranged {
    /// For each destination, without messages.
    pub data: Vec<ImportData>,
    pub messages: ArrangedMessages,
    /// The number of messages that are older than the requested time.
    pub expired: usize,
}

/// The messages of all destinations, one destination after the other.
pub struct ArrangedMessages {
    sorted: Peekable<SortedRecords>,
    destinations: Vec<Destination>,
    quoted: Vec<QuotedMessages>,
}

/// The data about a destination that is collected from its messages.
#[derive(Default)]
struct CollectedData {
    channels: BTreeMap<ChannelId, (Timestamp, Channel)>,
    users: BTreeMap<UserId, (Timestamp, User)>,
    /// The messages that memories and memos were made from.
    cited: HashSet<MessageRef>,
    streamed: StreamedAuthors,
}

/// A message, with the channel and the author that its line describes.
struct ReadMessage {
    streamed: StreamedMessage,
    channel: Channel,
    user: User,
}

impl RecordedData {
    /// Arranges the messages. Each message that a destination takes occurs once; those that were not public come first,
    /// and older ones come before newer ones. Messages before `expired_before` are counted as too old.
    pub fn arrange(
        self,
        destinations: Vec<Destination>,
        limits: SorterLimits,
        expired_before: Option<Timestamp>,
    ) -> anyhow::Result<Arranged> {
        let Self { lines, mut exported, recorded: _, mut bad_lines, left_out } = self;
        let sources = destinations.iter().map(|destination| destination.source.as_ref());
        let mut others: Vec<ExportedWorkspace> = sources
            .map(|source| source.and_then(|it| exported.remove(it)).unwrap_or_default())
            .collect();
        let mut collected: Vec<CollectedData> =
            others.iter().map(CollectedData::from_exported).collect();
        let mut sorter = RecordSorter::new(limits);
        let mut expired = 0;
        let mut lines = lines.finish()?.peekable();
        while let Some(line) = lines.next() {
            let KeyedRecord { key, mut record } = line?;
            // The lines of one message are adjacent.
            while let Some(next) = lines.next_if(|next| is_of(next, &key)) {
                let next = next?.record;
                let (kind, number, _) = RecordedMessageKind::split(&next).context(UNREADABLE)?;
                match kind {
                    RecordedMessageKind::Recorded => bad_lines.add(number),
                    RecordedMessageKind::Exported | RecordedMessageKind::Withheld => record = next,
                }
            }
            let (kind, _, line) = RecordedMessageKind::split(&record).context(UNREADABLE)?;
            let mut numbered = destinations.iter().enumerate();
            let read = numbered.find_map(|(index, it)| Some((index, it.read(kind, line)?)));
            let Some((index, read)) = read else { continue };
            others[index].quoted.note(&read.streamed.message);
            if kind == RecordedMessageKind::Withheld {
                continue;
            }
            let (at, was_private) = (read.streamed.message.at, read.streamed.was_private);
            if collected[index].take(read, &destinations[index]) {
                expired += usize::from(expired_before.is_some_and(|before| at < before));
                sorter.push(order_of(index, was_private, at), record)?;
            }
        }
        let quoted = others.iter_mut().map(|it| std::mem::take(&mut it.quoted)).collect();
        let mut data: Vec<ImportData> = Vec::new();
        for ((collected, others), destination) in
            collected.into_iter().zip(others).zip(&destinations)
        {
            data.push(collected.into_data(others, destination));
        }
        if let Some(last) = data.last_mut() {
            last.skipped.extend(skipped(&bad_lines, &left_out));
        }
        let messages =
            ArrangedMessages { sorted: sorter.finish()?.peekable(), destinations, quoted };
        Ok(Arranged { data, messages, expired })
    }
}

/// Whether a record belongs to the same message. True for an error, so that it is passed on.
fn is_of(next: &anyhow::Result<KeyedRecord>, key: &[u8]) -> bool {
    match next {
        Ok(next) => next.key == key,
        Err(_) => true,
    }
}

/// Returns the sort key of a message: its destination, whether it was public, and its time.
fn order_of(index: usize, was_private: bool, at: Timestamp) -> Vec<u8> {
    // With the sign bit flipped, the bytes of a number sort as the numbers do.
    let at = (at.as_millisecond() as u64) ^ (1 << 63);
    let destination = destination_prefix(index);
    [&destination[..], &[u8::from(!was_private)], &at.to_be_bytes()].concat()
}

fn destination_prefix(index: usize) -> [u8; 8] {
    (index as u64).to_be_bytes()
}

impl ArrangedMessages {
    /// Returns the messages of one destination. The destinations must be requested in order, and each must be read to
    /// the end.
    pub fn of(&mut self, index: usize) -> impl Iterator<Item = anyhow::Result<StreamedMessage>> {
        let Self { sorted, destinations, quoted } = self;
        let (destination, quoted) = (&destinations[index], &quoted[index]);
        let prefix = destination_prefix(index);
        let streamed = std::iter::from_fn(move || {
            let next = sorted.next_if(|next| match next {
                Ok(next) => next.key.starts_with(&prefix),
                Err(_) => true,
            })?;
            Some(next.and_then(|record| destination.read_again(&record.record)))
        });
        streamed.filter_map(|next| next.map(|streamed| quoted.attribute(streamed)).transpose())
    }
}

impl CollectedData {
    fn from_exported(exported: &ExportedWorkspace) -> Self {
        let mut cited = HashSet::new();
        for other in &exported.others {
            if let OtherLine::Memory { entries, .. } = other {
                cited.extend(entries.iter().flat_map(|entry| entry.messages.iter().cloned()));
            }
            if let OtherLine::Memo { messages, .. } = other {
                cited.extend(messages.iter().cloned());
            }
        }
        Self { cited, ..Self::default() }
    }

    /// Collects the data about a message, and returns whether the message is taken.
    fn take(&mut self, read: ReadMessage, destination: &Destination) -> bool {
        let ReadMessage { streamed: StreamedMessage { message, .. }, channel, user } = read;
        note(&mut self.channels, channel.id.clone(), message.at, channel);
        if destination.is_forgotten(&message.author.id, message.at) {
            self.streamed.left_out += 1;
            let left_out = MessageRef(message.conversation.channel, message.id);
            if self.cited.contains(&left_out) {
                self.streamed.cited_left_out.insert(left_out);
            }
            return false;
        }
        if !self.streamed.authors.contains(&user.id) {
            self.streamed.authors.insert(user.id.clone());
        }
        note(&mut self.users, user.id.clone(), message.at, user);
        true
    }

    fn into_data(self, exported: ExportedWorkspace, destination: &Destination) -> ImportData {
        let mut data = ImportData {
            // An export says who may read its channels.
            knows_visibility: destination.source.is_some(),
            streamed: self.streamed,
            ..ImportData::new(destination.workspace.clone())
        };
        let mut channels = newest(self.channels);
        let mut users = newest(self.users);
        for other in exported.others {
            let Some(other) = destination.without_forgotten(other) else { continue };
            take_other(&mut data, other, &destination.workspace, (&mut channels, &mut users));
        }
        data.channels = channels.into_values().collect();
        data.users = users.into_values().collect();
        data
    }
}

/// Keeps the value of the newest message, which has the current name.
fn note<K: Ord, V>(known: &mut BTreeMap<K, (Timestamp, V)>, key: K, at: Timestamp, value: V) {
    if known.get(&key).is_none_or(|(newest, _)| *newest <= at) {
        known.insert(key, (at, value));
    }
}

fn newest<K: Ord, V>(known: BTreeMap<K, (Timestamp, V)>) -> BTreeMap<K, V> {
    known.into_iter().map(|(key, (_, value))| (key, value)).collect()
}

impl Destination {
    fn is_forgotten(&self, user: &UserId, at: Timestamp) -> bool {
        self.forgotten.get(user).is_some_and(|forgotten_at| at <= *forgotten_at)
    }

    /// Removes what forgotten users have ordered: their standing orders are left out, and a setting loses its author.
    fn without_forgotten(&self, mut other: OtherLine) -> Option<OtherLine> {
        let is_forgotten = |by: &str, at: Timestamp| {
            signer(by).is_some_and(|user| self.is_forgotten(&UserId::new(user), at))
        };
        if let OtherLine::StandingOrder { by, given, .. } = &other
            && is_forgotten(by, *given)
        {
            return None;
        }
        if let OtherLine::Setting { by, at, .. } = &mut other
            && is_forgotten(by, *at)
        {
            *by = FORGOTTEN_USER_ID.into();
        }
        Some(other)
    }

    /// Reads the message of a line, if it belongs to this destination.
    fn read(&self, kind: RecordedMessageKind, line: &[u8]) -> Option<ReadMessage> {
        match (kind, &self.source) {
            (RecordedMessageKind::Recorded, None) => {
                RecordedMessage::parse(line).ok().map(|message| self.recorded(&message))
            }
            (RecordedMessageKind::Exported | RecordedMessageKind::Withheld, Some(source)) => {
                let line: MessageLine = serde_json::from_slice(line).ok()?;
                (line.workspace == *source).then(|| self.exported(line))
            }
            (RecordedMessageKind::Recorded, Some(_))
            | (RecordedMessageKind::Exported | RecordedMessageKind::Withheld, None) => None,
        }
    }

    /// Reads a message that was taken, as it is heard.
    fn read_again(&self, record: &[u8]) -> anyhow::Result<StreamedMessage> {
        let read =
            RecordedMessageKind::split(record).and_then(|(kind, _, line)| self.read(kind, line));
        let mut streamed = read.context(UNREADABLE)?.streamed;
        streamed.reactions.retain(|reaction| !self.is_forgotten(&reaction.user, reaction.at));
        Ok(streamed)
    }

    /// Converts a message of a recording, which does not say who may read its channel.
    fn recorded(&self, message: &RecordedMessage) -> ReadMessage {
        let kind = match (&self.persona, message.bot) {
            (Some(persona), _) if persona.as_str() == message.author => AuthorKind::Persona,
            (_, true) => AuthorKind::Bot,
            (_, false) => AuthorKind::Human,
        };
        let (workspace, id) = (self.workspace.clone(), UserId::new(message.author.as_str()));
        let name = message.name.as_deref().unwrap_or(&message.author).into();
        let user =
            User { workspace: workspace.clone(), id, name, kind, role: Role::Member, zone: None };
        let channel = Channel {
            workspace: workspace.clone(),
            id: ChannelId::new(message.channel.as_str()),
            name: message.channel.as_str().into(),
            visibility: Visibility::Private,
            topic: None,
        };
        let message = Message {
            conversation: ConversationId {
                workspace,
                channel: channel.id.clone(),
                thread: message.thread.as_deref().map(MessageId::new),
            },
            id: MessageId::new(message.id.as_str()),
            at: message.at(),
            author: Author { id: user.id.clone(), kind },
            text: message.text.as_str().into(),
            mentions: Vec::new(),
            attachments: Vec::new(),
            edits: 0,
        };
        // The message is as private as its channel. A new channel is private, and a known one keeps its visibility.
        let streamed = StreamedMessage { message, reactions: Vec::new(), was_private: false };
        ReadMessage { streamed, channel, user }
    }

    fn exported(&self, line: MessageLine) -> ReadMessage {
        let workspace = &self.workspace;
        let kind = match (line.persona || self.persona.as_ref() == Some(&line.author), line.bot) {
            (true, _) => AuthorKind::Persona,
            (false, true) => AuthorKind::Bot,
            (false, false) => AuthorKind::Human,
        };
        let channel = Channel {
            workspace: workspace.clone(),
            id: line.channel.clone(),
            name: line.channel_name.clone().unwrap_or_else(|| line.channel.0.clone()),
            visibility: line.visibility.unwrap_or(Visibility::Private),
            topic: None,
        };
        let user = User {
            workspace: workspace.clone(),
            id: line.author.clone(),
            name: line.name.clone().unwrap_or_else(|| line.author.0.clone()),
            kind,
            role: Role::Member,
            zone: None,
        };
        let was_private = line.said_in.or(line.visibility) != Some(Visibility::Public);
        let reactions = reactions(&line, workspace);
        let message = Message {
            conversation: ConversationId { workspace: workspace.clone(), ..line.conversation() },
            id: line.id,
            at: epoch_seconds(line.ts),
            author: Author { id: line.author, kind },
            text: line.text,
            mentions: line.mentions,
            attachments: line.attachments.into_iter().take(MAX_FILES).map(rebuilt).collect(),
            edits: 0,
        };
        let streamed = StreamedMessage { message, reactions, was_private };
        ReadMessage { streamed, channel, user }
    }
}

fn reactions(line: &MessageLine, workspace: &WorkspaceId) -> Vec<Reaction> {
    let at = epoch_seconds(line.ts);
    let mut reactions = Vec::new();
    let mut order = 0;
    for group in &line.reactions {
        for user in &group.users {
            order += 1;
            reactions.push(Reaction {
                workspace: workspace.clone(),
                channel: line.channel.clone(),
                message: line.id.clone(),
                user: user.id.clone(),
                kind: user.is,
                emoji: group.emoji.clone(),
                // The export has no times of reactions; these keep the order.
                at: at.checked_add(SignedDuration::from_millis(order)).unwrap_or(at),
                change: ReactionChange::Added,
            });
        }
    }
    reactions
}

/// Rebuilds an attachment as an adapter would have reported it: names are short and on one line, and no URL is trusted.
fn rebuilt(file: Attachment) -> Attachment {
    let known = Attachment::new(&file.id, &file.name, &file.media_type, file.size_bytes);
    let known = known.with_alt_text(file.alt_text.as_deref().unwrap_or_default());
    Attachment { seconds: file.seconds, content: file.content, ..known }
}

#[cfg(test)]
mod tests {
    use aizuchi_model::chat::attachment::AttachmentContent;

    use super::*;

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
