//! Withholds the messages of opted-out users and of conversations that were reset, in memory.

use std::sync::Arc;

use aizuchi_model::chat::owed::Owed;
use aizuchi_model::chat::{ConversationId, Message, UserId, WorkspaceId};
use aizuchi_model::decision::gate::Gate;
use jiff::Timestamp;

use crate::order::truncate_to_milliseconds;
use crate::volatile::VolatileState;
use crate::volatile::records::MessageRecord;

impl VolatileState {
    /// Makes the messages that carry a user's words the user's own, so that they are withheld or forgotten with the
    /// others.
    pub(super) fn claim_carriers(&mut self, workspace: &WorkspaceId, user: &UserId) {
        let here = self.conversations.iter_mut().filter(|(id, _)| id.workspace == *workspace);
        let carries = |it: &Message| it.quoted().any(|it| it.author.as_ref() == Some(user));
        for carrier in here.flat_map(|(_, record)| &mut record.messages) {
            if carries(&carrier.message) {
                Arc::make_mut(&mut carrier.message).author.id = user.clone();
            }
        }
    }

    /// Withholds everything that a user has written so far.
    pub(super) fn redact_user(&mut self, workspace: &WorkspaceId, user: &UserId, now: Timestamp) {
        self.claim_carriers(workspace, user);
        let is_in_workspace = |conversation: &&ConversationId| conversation.workspace == *workspace;
        let conversations: Vec<ConversationId> =
            self.conversations.keys().filter(is_in_workspace).cloned().collect();
        let mut messages = Vec::new();
        for conversation in &conversations {
            let of_user = |message: &&MessageRecord| message.message.author.id == *user;
            let theirs = self.conversations[conversation].messages.iter().filter(of_user);
            messages.extend(theirs.map(|message| message.message.clone()));
        }
        self.redact_messages(messages);
        for conversation in &conversations {
            self.change_pending_state(conversation, now, |pending_state| {
                pending_state.owed.retain(|owed| owed.asker != *user);
            });
        }
    }

    /// Withholds the messages of a conversation up to a time.
    pub(super) fn reset_conversation(
        &mut self,
        conversation: &ConversationId,
        until: Timestamp,
        now: Timestamp,
    ) {
        let reset = self.resets.entry(conversation.clone()).or_insert(until);
        *reset = until.max(*reset);
        let top = ConversationId { thread: None, ..conversation.clone() };
        let is_parent =
            |record: &&MessageRecord| Some(&record.message.id) == conversation.thread.as_ref();
        let messages_of = |conversation_id| {
            self.conversations.get(conversation_id).map_or(&[][..], |record| &record.messages)
        };
        let parent = messages_of(&top).iter().filter(is_parent);
        let candidates = messages_of(conversation).iter().chain(parent);
        let messages = candidates.filter(|record| {
            truncate_to_milliseconds(record.message.at) <= truncate_to_milliseconds(until)
        });
        let messages = messages.map(|record| record.message.clone()).collect();
        let is_command = |record: &&MessageRecord| record.gate == Some(Gate::Command);
        let commands = messages_of(conversation).iter().filter(is_command);
        let commands: Vec<Owed> =
            commands.map(|record| Owed::from(record.message.id.clone())).collect();
        self.redact_messages(messages);
        self.change_pending_state(conversation, now, |pending_state| {
            pending_state.owed.retain(|owed| owed.at > until || commands.contains(&owed.to));
        });
    }

    /// Removes these messages from all prompts.
    fn redact_messages(&mut self, mut messages: Vec<Arc<Message>>) {
        messages.retain(|message| {
            let record = self.message_mut(&message.conversation, &message.id);
            record.is_some_and(|record| !record.is_redacted)
        });
        let sort_key = |message: &Arc<Message>| {
            (message.at, message.conversation.channel.clone(), message.id.clone())
        };
        messages.sort_by_cached_key(sort_key);
        for message in messages {
            self.revision += 1;
            let revision = self.revision;
            let mut was_visible = false;
            if let Some(record) = self.message_mut(&message.conversation, &message.id) {
                was_visible = record.is_visible();
                record.is_redacted = true;
                record.revision = revision;
            }
            // A deleted message has no links, and no later message was compared with it.
            if was_visible {
                let ConversationId { workspace, channel, .. } = &message.conversation;
                self.drop_search_index(workspace, channel);
                self.drop_outdated_links(&message.conversation, &message.id);
            }
        }
        self.last_change = self.revision;
    }
}
