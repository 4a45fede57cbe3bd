//! Leaves out whom the database has forgotten: an older export does not bring them back.

use std::collections::{BTreeSet, HashMap, HashSet};

use jiff::Timestamp;

use crate::{ImportData, ImportedMessage, SkippedItems};
use aizuchi_core::chat::UserId;
use aizuchi_core::memory::MessageRef;

const REASON: &str = "the people who wrote them were forgotten since";

impl ImportData {
    /// The users of whom something is in the data.
    pub fn user_ids(&self) -> BTreeSet<UserId> {
        let authors = self.messages.iter().chain(&self.private_messages);
        let authors = authors.map(|imported| &imported.message.author.id);
        let users = self.users.iter().map(|user| &user.id);
        let reacted = self.reactions.iter().map(|reaction| &reaction.user);
        let noted = self.memos.iter().filter_map(|memo| memo.said_by.as_ref());
        authors.chain(users).chain(reacted).chain(noted).cloned().collect()
    }

    /// Leaves out what is of people up to the time at which they were forgotten, and what was remembered of it. Of the
    /// messages that are streamed, those were left out before.
    pub fn leave_out_forgotten(&mut self, forgotten: &HashMap<UserId, Timestamp>) {
        let is_forgotten = |user: &UserId, at: Timestamp| {
            forgotten.get(user).is_some_and(|forgotten_at| at <= *forgotten_at)
        };
        let mut left_out: HashSet<MessageRef> = std::mem::take(&mut self.streamed.cited_left_out);
        let mut left_out_messages = self.streamed.left_out;
        let mut keep = |imported: &ImportedMessage| {
            let message = &imported.message;
            let is_forgotten = is_forgotten(&message.author.id, message.at);
            if is_forgotten {
                left_out_messages += 1;
                let channel = message.conversation.channel.clone();
                left_out.insert(MessageRef(channel, message.id.clone()));
            }
            !is_forgotten
        };
        self.messages.retain(&mut keep);
        self.private_messages.retain(&mut keep);
        let messages = self.messages.iter().chain(&self.private_messages);
        let writes: HashSet<&UserId> =
            messages.map(|imported| &imported.message.author.id).collect();
        let streamed = &self.streamed.authors;
        self.users.retain(|user| {
            let writes = writes.contains(&user.id) || streamed.contains(&user.id);
            // Who has written since they were forgotten has a name again.
            writes || !forgotten.contains_key(&user.id)
        });
        self.reactions.retain(|reaction| {
            let message = MessageRef(reaction.channel.clone(), reaction.message.clone());
            !is_forgotten(&reaction.user, reaction.at) && !left_out.contains(&message)
        });
        let memos = self.memos.len();
        self.memos.retain(|memo| {
            !memo.said_by.as_ref().is_some_and(|user| is_forgotten(user, memo.updated))
        });
        let mut entries = 0;
        for memory in &mut self.memories {
            let before = memory.entries.len();
            memory.entries.retain(|entry| !entry.messages.iter().any(|it| left_out.contains(it)));
            entries += before - memory.entries.len();
        }
        self.memories.retain(|memory| !memory.entries.is_empty());
        let skipped = [
            SkippedItems::new_if_any("messages", left_out_messages, REASON),
            SkippedItems::new_if_any("memos", memos - self.memos.len(), REASON),
            SkippedItems::new_if_any("entries of memories", entries, REASON),
        ];
        self.skipped.extend(skipped.into_iter().flatten());
    }
}
