//! Which messages were answered by posts that were found in the platform's history.

use std::collections::BTreeSet;

use aizuchi_model::chat::{AuthorKind, ConversationId, MessageId};
use aizuchi_model::context::links::LinkSource;
use aizuchi_model::decision::DecisionResult;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::flow::found_posts::{AskedMessage, FoundPost, answered};

use crate::volatile::VolatileState;
use crate::volatile::records::MessageRecord;

impl VolatileState {
    pub(super) fn answered_in_history(
        &self,
        conversation: &ConversationId,
        messages: &[MessageId],
    ) -> BTreeSet<MessageId> {
        let key = (conversation.workspace.clone(), conversation.channel.clone());
        let positions = self.channel_order.get(&key).map_or(&[][..], Vec::as_slice);
        // From the newest back to the first of these messages.
        let mut left = messages.len();
        let since = positions.iter().rev().take_while(|position| {
            let is_since = left > 0;
            left -= usize::from(is_since && messages.contains(&position.id));
            is_since
        });
        let later = since.filter_map(|position| self.message_at(conversation, position));
        let later: Vec<&MessageRecord> = later.collect();
        let is_listed = |record: &MessageRecord| messages.contains(&record.message.id);
        let is_found = |record: &&&MessageRecord| {
            record.message.author.kind == AuthorKind::Persona
                && record.gate == Some(Gate::Backfilled)
        };
        let mut posts: Vec<(&MessageId, FoundPost)> =
            later.iter().filter(is_found).map(|it| (&it.message.id, found_post(it))).collect();
        let reacted = later.iter().filter(|it| is_listed(it) && self.has_found_reaction(it));
        posts.extend(reacted.map(|record| {
            let (at, answers) = (record.message.at, Some(vec![record.message.id.clone()]));
            (&record.message.id, FoundPost { at, thread: None, answers, is_reaction: true })
        }));
        posts.sort_by_key(|(id, post)| (post.at, *id));
        let posts: Vec<FoundPost> = posts.into_iter().map(|(_, post)| post).collect();
        let open = later.iter().filter(|record| is_listed(record) || self.is_open(record));
        let open = open.map(|record| AskedMessage {
            id: record.message.id.clone(),
            at: record.message.at,
            thread: record.message.conversation.thread.clone(),
        });
        let mut answered = answered(&posts, open.collect());
        answered.retain(|id| messages.contains(id));
        answered
    }

    /// Whether an answer is owed to a message, or was until it was dropped.
    fn is_open(&self, record: &MessageRecord) -> bool {
        let conversation = &record.message.conversation;
        let ended = record.decision.and_then(|id| self.decisions.get(&id)?.ended);
        let was_owed = record.message.is_addressed() && ended == Some(DecisionResult::Dropped);
        was_owed || self.is_owed(conversation, &record.message.id)
    }

    /// Whether the persona has reacted to a message, and no decision of this store did.
    fn has_found_reaction(&self, record: &MessageRecord) -> bool {
        let id = &record.message.id;
        let mut reactions = record.reactions.iter();
        let has_own = reactions.any(|it| it.kind == AuthorKind::Persona && it.removed.is_none());
        has_own
            && !self
                .decisions
                .values()
                .any(|decision| decision.reaction.as_ref().is_some_and(|(on, _)| on == id))
    }
}

fn found_post(record: &MessageRecord) -> FoundPost {
    let links = record.links.as_ref().filter(|links| links.source == LinkSource::Platform);
    FoundPost {
        at: record.message.at,
        thread: record.message.conversation.thread.clone(),
        answers: links.map(|links| links.parents.keys().cloned().collect()),
        is_reaction: false,
    }
}
