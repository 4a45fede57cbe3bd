//! Messages as pages show them, with names and reactions, in memory; and when a channel last had a message.

use std::sync::Arc;

use aizuchi_model::chat::{
    AuthorKind, Channel, ConversationId, Message, MessageId, Role, User, UserId, WorkspaceId,
};

use crate::ChannelActivity;
use crate::query::{MessageQuery, MessageRange};
use crate::stored_message::{ReactionGroup, StoredMessage};
use crate::volatile::VolatileState;
use crate::volatile::records::{MessageRecord, ReactionRecord};

impl VolatileState {
    pub(super) fn query_messages(&self, query: &MessageQuery) -> Vec<StoredMessage> {
        if query.range == MessageRange::Newest && query.thread.is_none() {
            return self.newest_messages(query);
        }
        let conversations = self.conversations.iter().filter(|(conversation, _)| {
            conversation.workspace == query.workspace
                && conversation.channel == query.channel
                && query
                    .thread
                    .as_ref()
                    .is_none_or(|thread| Some(thread) == conversation.thread.as_ref())
        });
        let mut messages: Vec<&MessageRecord> =
            conversations.flat_map(|(_, record)| &record.messages).collect();
        messages.sort_by_key(|record| (record.message.at, &record.message.id));
        let position = |id: &MessageId| {
            messages.iter().position(|message| message.message.id == *id).unwrap_or(messages.len())
        };
        let range = match &query.range {
            MessageRange::Newest => messages.len().saturating_sub(query.limit)..messages.len(),
            MessageRange::Before(id) => position(id).saturating_sub(query.limit)..position(id),
            MessageRange::BeforeTime(time) => {
                let end = messages.partition_point(|message| message.message.at < *time);
                end.saturating_sub(query.limit)..end
            }
            MessageRange::After(id) => (position(id) + 1).min(messages.len())..messages.len(),
            MessageRange::AfterTime(time) => {
                messages.partition_point(|message| message.message.at <= *time)..messages.len()
            }
        };
        messages[range]
            .iter()
            .take(query.limit)
            .map(|message| self.to_stored_message(message))
            .collect()
    }

    /// The newest messages of a channel, for which a replay asks at each judgment.
    fn newest_messages(&self, query: &MessageQuery) -> Vec<StoredMessage> {
        let (workspace, channel) = (query.workspace.clone(), query.channel.clone());
        let positions = self.channel_order.get(&(workspace.clone(), channel.clone()));
        let positions = positions.map_or(&[][..], Vec::as_slice);
        let newest = &positions[positions.len().saturating_sub(query.limit)..];
        let channel = ConversationId { workspace, channel, thread: None };
        let records = newest.iter().filter_map(|position| self.message_at(&channel, position));
        records.map(|record| self.to_stored_message(record)).collect()
    }

    pub(super) fn activity_of(&self, channel: &Channel) -> ChannelActivity {
        let here = self.conversations.iter().filter(|(conversation, _)| {
            conversation.workspace == channel.workspace && conversation.channel == channel.id
        });
        let messages: Vec<&Message> =
            here.flat_map(|(_, record)| &record.messages).map(|record| &*record.message).collect();
        let newest_of = |is_own: bool| {
            let of_kind = messages.iter();
            let of_kind =
                of_kind.filter(|message| (message.author.kind == AuthorKind::Persona) == is_own);
            of_kind.map(|message| message.at).max()
        };
        ChannelActivity {
            channel: channel.id.clone(),
            last_heard: newest_of(false),
            last_spoke: newest_of(true),
        }
    }

    pub(super) fn to_stored_message(&self, record: &MessageRecord) -> StoredMessage {
        let workspace = &record.message.conversation.workspace;
        let mut present: Vec<&ReactionRecord> =
            record.reactions.iter().filter(|reaction| reaction.removed.is_none()).collect();
        present.sort_by_key(|reaction| (reaction.at, &reaction.emoji, &reaction.user));
        let reactions = present.into_iter().map(|reaction| {
            let (id, name) = (reaction.user.clone(), self.user_name(workspace, &reaction.user));
            let user = User {
                workspace: workspace.clone(),
                id,
                name,
                kind: reaction.kind,
                role: Role::default(),
                zone: None,
            };
            (reaction.emoji.clone(), user)
        });
        StoredMessage {
            message: record.message.clone(),
            author_name: self.user_name(workspace, &record.message.author.id),
            visibility: record.visibility,
            is_deleted: record.is_deleted,
            is_expired: false,
            is_withheld: record.is_redacted,
            gate: record.gate,
            reactions: ReactionGroup::group(reactions),
            revision: record.shown_revision(),
        }
    }

    /// The name of a user, or the id if the name is unknown.
    pub(super) fn user_name(&self, workspace: &WorkspaceId, user: &UserId) -> Arc<str> {
        let known = self.users.get(&(workspace.clone(), user.clone()));
        known.map_or(user.0.clone(), |user| user.name.clone())
    }
}

impl MessageRecord {
    /// The revision at which the message or its reactions last changed.
    pub(super) fn shown_revision(&self) -> u64 {
        self.revision.max(self.reactions_revision)
    }
}
