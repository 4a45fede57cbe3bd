//! A context, in memory.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use crate::chat::{ConversationId, Message, MessageId, UserId, Visibility};
use crate::context::channel_messages::ChannelMessages;
use crate::context::{Context, ContextWindow, Intent, PendingCommand};
use crate::decision::gate::Gate;
use crate::store::volatile::{ConversationRecord, MessagePosition, MessageRecord, VolatileState};

impl VolatileState {
    pub(super) fn context(&self, conversation: &ConversationId, window: &ContextWindow) -> Context {
        let talk = self.conversations.get(conversation);
        let own = talk.map_or(&[][..], |talk| &talk.messages);
        let owed: Vec<MessageId> = talk.map_or(Vec::new(), |talk| {
            talk.pending.owed.iter().map(|owed| owed.message.clone()).collect()
        });
        let most = match conversation.thread {
            Some(_) => window.thread_messages,
            None => window.messages,
        };
        let is_here = |line: &&MessageRecord| line.is_visible();
        let mut wanted: Vec<&MessageRecord> = own.iter().rev().filter(is_here).take(most).collect();
        // Whoever is owed an answer is in the picture, however long ago they asked.
        let is_owed = |line: &&MessageRecord| owed.contains(&line.message.id);
        if owed.len() > wanted.iter().filter(|line| is_owed(line)).count() {
            wanted.extend(own.iter().filter(is_here).filter(is_owed));
        }
        let place = (conversation.workspace.clone(), conversation.channel.clone());
        let order = self.channel_order.get(&place).map_or(&[][..], Vec::as_slice);
        let around = order.iter().rev().take_while(|place| place.at >= window.since);
        // The conversation's own lines stand in the same order here and there.
        let mut next = own.iter().rev();
        let around = around.filter_map(|place| match place.thread == conversation.thread {
            true => next.find(|line| line.message.id == place.id),
            false => self.message_at(conversation, place),
        });
        let around = around.filter(is_here);
        wanted.extend(around.take(window.messages));
        if conversation.thread.is_none() {
            let answers = own.iter().rev().filter(is_here).take(most);
            let answers = answers
                .flat_map(|line| [self.newest_reply_by_others(line), self.newest_in_thread(line)]);
            wanted.extend(answers.flatten().collect::<Vec<_>>());
        }
        let threads: BTreeSet<&MessageId> =
            wanted.iter().filter_map(|line| line.message.conversation.thread.as_ref()).collect();
        let threads = threads.into_iter().chain(&conversation.thread);
        let parents = threads.filter_map(|thread| self.thread_parent(conversation, thread));
        wanted.extend(parents.collect::<Vec<_>>());
        let open = talk.and_then(|talk| Some(talk.pending.step.as_ref()?.decision));
        let humans = wanted.iter().filter(|line| {
            let is_fresh = open.is_some() && line.decision == open;
            line.message.is_human() && line.message.conversation == *conversation && is_fresh
        });
        let newest_heard = humans.map(|line| line.heard_revision).max().unwrap_or(0);
        let unshared = wanted.iter().filter(|line| line.visibility != Visibility::Public);
        let unshared = unshared.map(|line| line.message.id.clone()).collect();
        let fresh = wanted.iter().filter(|line| open.is_some() && line.decision == open);
        let fresh = fresh.map(|line| line.message.id.clone()).collect();
        let circumstances = self.channel_status(conversation, talk, window);
        let lines: Vec<Arc<Message>> = wanted.iter().map(|line| line.message.clone()).collect();
        let compared =
            circumstances.last_intervention.iter().flat_map(|before| &before.messages_before);
        let people: HashSet<&UserId> =
            lines.iter().chain(compared).flat_map(|line| line.referenced_users()).collect();
        let names = people.into_iter().filter_map(|user| {
            let key = (conversation.workspace.clone(), user.clone());
            Some((user.clone(), self.users.get(&key)?.name.clone()))
        });
        let names = names.collect();
        let channel = self.channels.get(&place);
        let name = channel.map_or(conversation.channel.0.clone(), |channel| channel.name.clone());
        let visibility = channel.map_or(Visibility::Private, |channel| channel.visibility);
        let history = ChannelMessages::from_messages(conversation.channel.clone(), name, lines);
        let command = |line: &MessageRecord| {
            let (message, by) = (&line.message, &line.message.author.id);
            let user = self.users.get(&(conversation.workspace.clone(), by.clone()));
            PendingCommand {
                message: message.id.clone(),
                user: by.clone(),
                role: user.map(|user| user.role).unwrap_or_default(),
                at: message.at,
                text: message.text.clone(),
            }
        };
        let given = own.iter().filter(|line| line.gate == Some(Gate::Command) && !line.is_deleted);
        let given = given.filter(is_owed).map(command).collect();
        let mut context = Context {
            pending_commands: given,
            names,
            new_messages: fresh,
            channel_status: circumstances,
            restricted_messages: unshared,
            visibility,
            owed,
            newest_message_revision: newest_heard,
            last_silent_state: talk.and_then(|talk| talk.silent_state),
            intent: self.intent(talk),
            revision: self.revision,
            ..Context::new(conversation.clone(), history)
        };
        self.add_memories(&mut context, window);
        context
    }

    /// The newest line by somebody else in the thread that a line has opened.
    fn newest_reply_by_others(&self, parent: &MessageRecord) -> Option<&MessageRecord> {
        if !self.threads.contains(&parent.message.id) {
            return None;
        }
        let thread = Some(parent.message.id.clone());
        let thread = ConversationId { thread, ..parent.message.conversation.clone() };
        let lines = self.conversations.get(&thread)?.messages.iter().rev();
        lines
            .into_iter()
            .find(|line| line.is_visible() && line.message.author.id != parent.message.author.id)
    }

    /// The newest line in the thread that a line has opened.
    fn newest_in_thread(&self, parent: &MessageRecord) -> Option<&MessageRecord> {
        if !self.threads.contains(&parent.message.id) {
            return None;
        }
        let thread = Some(parent.message.id.clone());
        let thread = ConversationId { thread, ..parent.message.conversation.clone() };
        self.conversations.get(&thread)?.messages.iter().rev().find(|line| line.is_visible())
    }

    /// The line of a channel that stands at a place of its order.
    fn message_at(
        &self,
        conversation: &ConversationId,
        place: &MessagePosition,
    ) -> Option<&MessageRecord> {
        let thread = place.thread.clone();
        let lines =
            &self.conversations.get(&ConversationId { thread, ..conversation.clone() })?.messages;
        let found = lines.binary_search_by(|line| {
            (line.message.at, &line.message.id).cmp(&(place.at, &place.id))
        });
        lines.get(found.ok()?)
    }

    fn intent(&self, talk: Option<&ConversationRecord>) -> Option<Intent> {
        let decision = self.decisions.get(&talk?.pending.step.as_ref()?.decision)?;
        let judgment = decision.judgment.as_ref()?;
        Some(Intent {
            reason: judgment.reason.clone(),
            about: judgment.about.clone(),
            post_at: judgment.post_at,
            conversation_state: decision
                .evaluation
                .as_ref()
                .and_then(|weighed| weighed.conversation_state),
            seen_revision: self.considered.get(&decision.id).copied().unwrap_or(0),
        })
    }

    fn thread_parent(
        &self,
        conversation: &ConversationId,
        thread: &MessageId,
    ) -> Option<&MessageRecord> {
        let place = (conversation.workspace.clone(), conversation.channel.clone(), thread.clone());
        let lines = &self.conversations.get(self.conversation_of.get(&place)?)?.messages;
        lines.iter().find(|line| line.message.id == *thread && line.is_visible())
    }
}
