//! The structure of the messages of a conversation, by their ids and users.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock, OnceLock};

use jiff::Timestamp;
use parking_lot::Mutex;

use crate::chat::{AuthorKind, Mention, Message, MessageId, UserId};
use crate::context::Context;
use crate::context::links::{LinkSource, MessageLinks};
use aizuchi_structure::cues::Cues;
use aizuchi_structure::links::WINDOW;
use aizuchi_structure::names::NameIndex;
use aizuchi_structure::utterance::{Reading, Utterance};
use aizuchi_structure::{ConversationStructure, Models};

/// How many messages are kept. The oldest of them only give context.
pub const MAX_MESSAGES: usize = 2 * WINDOW;

/// Texts that were read lately: the same messages are looked at again and again. A full cache begins anew.
static READINGS: LazyLock<Mutex<HashMap<Arc<str>, Arc<Reading>>>> = LazyLock::new(Mutex::default);
const MAX_READINGS: usize = 2048;
/// Longer texts are rare and not cached.
const MAX_TEXT_BYTES: usize = 2048;

fn read(text: &Arc<str>) -> Arc<Reading> {
    if text.len() > MAX_TEXT_BYTES {
        return Arc::new(Reading::new(text));
    }
    let mut readings = READINGS.lock();
    if let Some(reading) = readings.get(text) {
        return reading.clone();
    }
    let reading = Arc::new(Reading::new(text));
    if readings.len() >= MAX_READINGS {
        readings.clear();
    }
    readings.insert(text.clone(), reading.clone());
    reading
}

/// The newest messages of a conversation.
#[derive(Debug)]
pub struct Talk {
    structure: ConversationStructure<'static>,
    messages: Vec<TalkMessage>,
    /// Their place is the number that the structure knows them by.
    users: Vec<UserId>,
    names: NameIndex,
}

#[derive(Clone, Debug)]
struct TalkMessage {
    id: MessageId,
    at: Timestamp,
    is_own: bool,
    /// Its links, if the platform gave them.
    given_links: Option<MessageLinks>,
    /// Its links are in the store, or on their way there.
    is_stored: bool,
}

impl Default for Talk {
    fn default() -> Self {
        Self {
            structure: ConversationStructure::new(Models::shipped()),
            messages: Vec::new(),
            users: Vec::new(),
            names: NameIndex::default(),
        }
    }
}

/// The structure of a context's target, found when it is first asked for. It is no part of what the context says.
#[derive(Debug, Default)]
pub struct SharedTalk(OnceLock<(Arc<Talk>, TalkSource)>);

/// What a talk was made from, to tell whether the context still holds it.
#[derive(Debug)]
struct TalkSource {
    messages: Vec<Arc<Message>>,
    names: usize,
    links: usize,
}

impl SharedTalk {
    fn get_or_init(&self, context: &Context) -> Arc<Talk> {
        let target = context.target_messages();
        let found = self.0.get_or_init(|| {
            let source = TalkSource {
                messages: target.to_vec(),
                names: context.names.len(),
                links: context.links.len(),
            };
            (Arc::new(Talk::of_messages(target, context)), source)
        });
        match found.1.is_of(context) {
            true => found.0.clone(),
            false => Arc::new(Talk::of_messages(target, context)),
        }
    }
}

impl TalkSource {
    fn is_of(&self, context: &Context) -> bool {
        let target = context.target_messages();
        self.messages.len() == target.len()
            && self.messages.iter().zip(target).all(|(one, other)| Arc::ptr_eq(one, other))
            && (self.names, self.links) == (context.names.len(), context.links.len())
    }
}

/// A copy is there to be changed.
impl Clone for SharedTalk {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for SharedTalk {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Talk {
    /// The newest messages of a context's target.
    pub fn from_context(context: &Context) -> Arc<Self> {
        context.talk.get_or_init(context)
    }

    /// The newest of these messages of a context's channel.
    pub fn of_messages(messages: &[Arc<Message>], context: &Context) -> Self {
        let mut talk = Self::default();
        let authors = messages.iter().map(|message| &message.author.id);
        for user in authors.chain(context.names.keys()).collect::<BTreeSet<_>>() {
            talk.add_user(user, context.display_name(user));
        }
        for message in messages {
            talk.push_stored(message, context);
        }
        talk
    }

    /// Adds the next message of a context, with the links that the store has of it.
    pub fn push_stored(&mut self, message: &Message, context: &Context) {
        // The parent of a thread begins it, whatever it is in the channel.
        let is_here = message.conversation == context.conversation;
        let links = context.links.get(&message.id).filter(|_| is_here);
        self.push(message, links);
        if let Some(pushed) = self.messages.last_mut() {
            pushed.is_stored = links.is_some() || !is_here;
        }
    }

    /// Learns a user's name.
    pub fn add_user(&mut self, user: &UserId, name: &str) {
        let number = self.number(user);
        self.names.insert(number, &name.to_lowercase());
    }

    /// Adds the next message, with the links that it is known to have. The names of those that it may address are
    /// known by now.
    pub fn push(&mut self, message: &Message, links: Option<&MessageLinks>) {
        let author = self.number(&message.author.id);
        let mentioned = message.mentions.iter().filter_map(|mention| match mention {
            Mention::User(user) => Some(user),
            Mention::Persona => None,
        });
        let mentioned: Vec<u32> = mentioned.map(|user| self.number(user)).collect();
        let seconds = message.at.as_millisecond() as f64 / 1000.0;
        let reading = read(&message.text);
        let utterance = Utterance::from_reading(author, seconds, &reading, &mentioned, &self.names);
        let is_bot = message.author.kind == AuthorKind::Bot;
        let utterance = Utterance { is_bot, ..utterance };
        let is_known = |parent: &MessageId| self.index_of(parent).is_some();
        // A reply to a message that is not here any more may still go on with what is.
        let is_usable = |links: &&MessageLinks| {
            links.source != LinkSource::Platform || links.parents.keys().any(is_known)
        };
        match links.filter(is_usable) {
            Some(links) => {
                let parents = links.parents.iter();
                let parents: Vec<(usize, f32)> = parents
                    .filter_map(|(parent, probability)| {
                        Some((self.index_of(parent)?, *probability))
                    })
                    .collect();
                self.structure.push_linked(utterance, links.begins, &parents);
            }
            None => self.structure.push(utterance),
        }
        self.messages.push(TalkMessage {
            id: message.id.clone(),
            at: message.at,
            is_own: message.author.kind == AuthorKind::Persona,
            given_links: links.filter(|links| links.source == LinkSource::Platform).cloned(),
            is_stored: false,
        });
        if self.messages.len() > MAX_MESSAGES {
            self.messages.drain(..WINDOW);
            self.structure = self.structure.slice(WINDOW..MAX_MESSAGES + 1);
        }
    }

    /// The links that are not in the store yet, by message. They count as stored from now on.
    pub fn take_unstored_links(&mut self) -> Vec<(MessageId, MessageLinks)> {
        let unstored = (0..self.messages.len()).filter(|index| !self.messages[*index].is_stored);
        let unstored: Vec<usize> = unstored.collect();
        let links = |index: &usize| (self.messages[*index].id.clone(), self.links(*index));
        let taken = unstored.iter().map(links).collect();
        for index in unstored {
            self.messages[index].is_stored = true;
        }
        taken
    }

    fn links(&self, index: usize) -> MessageLinks {
        if let Some(links) = &self.messages[index].given_links {
            return links.clone();
        }
        let parents = self.structure.parents(index);
        let parents =
            parents.map(|(parent, probability)| (self.messages[parent].id.clone(), probability));
        let parents = parents.collect();
        MessageLinks { begins: self.structure.begins(index), parents, source: LinkSource::SHIPPED }
    }

    pub fn structure(&self) -> &ConversationStructure<'static> {
        &self.structure
    }

    /// When the newest message was written.
    pub fn newest_at(&self) -> Option<Timestamp> {
        self.messages.last().map(|message| message.at)
    }

    pub fn index_of(&self, message: &MessageId) -> Option<usize> {
        self.messages.iter().rposition(|other| other.id == *message)
    }

    /// The probability that a message replies to one of the persona's that has these cues.
    pub fn replied_to_persona(&self, index: usize, cues: Cues) -> f32 {
        let parents = self.structure.parents(index).filter(|(parent, _)| {
            self.messages[*parent].is_own
                && self.structure.utterances()[*parent].cues.contains(cues)
        });
        parents.map(|(_, probability)| probability).sum()
    }

    pub fn user(&self, number: u32) -> &UserId {
        &self.users[number as usize]
    }

    pub fn author(&self, index: usize) -> &UserId {
        self.user(self.structure.utterances()[index].author)
    }

    fn number(&mut self, user: &UserId) -> u32 {
        let known = self.users.iter().position(|other| other == user);
        let number = known.unwrap_or(self.users.len());
        if known.is_none() {
            self.users.push(user.clone());
        }
        number as u32
    }
}
