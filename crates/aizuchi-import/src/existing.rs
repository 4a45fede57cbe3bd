//! Whether a message of another program is stored already, perhaps under another id.

use std::collections::{BTreeMap, HashSet};

use jiff::{SignedDuration, Timestamp};

use aizuchi_core::chat::{ChannelId, ConversationId, Message, MessageId, WorkspaceId};
use aizuchi_core::store::StoreError;
use aizuchi_core::store::archive::Archive;
use aizuchi_core::store::query::{MessageQuery, MessageRange};

/// The maximum difference between two programs' timestamps of the same post.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_mins(2);

/// The stored messages of the time range in which imported ones may exist under another id.
#[derive(Default)]
pub struct ExistingMessages {
    /// The start of the range, by channel.
    since: BTreeMap<(WorkspaceId, ChannelId), Timestamp>,
    ids: HashSet<(ChannelId, MessageId)>,
    texts: BTreeMap<(ConversationId, String), Vec<Timestamp>>,
}

impl ExistingMessages {
    pub fn extend_range_to(&mut self, message: &Message) {
        let conversation = &message.conversation;
        let key = (conversation.workspace.clone(), conversation.channel.clone());
        let from = self.since.entry(key).or_insert(message.at);
        *from = message.at.min(*from);
    }

    pub async fn load(&mut self, archive: &dyn Archive) -> Result<(), StoreError> {
        for ((workspace, channel), from) in &self.since {
            let query = MessageQuery {
                workspace: workspace.clone(),
                channel: channel.clone(),
                thread: None,
                range: MessageRange::AfterTime(*from - CLOCK_TOLERANCE),
                limit: i32::MAX as usize,
            };
            for stored in archive.messages(query).await? {
                let message = &stored.message;
                self.ids.insert((channel.clone(), message.id.clone()));
                let key = (message.conversation.clone(), normalize_whitespace(&message.text));
                self.texts.entry(key).or_default().push(message.at);
            }
        }
        Ok(())
    }

    pub fn has_id(&self, message: &Message) -> bool {
        self.ids.contains(&(message.conversation.channel.clone(), message.id.clone()))
    }

    pub fn has_text(&self, message: &Message) -> bool {
        let key = (message.conversation.clone(), normalize_whitespace(&message.text));
        let times = self.texts.get(&key);
        times.is_some_and(|times| {
            times.iter().any(|at| at.duration_since(message.at).abs() <= CLOCK_TOLERANCE)
        })
    }
}

/// Collapses whitespace, which the platforms may change.
fn normalize_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
