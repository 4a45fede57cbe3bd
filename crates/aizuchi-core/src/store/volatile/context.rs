//! A context, in memory.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use crate::chat::{ConversationId, Message, MessageId, UserId, Visibility};
use crate::context::channel_messages::ChannelMessages;
use crate::context::{CommandLine, Context, Motive, Window};
use crate::decision::gate::Gate;
use crate::store::volatile::{Place, State, StoredLine, Talk};

impl State {
    pub(super) fn context(&self, conversation: &ConversationId, window: &Window) -> Context {
        let talk = self.talks.get(conversation);
        let own = talk.map_or(&[][..], |talk| &talk.lines);
        let owed: Vec<MessageId> = talk.map_or(Vec::new(), |talk| {
            talk.standing.owed.iter().map(|owed| owed.message.clone()).collect()
        });
        let most = match conversation.thread {
            Some(_) => window.thread_messages,
            None => window.messages,
        };
        let is_here = |line: &&StoredLine| line.is_told();
        let mut wanted: Vec<&StoredLine> = own.iter().rev().filter(is_here).take(most).collect();
        // Whoever is owed an answer is in the picture, however long ago they asked.
        let is_owed = |line: &&StoredLine| owed.contains(&line.message.id);
        if owed.len() > wanted.iter().filter(|line| is_owed(line)).count() {
            wanted.extend(own.iter().filter(is_here).filter(is_owed));
        }
        let place = (conversation.workspace.clone(), conversation.channel.clone());
        let order = self.order.get(&place).map_or(&[][..], Vec::as_slice);
        let around = order.iter().rev().take_while(|place| place.at >= window.since);
        // The conversation's own lines stand in the same order here and there.
        let mut next = own.iter().rev();
        let around = around.filter_map(|place| match place.thread == conversation.thread {
            true => next.find(|line| line.message.id == place.id),
            false => self.line_at(conversation, place),
        });
        let around = around.filter(is_here);
        wanted.extend(around.take(window.messages));
        if conversation.thread.is_none() {
            let answers = own.iter().rev().filter(is_here).take(most);
            let answers = answers.flat_map(|line| [self.answer(line), self.last_in_thread(line)]);
            wanted.extend(answers.flatten().collect::<Vec<_>>());
        }
        let threads: BTreeSet<&MessageId> =
            wanted.iter().filter_map(|line| line.message.conversation.thread.as_ref()).collect();
        let threads = threads.into_iter().chain(&conversation.thread);
        let parents = threads.filter_map(|thread| self.parent(conversation, thread));
        wanted.extend(parents.collect::<Vec<_>>());
        let open = talk.and_then(|talk| Some(talk.standing.step.as_ref()?.decision));
        let humans = wanted.iter().filter(|line| {
            let is_fresh = open.is_some() && line.decision == open;
            line.message.is_human() && line.message.conversation == *conversation && is_fresh
        });
        let newest_heard = humans.map(|line| line.heard).max().unwrap_or(0);
        let unshared = wanted.iter().filter(|line| line.visibility != Visibility::Public);
        let unshared = unshared.map(|line| line.message.id.clone()).collect();
        let fresh = wanted.iter().filter(|line| open.is_some() && line.decision == open);
        let fresh = fresh.map(|line| line.message.id.clone()).collect();
        let circumstances = self.circumstances(conversation, talk, window);
        let lines: Vec<Arc<Message>> = wanted.iter().map(|line| line.message.clone()).collect();
        let compared = circumstances.intervention.iter().flat_map(|before| &before.lines);
        let people: HashSet<&UserId> =
            lines.iter().chain(compared).flat_map(|line| line.named()).collect();
        let names = people.into_iter().filter_map(|user| {
            let key = (conversation.workspace.clone(), user.clone());
            Some((user.clone(), self.users.get(&key)?.name.clone()))
        });
        let names = names.collect();
        let channel = self.channels.get(&place);
        let name = channel.map_or(conversation.channel.0.clone(), |channel| channel.name.clone());
        let visibility = channel.map_or(Visibility::Private, |channel| channel.visibility);
        let history = ChannelMessages::sort(conversation.channel.clone(), name, lines);
        let command = |line: &StoredLine| {
            let (message, by) = (&line.message, &line.message.author.id);
            let user = self.users.get(&(conversation.workspace.clone(), by.clone()));
            CommandLine {
                line: message.id.clone(),
                by: by.clone(),
                role: user.map(|user| user.role).unwrap_or_default(),
                at: message.at,
                text: message.text.clone(),
            }
        };
        let given = own.iter().filter(|line| line.gate == Some(Gate::Command) && !line.is_deleted);
        let given = given.filter(is_owed).map(command).collect();
        let mut context = Context {
            commands: given,
            names,
            fresh,
            circumstances,
            unshared,
            visibility,
            owed,
            newest_heard,
            silent_state: talk.and_then(|talk| talk.silent_state),
            motive: self.motive(talk),
            revision: self.revision,
            ..Context::of(conversation.clone(), history)
        };
        self.remember(&mut context, window);
        context
    }

    /// The newest line by somebody else in the thread that a line has opened.
    fn answer(&self, parent: &StoredLine) -> Option<&StoredLine> {
        if !self.threads.contains(&parent.message.id) {
            return None;
        }
        let thread = Some(parent.message.id.clone());
        let thread = ConversationId { thread, ..parent.message.conversation.clone() };
        let lines = self.talks.get(&thread)?.lines.iter().rev();
        lines
            .into_iter()
            .find(|line| line.is_told() && line.message.author.id != parent.message.author.id)
    }

    /// The newest line in the thread that a line has opened.
    fn last_in_thread(&self, parent: &StoredLine) -> Option<&StoredLine> {
        if !self.threads.contains(&parent.message.id) {
            return None;
        }
        let thread = Some(parent.message.id.clone());
        let thread = ConversationId { thread, ..parent.message.conversation.clone() };
        self.talks.get(&thread)?.lines.iter().rev().find(|line| line.is_told())
    }

    /// The line of a channel that stands at a place of its order.
    fn line_at(&self, conversation: &ConversationId, place: &Place) -> Option<&StoredLine> {
        let thread = place.thread.clone();
        let lines = &self.talks.get(&ConversationId { thread, ..conversation.clone() })?.lines;
        let found = lines.binary_search_by(|line| {
            (line.message.at, &line.message.id).cmp(&(place.at, &place.id))
        });
        lines.get(found.ok()?)
    }

    fn motive(&self, talk: Option<&Talk>) -> Option<Motive> {
        let decision = self.decisions.get(&talk?.standing.step.as_ref()?.decision)?;
        let judgment = decision.judgment.as_ref()?;
        Some(Motive {
            reason: judgment.reason.clone(),
            about: judgment.about.clone(),
            moment: judgment.moment,
            conversation_state: decision
                .weighed
                .as_ref()
                .and_then(|weighed| weighed.conversation_state),
            considered: self.considered.get(&decision.id).copied().unwrap_or(0),
        })
    }

    fn parent(&self, conversation: &ConversationId, thread: &MessageId) -> Option<&StoredLine> {
        let place = (conversation.workspace.clone(), conversation.channel.clone(), thread.clone());
        let lines = &self.talks.get(self.heard.get(&place)?)?.lines;
        lines.iter().find(|line| line.message.id == *thread && line.is_told())
    }
}
