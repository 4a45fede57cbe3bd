//! Leaves out what comes from users who have opted out here. Their messages are heard, but withheld, as if their
//! platform had delivered them.

use std::collections::HashSet;

use aizuchi_agent::inbox::channel_cache::ChannelCache;
use aizuchi_model::chat::{ConversationId, Message, UserId};
use aizuchi_model::memory::MessageRef;
use aizuchi_model::memory::asker::signer;
use aizuchi_store::order::Order;

use crate::{ImportData, ImportedMemory, SkippedItems, leave_out_entries};

const REASON: &str = "the people whom they come from have opted out";

/// The messages that memories were made from, and those of them by users who have opted out.
pub struct WithheldSources {
    cited: HashSet<MessageRef>,
    withheld: HashSet<MessageRef>,
}

impl WithheldSources {
    pub fn cited_by(memories: &[ImportedMemory]) -> Self {
        let entries = memories.iter().flat_map(|memory| &memory.entries);
        let cited = entries.flat_map(|entry| entry.messages.iter().cloned()).collect();
        Self { cited, withheld: HashSet::new() }
    }

    /// Notes which of the messages are by users who have opted out.
    pub fn note(&mut self, messages: &[Message], channel_cache: &ChannelCache) {
        for message in messages.iter().filter(|message| message.is_human()) {
            let ConversationId { workspace, channel, .. } = &message.conversation;
            let source = MessageRef(channel.clone(), message.id.clone());
            if self.cited.contains(&source)
                && channel_cache.has_opted_out(workspace, &message.author.id)
            {
                self.withheld.insert(source);
            }
        }
    }

    /// Leaves out the entries that were made from these messages.
    pub fn leave_out(&self, memories: &mut Vec<ImportedMemory>) -> Option<SkippedItems> {
        let left_out = leave_out_entries(memories, |_, entry| {
            entry.messages.iter().any(|source| self.withheld.contains(source))
        });
        SkippedItems::new_if_any("entries of memories", left_out, REASON)
    }
}

impl ImportData {
    /// Leaves out memos of what these users said, and standing orders that they gave.
    pub fn leave_out_opted_out(&mut self, channel_cache: &ChannelCache) {
        let has_opted_out = |user: &UserId| channel_cache.has_opted_out(&self.workspace, user);
        let (memos, orders) = (self.memos.len(), self.orders.len());
        self.memos.retain(|it| !it.memo.said_by.as_ref().is_some_and(has_opted_out));
        self.orders.retain(|order| match order {
            Order::GiveStandingOrder { by, .. } => {
                !signer(by).is_some_and(|user| has_opted_out(&UserId::new(user)))
            }
            _ => true,
        });
        let skipped = [
            SkippedItems::new_if_any("memos", memos - self.memos.len(), REASON),
            SkippedItems::new_if_any("standing orders", orders - self.orders.len(), REASON),
        ];
        self.skipped.extend(skipped.into_iter().flatten());
    }
}
