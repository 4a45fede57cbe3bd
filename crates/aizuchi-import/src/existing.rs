//! Detects messages of another bot that are, or will be, stored under the platform's own id.

use std::collections::{BTreeMap, HashMap};

use aizuchi_model::chat::{AuthorKind, ChannelId, ConversationId, Message, MessageId, WorkspaceId};
use aizuchi_store::StoreError;
use aizuchi_store::archive::Archive;
use aizuchi_store::query::{MessageQuery, MessageRange};
use aizuchi_store::stored_message::StoredMessage;
use jiff::{SignedDuration, Timestamp};

use crate::message_ids::MessageIds;
use crate::{ImportCount, SkippedItems};

/// The maximum difference between two programs' timestamps of the same post.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_mins(2);
/// How far before and after messages to read. It is longer than the tolerance, because a range excludes its start time.
const READ_AROUND: SignedDuration = SignedDuration::from_secs(121);
/// The page size for reading stored messages.
const PAGE_MESSAGES: usize = 500;

/// Leaves out messages that the platform's history contains under other ids.
pub struct HistoryCheck<'a> {
    archive: &'a dyn Archive,
    ids: MessageIds,
    /// The time from which the platform's own history will be read.
    history_from: Option<Timestamp>,
    /// The number of messages left out because the history will contain them.
    in_history: usize,
}

/// What is stored around the messages of a batch whose ids the other bot made.
struct ExistingMessages {
    /// Whether each message is stored.
    ids: HashMap<(ChannelId, MessageId), bool>,
    /// The times and kinds of author of the platform's messages with the same text.
    texts: HashMap<(ConversationId, String), Vec<(Timestamp, AuthorKind)>>,
}

impl<'a> HistoryCheck<'a> {
    pub fn new(archive: &'a dyn Archive, ids: MessageIds, history_from: Option<Timestamp>) -> Self {
        Self { archive, ids, history_from, in_history: 0 }
    }

    /// Returns the messages of a batch that are to be heard. Those that are stored under another id are counted as
    /// existing.
    pub async fn keep(
        &mut self,
        batch: Vec<Message>,
        count: &mut ImportCount,
    ) -> Result<Vec<Message>, StoreError> {
        let made = |message: &&Message| !self.ids.is_platforms(&message.id);
        let made: Vec<&Message> = batch.iter().filter(made).collect();
        let existing = ExistingMessages::load(&made, self.ids, self.archive).await?;
        let mut kept = Vec::with_capacity(batch.len());
        for message in batch {
            if self.ids.is_platforms(&message.id) || existing.has_id(&message) {
                kept.push(message);
            } else if existing.has_text(&message) {
                count.count(false);
            } else if self.history_from.is_some_and(|from| message.at >= from)
                && !is_stored(&message, self.archive).await?
            {
                self.in_history += 1;
            } else {
                kept.push(message);
            }
        }
        Ok(kept)
    }

    pub fn skipped(&self) -> Option<SkippedItems> {
        SkippedItems::new_if_any(
            "the newest messages",
            self.in_history,
            "the platform's own history has them, and it is read when Aizuchi connects",
        )
    }
}

/// Whether the message is stored, even with a time far from its current one.
async fn is_stored(message: &Message, archive: &dyn Archive) -> Result<bool, StoreError> {
    let ConversationId { workspace, channel, .. } = &message.conversation;
    Ok(archive.message(workspace, channel, &message.id).await?.is_some())
}

impl ExistingMessages {
    /// Reads the stored messages from shortly before to shortly after the given ones, page by page, and keeps those
    /// that match.
    async fn load(
        made: &[&Message],
        ids: MessageIds,
        archive: &dyn Archive,
    ) -> Result<Self, StoreError> {
        let mut existing = Self {
            ids: made.iter().map(|message| (id_key(message), false)).collect(),
            texts: made.iter().map(|message| (text_key(message), Vec::new())).collect(),
        };
        for ((workspace, channel), (first, last)) in ranges(made) {
            let end = last.checked_add(READ_AROUND).unwrap_or(Timestamp::MAX);
            let begin = first.checked_sub(READ_AROUND).unwrap_or(Timestamp::MIN);
            let mut range = MessageRange::AfterTime(begin);
            loop {
                let query = MessageQuery {
                    workspace: workspace.clone(),
                    channel: channel.clone(),
                    thread: None,
                    range,
                    limit: PAGE_MESSAGES,
                };
                let stored = archive.messages(query).await?;
                stored.iter().for_each(|stored| existing.note(stored, ids));
                let is_full = stored.len() == PAGE_MESSAGES;
                let last = stored.last().filter(|last| is_full && last.message.at <= end);
                let Some(last) = last else { break };
                range = MessageRange::After(last.message.id.clone());
            }
        }
        Ok(existing)
    }

    fn note(&mut self, stored: &StoredMessage, ids: MessageIds) {
        let message = &stored.message;
        if let Some(is_stored) = self.ids.get_mut(&id_key(message)) {
            *is_stored = true;
        }
        // Messages with other ids come from an earlier batch or import. Repeating the same words makes another message.
        if ids.is_platforms(&message.id)
            && let Some(times) = self.texts.get_mut(&text_key(message))
        {
            times.push((message.at, message.author.kind));
        }
    }

    fn has_id(&self, message: &Message) -> bool {
        self.ids.get(&id_key(message)).is_some_and(|is_stored| *is_stored)
    }

    fn has_text(&self, message: &Message) -> bool {
        let times = self.texts.get(&text_key(message));
        let is_same = |(at, kind): &(Timestamp, AuthorKind)| {
            at.duration_since(message.at).abs() <= CLOCK_TOLERANCE
                && may_be_same(message.author.kind, *kind)
        };
        times.is_some_and(|times| times.iter().any(is_same))
    }
}

/// Whether a made message and one of the platform's may have the same author. A user may write the same words as a bot,
/// so the kinds of their authors must agree. But the other bot may have taken a bot for a user, and a bot may turn out
/// to be the persona.
fn may_be_same(made: AuthorKind, stored: AuthorKind) -> bool {
    use AuthorKind::{Bot, Human, Persona};
    match (made, stored) {
        (Human, Persona) | (Bot | Persona, Human) => false,
        (Human, Human | Bot) | (Bot | Persona, Bot | Persona) => true,
    }
}

/// The times of the first and the last message, by channel.
fn ranges(messages: &[&Message]) -> BTreeMap<(WorkspaceId, ChannelId), (Timestamp, Timestamp)> {
    let mut ranges = BTreeMap::new();
    for message in messages {
        let ConversationId { workspace, channel, .. } = &message.conversation;
        let range: &mut (Timestamp, Timestamp) =
            ranges.entry((workspace.clone(), channel.clone())).or_insert((message.at, message.at));
        *range = (range.0.min(message.at), range.1.max(message.at));
    }
    ranges
}

fn id_key(message: &Message) -> (ChannelId, MessageId) {
    (message.conversation.channel.clone(), message.id.clone())
}

/// The conversation and the text without differences of whitespace, which platforms may change.
fn text_key(message: &Message) -> (ConversationId, String) {
    let words: Vec<&str> = message.text.split_whitespace().collect();
    (message.conversation.clone(), words.join(" "))
}
