//! Forgets a user in memory, in one step.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use aizuchi_model::chat::{
    Author, ConversationId, Deletion, Message, MessageId, UserId, WorkspaceId,
};
use aizuchi_model::decision::{Decision, DecisionId};
use aizuchi_model::memory::MessageRef;
use jiff::Timestamp;

use crate::FORGOTTEN_USER_ID;
use crate::volatile::VolatileState;
use crate::volatile::records::MessageRecord;

impl VolatileState {
    /// Deletes all messages of a user, with everything made from them.
    pub(super) fn forget_user(&mut self, workspace: &WorkspaceId, user: &UserId, now: Timestamp) {
        self.claim_carriers(workspace, user);
        let is_in_workspace =
            |conversation_id: &&ConversationId| conversation_id.workspace == *workspace;
        let conversations: Vec<ConversationId> =
            self.conversations.keys().filter(is_in_workspace).cloned().collect();
        for (conversation, message) in self.answers_from(workspace, user) {
            self.delete_message(&Deletion { conversation, message, at: now });
        }
        for conversation_id in conversations {
            let of_user = |record: &&MessageRecord| {
                record.message.author.id == *user && (!record.is_deleted || record.is_expired)
            };
            let message_ids = self.conversations[&conversation_id].messages.iter().filter(of_user);
            let message_ids: Vec<MessageId> =
                message_ids.map(|record| record.message.id.clone()).collect();
            for message in message_ids {
                let conversation = conversation_id.clone();
                self.delete_message(&Deletion { conversation, message: message.clone(), at: now });
                if let Some(record) = self.message_mut(&conversation_id, &message) {
                    let author = Author {
                        id: UserId::new(FORGOTTEN_USER_ID),
                        ..record.message.author.clone()
                    };
                    record.message = Arc::new(Message { author, ..(*record.message).clone() });
                }
            }
            self.change_pending_state(&conversation_id, now, |pending_state| {
                pending_state.owed.retain(|owed| owed.asker != *user);
            });
        }
    }

    /// The persona's posts that answered a user, or were made from the user's messages, or from such posts.
    fn answers_from(
        &self,
        workspace: &WorkspaceId,
        user: &UserId,
    ) -> Vec<(ConversationId, MessageId)> {
        let in_workspace = self.conversations.iter().filter(|(id, _)| id.workspace == *workspace);
        let records = in_workspace.flat_map(|(id, record)| {
            record.messages.iter().map(move |message| (id.channel.clone(), message))
        });
        let theirs: HashMap<MessageRef, Option<DecisionId>> = records
            .filter(|(_, record)| record.message.author.id == *user)
            .map(|(channel, record)| {
                (MessageRef(channel, record.message.id.clone()), record.decision)
            })
            .collect();
        let covering: HashSet<DecisionId> = theirs.values().flatten().copied().collect();
        let mut sources: HashSet<MessageRef> = theirs.into_keys().collect();
        let mut found = Vec::new();
        loop {
            let posted = self.posted_from(workspace, &covering, &sources);
            let new: Vec<_> = posted.into_iter().filter(|it| sources.insert(it.clone())).collect();
            if new.is_empty() {
                break;
            }
            found.extend(new);
        }
        let in_conversation = |MessageRef(channel, id): MessageRef| {
            let key = (workspace.clone(), channel, id);
            Some((self.conversation_of.get(&key)?.clone(), key.2))
        };
        found.into_iter().filter_map(in_conversation).collect()
    }

    /// The posts of these decisions, and of those whose prompts held one of these messages.
    fn posted_from(
        &self,
        workspace: &WorkspaceId,
        covering: &HashSet<DecisionId>,
        sources: &HashSet<MessageRef>,
    ) -> Vec<MessageRef> {
        let is_made_from = |decision: &&Decision| {
            let exchanges = self.exchanges.get(&decision.id).into_iter().flatten().flatten();
            let mut lineage = exchanges.flat_map(|record| &record.exchange.lineage.messages);
            decision.conversation.workspace == *workspace
                && (covering.contains(&decision.id) || lineage.any(|it| sources.contains(it)))
        };
        let posted = self.decisions.values().filter(is_made_from).flat_map(|decision| {
            let channel = &decision.conversation.channel;
            decision.posted_messages.iter().map(|id| MessageRef(channel.clone(), id.clone()))
        });
        posted.collect()
    }
}
