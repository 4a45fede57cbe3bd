//! Leaves out what was remembered of messages that have been withdrawn here: deleted, forgotten or withheld. A message
//! that is not stored here may be from before a reset of its conversation, which only the dates of entries tell.

use std::collections::HashMap;

use aizuchi_model::chat::{ChannelId, ConversationId, MessageId, WorkspaceId};
use aizuchi_model::memory::{MemoryScope, MessageRef, date_in_zone};
use aizuchi_store::archive::Archive;
use aizuchi_store::stored_message::StoredMessage;
use aizuchi_store::{FORGOTTEN_USER_ID, StoreError};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::{ImportedMemo, ImportedMemory, SkippedItems, leave_out_entries};

const REASON: &str = "the messages behind them were deleted, forgotten or withheld here";
/// How far ahead of UTC a date may be. The time zone of the dates is not known.
const MAX_OFFSET: SignedDuration = SignedDuration::from_hours(14);

/// What is known here of the messages that memories and memos were made from.
pub struct WithdrawnSources {
    workspace: WorkspaceId,
    states: HashMap<MessageRef, SourceState>,
    /// The conversations that were reset, and until when.
    resets: HashMap<ConversationId, Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SourceState {
    /// It is not stored, as when it expired before the data was exported.
    Unknown,
    Stored,
    Withdrawn,
}

impl WithdrawnSources {
    /// Looks up the messages that these memories and memos were made from. The messages of the import must have been heard.
    pub async fn find(
        workspace: &WorkspaceId,
        memories: &[ImportedMemory],
        memos: &[ImportedMemo],
        archive: &dyn Archive,
    ) -> Result<Self, StoreError> {
        let mut states: HashMap<MessageRef, SourceState> = HashMap::new();
        let entries = memories.iter().flat_map(|memory| &memory.entries);
        let sources = entries.flat_map(|entry| &entry.messages);
        for source in sources.chain(memos.iter().flat_map(|memo| &memo.messages)) {
            if states.contains_key(source) {
                continue;
            }
            let MessageRef(channel, id) = source;
            let state = match archive.message(workspace, channel, id).await? {
                Some(stored) if is_withdrawn(&stored) => SourceState::Withdrawn,
                Some(_) => SourceState::Stored,
                None => SourceState::Unknown,
            };
            states.insert(source.clone(), state);
        }
        let resets = archive.resets(workspace).await?.into_iter().collect();
        Ok(Self { workspace: workspace.clone(), states, resets })
    }

    /// Leaves out the entries and memos that were made from withdrawn messages.
    pub fn leave_out(
        &self,
        memories: &mut Vec<ImportedMemory>,
        memos: &mut Vec<ImportedMemo>,
    ) -> impl Iterator<Item = SkippedItems> + use<> {
        let entries = leave_out_entries(memories, |key, entry| {
            let is_before = |reset: Timestamp| entry.date <= last_date(reset);
            self.affects(&key.scope, &entry.messages, is_before)
        });
        let before = memos.len();
        memos.retain(|ImportedMemo { memo, messages }| {
            let scope = MemoryScope::Channel(memo.channel.clone());
            !self.affects(&scope, messages, |reset| memo.updated <= reset)
        });
        let skipped = [
            SkippedItems::new_if_any("memos", before - memos.len(), REASON),
            SkippedItems::new_if_any("entries of memories", entries, REASON),
        ];
        skipped.into_iter().flatten()
    }

    /// Whether something that is remembered in `scope` comes from a withdrawn message. `is_before` tells whether it is
    /// from before a reset.
    fn affects(
        &self,
        scope: &MemoryScope,
        sources: &[MessageRef],
        is_before: impl Fn(Timestamp) -> bool,
    ) -> bool {
        if sources.iter().any(|source| self.is_in(source, SourceState::Withdrawn)) {
            return true;
        }
        let was_reset = |channel: &ChannelId, thread: Option<&MessageId>| {
            let conversation = ConversationId {
                workspace: self.workspace.clone(),
                channel: channel.clone(),
                thread: thread.cloned(),
            };
            self.resets.get(&conversation).is_some_and(|reset| is_before(*reset))
        };
        let mut unknown = sources.iter().filter(|it| self.is_in(it, SourceState::Unknown));
        match scope {
            MemoryScope::Thread(channel, thread) => {
                (sources.is_empty() || unknown.next().is_some()) && was_reset(channel, Some(thread))
            }
            MemoryScope::Channel(channel) if sources.is_empty() => was_reset(channel, None),
            MemoryScope::Workspace | MemoryScope::Channel(_) => {
                unknown.any(|source| was_reset(&source.0, None))
            }
        }
    }

    fn is_in(&self, source: &MessageRef, state: SourceState) -> bool {
        self.states.get(source) == Some(&state)
    }
}

/// What was remembered of an expired message stays, unless its author was forgotten.
fn is_withdrawn(stored: &StoredMessage) -> bool {
    let is_forgotten = stored.message.author.id.as_str() == FORGOTTEN_USER_ID;
    stored.is_withheld || is_forgotten || (stored.is_deleted && !stored.is_expired)
}

/// The last date that an entry from before this time can have.
fn last_date(time: Timestamp) -> Date {
    let latest = time.checked_add(MAX_OFFSET).unwrap_or(Timestamp::MAX);
    date_in_zone(latest, &TimeZone::UTC)
}
