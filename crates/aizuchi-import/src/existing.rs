//! Whether a message of another bot is stored already under the id of the platform, or will be.

use std::collections::{BTreeMap, HashMap};

use jiff::{SignedDuration, Timestamp};

use crate::message_ids::MessageIds;
use crate::{ImportCount, SkippedItems};
use aizuchi_core::chat::{AuthorKind, ChannelId, ConversationId, Message, MessageId, WorkspaceId};
use aizuchi_core::store::StoreError;
use aizuchi_core::store::archive::Archive;
use aizuchi_core::store::query::{MessageQuery, MessageRange};
use aizuchi_core::store::stored_message::StoredMessage;

/// The maximum difference between two programs' timestamps of the same post.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_mins(2);
/// What is read before and after messages. It is longer, because a range excludes the time that it begins after.
const READ_AROUND: SignedDuration = SignedDuration::from_secs(121);
/// How many stored messages are read at once.
const PAGE_MESSAGES: usize = 500;

/// Leaves out messages that the platform's history has under other ids.
pub struct HistoryCheck<'a> {
    archive: &'a dyn Archive,
    ids: MessageIds,
    /// From when on the platform's own history will be read.
    history_from: Option<Timestamp>,
    /// How many are left out, because the history will have them.
    in_history: usize,
}

/// What is stored of, or beside, the messages of a batch whose ids were made.
struct ExistingMessages {
    /// Whether each is stored.
    ids: HashMap<(ChannelId, MessageId), bool>,
    /// When the platform's messages with the same text were said, and by what.
    texts: HashMap<(ConversationId, String), Vec<(Timestamp, AuthorKind)>>,
}

impl<'a> HistoryCheck<'a> {
    pub fn new(archive: &'a dyn Archive, ids: MessageIds, history_from: Option<Timestamp>) -> Self {
        Self { archive, ids, history_from, in_history: 0 }
    }

    /// The messages of a batch that are to be heard. Those that are stored under another id are counted as existing.
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

/// Whether it is stored, also with a time far from the one that it has now.
async fn is_stored(message: &Message, archive: &dyn Archive) -> Result<bool, StoreError> {
    let ConversationId { workspace, channel, .. } = &message.conversation;
    Ok(archive.message(workspace, channel, &message.id).await?.is_some())
}

impl ExistingMessages {
    /// Reads what is stored from shortly before the messages to shortly after them, a page at a time, and keeps what is
    /// theirs.
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
        // An earlier batch, or an earlier import, has made the others. Saying a word again makes another message.
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

/// Whether a made message and one of the platform's may be of the same author. People say the same words as a bot, which
/// another bot may take for a person, and which may turn out to have been the persona.
fn may_be_same(made: AuthorKind, stored: AuthorKind) -> bool {
    use AuthorKind::{Bot, Human, Persona};
    match (made, stored) {
        (Human, Persona) | (Bot | Persona, Human) => false,
        (Human, Human | Bot) | (Bot | Persona, Bot | Persona) => true,
    }
}

/// When the first and the last of the messages were said, by channel.
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

/// Without differences of whitespace, which the platforms may change.
fn text_key(message: &Message) -> (ConversationId, String) {
    let words: Vec<&str> = message.text.split_whitespace().collect();
    (message.conversation.clone(), words.join(" "))
}
