//! Leaves out users that the database has forgotten, so that an older export does not bring them back.

use std::collections::{BTreeSet, HashMap, HashSet};

use aizuchi_model::chat::UserId;
use aizuchi_model::memory::MessageRef;
use jiff::Timestamp;

use crate::{ImportData, ImportedMemo, SkippedItems, leave_out_entries};

const REASON: &str = "the people who wrote them were forgotten since";

/// Whether the user was forgotten at this time or later.
pub fn is_forgotten(forgotten: &HashMap<UserId, Timestamp>, user: &UserId, at: Timestamp) -> bool {
    forgotten.get(user).is_some_and(|forgotten_at| at <= *forgotten_at)
}

impl ImportData {
    /// The users that appear in the data, apart from the messages.
    pub fn user_ids(&self) -> BTreeSet<UserId> {
        let users = self.users.iter().map(|user| &user.id);
        let noted = self.memos.iter().filter_map(|it| it.memo.said_by.as_ref());
        users.chain(noted).cloned().collect()
    }

    /// Leaves out users' data from before they were forgotten, and what was remembered from it. Messages are streamed,
    /// so theirs have been left out already.
    pub fn leave_out_forgotten(&mut self, forgotten: &HashMap<UserId, Timestamp>) {
        let left_out: HashSet<MessageRef> = std::mem::take(&mut self.streamed.cited_left_out);
        let writes = &self.streamed.authors;
        // A user who has written since they were forgotten has a name again.
        self.users.retain(|user| writes.contains(&user.id) || !forgotten.contains_key(&user.id));
        let memos = self.memos.len();
        let are_left_out =
            |sources: &[MessageRef]| sources.iter().any(|source| left_out.contains(source));
        self.memos.retain(|ImportedMemo { memo, messages }| {
            let said_by = memo.said_by.as_ref();
            !said_by.is_some_and(|user| is_forgotten(forgotten, user, memo.updated))
                && !are_left_out(messages)
        });
        let entries =
            leave_out_entries(&mut self.memories, |_, entry| are_left_out(&entry.messages));
        let skipped = [
            SkippedItems::new_if_any("messages", self.streamed.left_out, REASON),
            SkippedItems::new_if_any("memos", memos - self.memos.len(), REASON),
            SkippedItems::new_if_any("entries of memories", entries, REASON),
        ];
        self.skipped.extend(skipped.into_iter().flatten());
    }
}
