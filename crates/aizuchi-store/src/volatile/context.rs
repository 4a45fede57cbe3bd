//! Reads a context from memory.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use aizuchi_model::chat::owed::Owed;
use aizuchi_model::chat::{ConversationId, Message, MessageId, UserId, Visibility};
use aizuchi_model::context::channel_messages::ChannelMessages;
use aizuchi_model::context::{
    ChannelMemory, Context, ContextWindow, Intent, PendingCommand, newest_message_revision,
};
use aizuchi_model::decision::gate::Gate;

use crate::volatile::VolatileState;
use crate::volatile::records::{ConversationRecord, MessagePosition, MessageRecord};

impl VolatileState {
    pub(super) fn context(&self, conversation: &ConversationId, window: &ContextWindow) -> Context {
        let record = self.conversations.get(conversation);
        let own = record.map_or(&[][..], |record| &record.messages);
        let owed: Vec<Owed> = record.map_or(Vec::new(), |record| {
            record.pending.owed.iter().map(|owed| owed.to.clone()).collect()
        });
        let records = self.messages_in_window(conversation, window, &owed);
        let open_decision = record.and_then(|record| Some(record.pending.step.as_ref()?.decision));
        let is_new =
            |record: &&&MessageRecord| open_decision.is_some() && record.decision == open_decision;
        let human_here = records.iter().filter(|record| {
            record.message.is_human() && record.message.conversation == *conversation
        });
        let heard = |record: &&MessageRecord| (record.message.at, record.heard_revision);
        let covered: Vec<_> = human_here.clone().filter(is_new).map(heard).collect();
        let arrival = |record: &&MessageRecord| (record.message.id.clone(), record.heard_revision);
        let heard_messages = human_here.clone().map(arrival).collect();
        let backfilled = human_here.filter(|record| record.decision.is_none());
        let backfilled: Vec<_> = backfilled.map(heard).collect();
        let newest_revision = newest_message_revision(&covered, &backfilled);
        let restricted = records.iter().filter(|record| record.visibility != Visibility::Public);
        let restricted = restricted.map(|record| record.message.id.clone()).collect();
        let new_messages = records.iter().filter(is_new);
        let new_messages = new_messages.map(|record| record.message.id.clone()).collect();
        let links = records.iter().filter(|record| record.message.conversation == *conversation);
        let links = links.filter_map(|record| {
            let links = record.links.as_ref().filter(|links| links.source.is_current())?;
            Some((record.message.id.clone(), links.clone()))
        });
        let links = links.collect();
        let undecided = records.iter().filter(|record| record.decision.is_none());
        let undecided = undecided.map(|record| record.message.id.clone()).collect();
        let circumstances = self.circumstances(conversation, record, window);
        let messages: Vec<Arc<Message>> =
            records.iter().map(|record| record.message.clone()).collect();
        let compared =
            circumstances.last_intervention.iter().flat_map(|before| &before.messages_before);
        let users: HashSet<&UserId> = messages
            .iter()
            .chain(compared)
            .flat_map(|message| message.referenced_users())
            .collect();
        let names = users.into_iter().filter_map(|user| {
            let key = (conversation.workspace.clone(), user.clone());
            Some((user.clone(), self.users.get(&key)?.name.clone()))
        });
        let names = names.collect();
        let channel_key = (conversation.workspace.clone(), conversation.channel.clone());
        let channel = self.channels.get(&channel_key);
        let name = channel.map_or(conversation.channel.0.clone(), |channel| channel.name.clone());
        let visibility = channel.map_or(Visibility::Private, |channel| channel.visibility);
        let topic = channel.and_then(|channel| channel.topic.clone()).unwrap_or_default();
        let channel_messages =
            ChannelMessages::from_messages(conversation.channel.clone(), name, messages);
        let commands =
            own.iter().filter(|record| record.gate == Some(Gate::Command) && !record.is_deleted);
        let commands = commands.filter(|record| owed.iter().any(|owed| *owed == record.message.id));
        let commands = commands.map(|record| self.to_pending_command(record)).collect();
        Context {
            channel_memories: self.active_channels(conversation, window),
            standing_orders: Vec::new(),
            pending_commands: commands,
            names,
            links,
            undecided,
            new_messages,
            heard: heard_messages,
            circumstances,
            restricted_messages: restricted,
            visibility,
            channel_topic: topic,
            owed,
            newest_message_revision: newest_revision,
            last_silent_state: record.and_then(|record| record.silent_state),
            last_judged: record.and_then(|record| record.last_judged),
            intent: self.intent(record),
            revision: self.revision,
            ..Context::new(conversation.clone(), channel_messages)
        }
    }

    /// The active channels that are visible from a conversation, by name. They have no memories.
    fn active_channels(
        &self,
        conversation: &ConversationId,
        window: &ContextWindow,
    ) -> Vec<ChannelMemory> {
        let visible = self.channels.values().filter(|channel| {
            channel.workspace == conversation.workspace
                && (channel.id == conversation.channel || channel.visibility == Visibility::Public)
        });
        let active = visible.filter(|channel| {
            let key = (channel.workspace.clone(), channel.id.clone());
            let newest = self.channel_order.get(&key).and_then(|positions| positions.last());
            newest.is_some_and(|position| position.at >= window.active_since)
        });
        let mut channels: Vec<ChannelMemory> = active
            .map(|channel| ChannelMemory {
                channel_id: channel.id.clone(),
                channel_name: channel.name.clone(),
                long_term_memory: None,
                short_term_memory: None,
            })
            .collect();
        channels.sort_by_key(|channel| (channel.channel_name.clone(), channel.channel_id.clone()));
        channels
    }

    /// The messages of the window, with owed messages, newest replies and the parents of threads, by time.
    fn messages_in_window(
        &self,
        conversation: &ConversationId,
        window: &ContextWindow,
        owed: &[Owed],
    ) -> Vec<&MessageRecord> {
        let own = self.conversations.get(conversation).map_or(&[][..], |record| &record.messages);
        let own_window = match conversation.thread {
            Some(_) => window.thread_messages,
            None => window.messages,
        };
        let is_visible = |record: &&MessageRecord| record.is_visible();
        let newest_own = || own.iter().rev().filter(is_visible);
        let own_size = own_window.size(newest_own().map(|record| record.message.at));
        let mut wanted: Vec<&MessageRecord> = newest_own().take(own_size).collect();
        // A message that is owed an answer is included whatever its age.
        let is_owed = |record: &&MessageRecord| owed.iter().any(|owed| *owed == record.message.id);
        if owed.len() > wanted.iter().filter(|record| is_owed(record)).count() {
            wanted.extend(own.iter().filter(is_visible).filter(is_owed));
        }
        let channel_key = (conversation.workspace.clone(), conversation.channel.clone());
        let positions = self.channel_order.get(&channel_key).map_or(&[][..], Vec::as_slice);
        let nearby = positions.iter().rev().take_while(|position| position.at >= window.since);
        // The conversation's own messages are in the same order in both lists.
        let mut next = own.iter().rev();
        let nearby = nearby.filter_map(|position| match position.thread == conversation.thread {
            true => next.find(|record| record.message.id == position.id),
            false => self.message_at(conversation, position),
        });
        let nearby = nearby.filter(is_visible).take(window.messages.reach());
        let nearby: Vec<&MessageRecord> = nearby.collect();
        let size = window.messages.size(nearby.iter().map(|record| record.message.at));
        // The conversation's own messages are already included, as far as its own window goes.
        let others = nearby.into_iter().take(size);
        wanted.extend(others.filter(|record| record.message.conversation != *conversation));
        if conversation.thread.is_none() {
            let answers = newest_own().take(own_size);
            let answers = answers.flat_map(|record| {
                [self.newest_reply_by_others(record), self.newest_in_thread(record)]
            });
            wanted.extend(answers.flatten().collect::<Vec<_>>());
        }
        let threads: BTreeSet<&MessageId> = wanted
            .iter()
            .filter_map(|record| record.message.conversation.thread.as_ref())
            .collect();
        let threads = threads.into_iter().chain(&conversation.thread);
        let parents = threads.filter_map(|thread| self.thread_parent(conversation, thread));
        wanted.extend(parents.collect::<Vec<_>>());
        // Most of the conversation's own messages are among the channel's newest.
        wanted.sort_by(|one, other| {
            (one.message.at, &one.message.id).cmp(&(other.message.at, &other.message.id))
        });
        wanted.dedup_by(|one, other| std::ptr::eq(*one, *other));
        wanted
    }

    fn to_pending_command(&self, record: &MessageRecord) -> PendingCommand {
        let (message, author) = (&record.message, &record.message.author.id);
        let user = self.users.get(&(message.conversation.workspace.clone(), author.clone()));
        PendingCommand {
            owed: message.id.clone().into(),
            user: author.clone(),
            role: user.map(|user| user.role).unwrap_or_default(),
            at: message.at,
            text: message.text.clone(),
        }
    }

    /// The newest message by another author in the thread under a message.
    fn newest_reply_by_others(&self, parent: &MessageRecord) -> Option<&MessageRecord> {
        if !self.threads.contains(&parent.message.id) {
            return None;
        }
        let thread = Some(parent.message.id.clone());
        let thread = ConversationId { thread, ..parent.message.conversation.clone() };
        let messages = self.conversations.get(&thread)?.messages.iter().rev();
        messages.into_iter().find(|record| {
            record.is_visible() && record.message.author.id != parent.message.author.id
        })
    }

    /// The newest message in the thread under a message.
    fn newest_in_thread(&self, parent: &MessageRecord) -> Option<&MessageRecord> {
        if !self.threads.contains(&parent.message.id) {
            return None;
        }
        let thread = Some(parent.message.id.clone());
        let thread = ConversationId { thread, ..parent.message.conversation.clone() };
        self.conversations.get(&thread)?.messages.iter().rev().find(|record| record.is_visible())
    }

    /// The message at a position in its channel.
    pub(super) fn message_at(
        &self,
        conversation: &ConversationId,
        position: &MessagePosition,
    ) -> Option<&MessageRecord> {
        let thread = position.thread.clone();
        let messages =
            &self.conversations.get(&ConversationId { thread, ..conversation.clone() })?.messages;
        let found = messages.binary_search_by(|record| {
            (record.message.at, &record.message.id).cmp(&(position.at, &position.id))
        });
        messages.get(found.ok()?)
    }

    fn intent(&self, record: Option<&ConversationRecord>) -> Option<Intent> {
        let decision = self.decisions.get(&record?.pending.step.as_ref()?.decision)?;
        let judgment = decision.judgment.as_ref()?;
        Some(Intent {
            reason: judgment.reason.clone(),
            about: judgment.about.clone(),
            post_at: judgment.post_at,
            conversation_state: decision
                .evaluation
                .as_ref()
                .and_then(|evaluation| evaluation.conversation_state),
            seen_revision: self.judged_revision.get(&decision.id).copied().unwrap_or_default(),
            occasion: None,
        })
    }

    fn thread_parent(
        &self,
        conversation: &ConversationId,
        thread: &MessageId,
    ) -> Option<&MessageRecord> {
        let key = (conversation.workspace.clone(), conversation.channel.clone(), thread.clone());
        let messages = &self.conversations.get(self.conversation_of.get(&key)?)?.messages;
        // The parent of a thread is usually recent.
        messages.iter().rev().find(|record| record.message.id == *thread && record.is_visible())
    }
}
