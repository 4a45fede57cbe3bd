//! The messages of conversations: their order, their links, and whether they have changed.

use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, ConversationId, Message, MessageId, Visibility, WorkspaceId};
use aizuchi_model::context::links::{LinkSource, MessageLinks};
use aizuchi_model::decision::DecisionId;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::memory::{Lineage, MessageRef};

use crate::volatile::VolatileState;
use crate::volatile::records::{MessagePosition, MessageRecord};

impl VolatileState {
    pub(super) fn insert_message(
        &mut self,
        message: Message,
        gate: Option<Gate>,
        decision: Option<DecisionId>,
    ) {
        self.revision += 1;
        let channel_key =
            (message.conversation.workspace.clone(), message.conversation.channel.clone());
        let channel = self.channels.get(&channel_key);
        let visibility = channel.map_or(Visibility::Private, |channel| channel.visibility);
        if let Some(thread) = message.conversation.thread.as_ref() {
            self.threads.insert(thread.clone());
        }
        let reset = self.resets.get(&message.conversation);
        let is_reset =
            reset.is_some_and(|until| message.at.as_millisecond() < until.as_millisecond());
        let (workspace, channel) = channel_key.clone();
        let early_reactions =
            self.early_reactions.remove(&(workspace, channel, message.id.clone()));
        let positions = self.channel_order.entry(channel_key).or_default();
        let stands_before =
            |other: &MessagePosition| (other.at, &other.id) <= (message.at, &message.id);
        let position = positions.iter().rposition(stands_before).map_or(0, |before| before + 1);
        let thread = message.conversation.thread.clone();
        positions
            .insert(position, MessagePosition { at: message.at, id: message.id.clone(), thread });
        let record = MessageRecord {
            visibility,
            is_deleted: false,
            is_redacted: gate.is_some_and(Gate::is_redacting) || is_reset,
            gate,
            decision,
            heard_revision: self.revision,
            revision: self.revision,
            edited: None,
            links: None,
            reactions_revision: early_reactions.as_ref().map_or(0, |_| self.revision),
            reactions: early_reactions.unwrap_or_default(),
            message: Arc::new(message),
        };
        let index = self.search_indexes.get_mut(&(
            record.message.conversation.workspace.clone(),
            record.message.conversation.channel.clone(),
        ));
        if let Some(index) = index {
            index.add(&record);
        }
        let records = &mut self
            .conversations
            .entry(record.message.conversation.clone())
            .or_default()
            .messages;
        let stands_before = |other: &MessageRecord| {
            (other.message.at, &other.message.id) <= (record.message.at, &record.message.id)
        };
        let position = records.iter().rposition(stands_before).map_or(0, |before| before + 1);
        records.insert(position, record);
    }

    pub(super) fn has_changed_since(
        &self,
        conversation: &ConversationId,
        revision: u64,
        lineage: &Lineage,
    ) -> bool {
        // There are no memories, memos and standing orders, so they count as gone.
        if !lineage.memories.is_empty() || !lineage.orders.is_empty() {
            return true;
        }
        if revision >= self.last_change {
            return false;
        }
        // Bots edit their messages all the time; their edits do not count.
        let has_changed = |record: &MessageRecord| {
            record.heard_revision <= revision
                && record.revision > revision
                && (record.is_deleted || record.is_redacted || record.message.is_human())
        };
        let ConversationId { workspace, channel, .. } = conversation;
        let has_turned_private = |message: &MessageRef| {
            let turned_private = self.made_private_at.get(&(workspace.clone(), message.0.clone()));
            *channel != message.0
                && turned_private.is_some_and(|turned_private_at| *turned_private_at > revision)
        };
        if lineage.messages.iter().any(has_turned_private) {
            return true;
        }
        let messages = lineage.messages.iter().filter_map(|message| {
            let key = (workspace.clone(), message.0.clone(), message.1.clone());
            let conversation = self.conversations.get(self.conversation_of.get(&key)?)?;
            conversation.messages.iter().rev().find(|other| other.message.id == message.1)
        });
        messages.into_iter().any(has_changed)
    }

    /// Stores what messages of a conversation reply to.
    pub(super) fn put_links(
        &mut self,
        conversation: &ConversationId,
        links: Vec<(MessageId, MessageLinks)>,
    ) {
        for (message, links) in links {
            if let Some(record) = self.message_mut(conversation, &message) {
                record.links.get_or_insert_with(|| Arc::new(links));
            }
        }
    }

    /// Drops the links of a message that has changed or is gone, and those of the messages that were compared with it.
    /// They are determined again.
    pub(super) fn drop_outdated_links(
        &mut self,
        conversation: &ConversationId,
        message: &MessageId,
    ) {
        let thread = ConversationId { thread: Some(message.clone()), ..conversation.clone() };
        if let Some(record) = self.conversations.get_mut(&thread) {
            record.drop_links_from(0);
        }
        let Some(record) = self.conversations.get_mut(conversation) else { return };
        let Some(index) = record.messages.iter().rposition(|other| other.message.id == *message)
        else {
            return;
        };
        let changed = &mut record.messages[index];
        let is_certain =
            changed.links.as_ref().is_some_and(|links| links.source == LinkSource::Platform);
        if !is_certain || changed.is_deleted {
            changed.links = None;
        }
        record.drop_links_from(index + 1);
    }

    /// Drops the search index of a channel whose searchable messages have changed.
    pub(super) fn drop_search_index(&mut self, workspace: &WorkspaceId, channel: &ChannelId) {
        if !self.search_indexes.is_empty() {
            self.search_indexes.remove(&(workspace.clone(), channel.clone()));
        }
    }

    pub(super) fn message_mut(
        &mut self,
        conversation: &ConversationId,
        message: &MessageId,
    ) -> Option<&mut MessageRecord> {
        let messages = &mut self.conversations.get_mut(conversation)?.messages;
        messages.iter_mut().rev().find(|record| record.message.id == *message)
    }
}
