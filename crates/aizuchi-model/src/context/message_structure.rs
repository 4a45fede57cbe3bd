//! The structure of the messages of a conversation, by their ids and users.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock, Weak};

use aizuchi_structure::cues::Cues;
use aizuchi_structure::links::WINDOW;
use aizuchi_structure::names::NameIndex;
use aizuchi_structure::utterance::Utterance;
use aizuchi_structure::{ConversationStructure, FittedModels};
use jiff::Timestamp;
use parking_lot::Mutex;

use crate::chat::{AuthorKind, ConversationId, Mention, Message, MessageId, UserId};
use crate::context::Context;
use crate::context::links::{LinkSource, MessageLinks};
use crate::context::readings::Readings;

mod call;

/// The maximum number of messages. The oldest of them only provide context.
pub const MAX_MESSAGES: usize = 2 * WINDOW;

/// A message replies to another from this probability, and begins something from it.
const LIKELY: f32 = 0.5;
const MAX_CACHED_STRUCTURES: usize = 64;
/// Users who have left keep their numbers, up to this many for each user who is present.
const MAX_USERS_KEPT: usize = 8;

/// Whether a post of the persona's passes a question on to the others and answers nothing: it asks them all, and says
/// nothing apart from what it quotes.
pub fn passes_question_on(text: &str) -> bool {
    const ANSWERS: Cues = Cues::ADVICE.union(Cues::CODE).union(Cues::ADDRESS).union(Cues::NUMBER);
    let cues = Cues::from_text(&without_quotations(text));
    cues.contains(Cues::ASKS | Cues::TO_ALL) && !cues.intersects(ANSWERS)
}

fn without_quotations(text: &str) -> String {
    let mut depth = 0_usize;
    let outside = text.chars().filter(|character| {
        let is_outside = depth == 0;
        match character {
            '「' | '『' | '“' => depth += 1,
            '」' | '』' | '”' => depth = depth.saturating_sub(1),
            _ => {}
        }
        is_outside && depth == 0
    });
    outside.collect()
}

/// The structure of the newest messages of a conversation.
#[derive(Debug)]
pub struct MessageStructure {
    structure: ConversationStructure<'static>,
    messages: Vec<StructuredMessage>,
    users: Arc<UserNumbers>,
    names: Arc<NameIndex>,
    readings: Readings,
}

/// The numbers by which the structure identifies users: their indexes.
#[derive(Clone, Debug, Default)]
struct UserNumbers {
    users: Vec<UserId>,
    numbers: HashMap<UserId, u32>,
}

/// A cached structure and the messages that it was made from. It keeps no text alive.
#[derive(Debug)]
struct CachedStructure {
    talk: Arc<MessageStructure>,
    messages: Vec<(Weak<Message>, Option<Arc<MessageLinks>>)>,
    /// The names of the users who may be addressed, by id.
    names: Arc<[(UserId, Arc<str>)]>,
}

#[derive(Clone, Debug)]
struct StructuredMessage {
    id: MessageId,
    at: Timestamp,
    is_own: bool,
    /// Whether it is owed an answer by the persona.
    is_addressed: bool,
    has_digit: bool,
    /// The links that the platform gave, if any.
    given_links: Option<MessageLinks>,
    /// Whether its links are in the store, or about to be.
    is_stored: bool,
}

impl Default for MessageStructure {
    fn default() -> Self {
        Self {
            structure: ConversationStructure::new(FittedModels::shipped()),
            messages: Vec::new(),
            users: Arc::default(),
            names: Arc::default(),
            readings: Readings::default(),
        }
    }
}

/// A cache of the structures of targets that a replay analyzed recently. A state of a conversation has most of its
/// messages in common with the previous state, so its structure is continued from there. A full cache is cleared.
///
/// A running program has no such cache: it would keep what has since been edited, deleted or forgotten.
#[derive(Debug, Default)]
pub struct StructureCache {
    /// The readings of the texts of these structures.
    pub readings: Readings,
    talks: CachedStructures,
    /// The structures of the top level as contexts of threads have it. The key is without the thread.
    above: CachedStructures,
}

#[derive(Debug, Default)]
struct CachedStructures(Mutex<HashMap<ConversationId, Arc<CachedStructure>>>);

impl StructureCache {
    /// Returns a cache that also caches recently read texts.
    pub fn new() -> Self {
        Self { readings: Readings::kept(), ..Self::default() }
    }
}

impl CachedStructures {
    fn get(&self, conversation: &ConversationId) -> Option<Arc<CachedStructure>> {
        self.0.lock().get(conversation).cloned()
    }

    fn insert(&self, conversation: &ConversationId, known: CachedStructure) {
        let mut talks = self.0.lock();
        if talks.len() >= MAX_CACHED_STRUCTURES && !talks.contains_key(conversation) {
            talks.clear();
        }
        talks.insert(conversation.clone(), Arc::new(known));
    }
}

/// The structure of a context's target, computed on first use. It is not part of the context's content.
#[derive(Debug, Default)]
pub struct SharedStructure {
    found: OnceLock<FoundStructure>,
    /// The structure of the top level, if the target is a thread.
    above: OnceLock<FoundStructure>,
    cache: Option<Arc<StructureCache>>,
}

type FoundStructure = (Arc<MessageStructure>, StructureSource);

/// What a structure was made from, to tell whether the context still has the same messages.
#[derive(Debug)]
struct StructureSource {
    messages: Vec<Arc<Message>>,
    names: usize,
    links: usize,
}

impl SharedStructure {
    /// Returns a structure that may be continued from the cache, and is cached itself.
    pub fn cached_in(cache: Arc<StructureCache>) -> Self {
        Self { cache: Some(cache), ..Self::default() }
    }

    fn readings(&self) -> Readings {
        self.cache.as_ref().map_or_else(Readings::default, |cache| cache.readings.clone())
    }
}

/// Returns the structure of these messages of a context, computed on first use.
fn get_or_find(
    found: &OnceLock<FoundStructure>,
    messages: &[Arc<Message>],
    context: &Context,
    find: impl FnOnce() -> Arc<MessageStructure>,
) -> Arc<MessageStructure> {
    let (talk, source) = found.get_or_init(|| (find(), StructureSource::new(messages, context)));
    match source.is_of(messages, context) {
        true => talk.clone(),
        false => Arc::new(MessageStructure::of_messages(messages, context)),
    }
}

impl StructureSource {
    fn new(messages: &[Arc<Message>], context: &Context) -> Self {
        let (names, links) = (context.names.len(), context.links.len());
        Self { messages: messages.to_vec(), names, links }
    }

    fn is_of(&self, messages: &[Arc<Message>], context: &Context) -> bool {
        self.messages.len() == messages.len()
            && self.messages.iter().zip(messages).all(|(one, other)| Arc::ptr_eq(one, other))
            && (self.names, self.links) == (context.names.len(), context.links.len())
    }
}

/// A copy starts without a structure, since it is made to be changed.
impl Clone for SharedStructure {
    fn clone(&self) -> Self {
        Self { cache: self.cache.clone(), ..Self::default() }
    }
}

impl PartialEq for SharedStructure {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl MessageStructure {
    /// Returns a structure without any messages.
    pub fn reading_with(readings: Readings) -> Self {
        Self { readings, ..Self::default() }
    }

    /// Returns the structure of the newest messages of a context's target.
    pub fn from_context(context: &Context) -> Arc<Self> {
        let target = context.target_messages();
        get_or_find(&context.talk.found, target, context, || {
            let known = context.talk.cache.as_deref().map(|cache| &cache.talks);
            Self::of_known(known, &context.conversation, target, context)
        })
    }

    /// Returns the structure of the newest messages of the top level of a context whose target is a thread.
    pub fn above_target(context: &Context) -> Arc<Self> {
        let messages = &context.conversation_history.top_level_messages;
        get_or_find(&context.talk.above, messages, context, || {
            let top_level = ConversationId { thread: None, ..context.conversation.clone() };
            let known = context.talk.cache.as_deref().map(|cache| &cache.above);
            Self::of_known(known, &top_level, messages, context)
        })
    }

    /// Continues the cached structure of the conversation, if its messages and names allow that.
    fn of_known(
        cache: Option<&CachedStructures>,
        conversation: &ConversationId,
        messages: &[Arc<Message>],
        context: &Context,
    ) -> Arc<Self> {
        let names = names_of(messages, context);
        let Some(cache) = cache else { return Arc::new(Self::of_named(messages, &names, context)) };
        // The links are looked up only once.
        let links: Vec<Option<&Arc<MessageLinks>>> =
            messages.iter().map(|message| stored_links(message, context)).collect();
        let known = cache.get(conversation);
        let continued =
            known.as_ref().and_then(|known| known.continued(messages, &links, &names, context));
        let talk = Arc::new(continued.unwrap_or_else(|| Self::of_named(messages, &names, context)));
        // The structure of more messages begins in the middle of them, so it is not cached.
        if messages.len() <= MAX_MESSAGES {
            let messages = messages
                .iter()
                .zip(links)
                .map(|(message, links)| (Arc::downgrade(message), links.cloned()));
            let names = match known.filter(|known| known.has_names(&names)) {
                Some(known) => known.names.clone(),
                None => names.into_iter().map(|(user, name)| (user.clone(), name.into())).collect(),
            };
            let known = CachedStructure { talk: talk.clone(), messages: messages.collect(), names };
            cache.insert(conversation, known);
        }
        talk
    }

    /// Returns the structure of the newest of these messages of a context's channel.
    pub fn of_messages(messages: &[Arc<Message>], context: &Context) -> Self {
        Self::of_named(messages, &names_of(messages, context), context)
    }

    fn of_named(
        messages: &[Arc<Message>],
        names: &BTreeMap<&UserId, &str>,
        context: &Context,
    ) -> Self {
        let mut talk = Self::reading_with(context.talk.readings());
        for (user, name) in names {
            talk.add_user(user, name);
        }
        for message in messages {
            talk.push_stored(message, context);
        }
        talk
    }

    /// Returns the structure without the first `count` messages.
    fn without_first(&self, count: usize) -> Self {
        Self {
            structure: self.structure.slice(count..self.structure.len()),
            messages: self.messages[count..].to_vec(),
            users: self.users.clone(),
            names: self.names.clone(),
            readings: self.readings.clone(),
        }
    }

    /// Replaces the users who may be addressed.
    fn replace_names(&mut self, names: &BTreeMap<&UserId, &str>) {
        let mut index = NameIndex::default();
        for (user, name) in names {
            index.insert(number(&mut self.users, user), &name.to_lowercase());
        }
        self.names = Arc::new(index);
    }

    /// Adds the next message of a context, with its links from the store.
    pub fn push_stored(&mut self, message: &Message, context: &Context) {
        let links = stored_links(message, context);
        self.push(message, links.map(|links| &**links));
        if let Some(pushed) = self.messages.last_mut() {
            pushed.is_stored = links.is_some() || message.conversation != context.conversation;
        }
    }

    /// Adds a user's name.
    pub fn add_user(&mut self, user: &UserId, name: &str) {
        let number = number(&mut self.users, user);
        if !self.names.knows(number) {
            Arc::make_mut(&mut self.names).insert(number, &name.to_lowercase());
        }
    }

    /// Adds the next message, with its known links. The names of the users that it may address must already have been
    /// added.
    pub fn push(&mut self, message: &Message, links: Option<&MessageLinks>) {
        let author = number(&mut self.users, &message.author.id);
        let mentioned = message.mentions.iter().filter_map(|mention| match mention {
            Mention::User(user) => Some(user),
            Mention::Persona | Mention::Quote(_) => None,
        });
        let mentioned: Vec<u32> = mentioned.map(|user| number(&mut self.users, user)).collect();
        let seconds = message.at.as_millisecond() as f64 / 1000.0;
        let reading = self.readings.read(&message.text);
        let utterance = Utterance::from_reading(author, seconds, &reading, &mentioned, &self.names);
        let is_bot = message.author.kind == AuthorKind::Bot;
        let is_own = message.author.kind == AuthorKind::Persona;
        let passes_on = is_own && passes_question_on(&message.text);
        let utterance = Utterance { is_bot, passes_on, ..utterance };
        let is_known = |parent: &MessageId| self.index_of(parent).is_some();
        // A reply to a message that is no longer here may still continue something that is.
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
        self.messages.push(StructuredMessage {
            id: message.id.clone(),
            at: message.at,
            is_own,
            is_addressed: message.is_addressed(),
            has_digit: message.text.contains(char::is_numeric),
            given_links: links.filter(|links| links.source == LinkSource::Platform).cloned(),
            is_stored: false,
        });
        if self.messages.len() > MAX_MESSAGES {
            self.messages.drain(..WINDOW);
            self.structure = self.structure.slice(WINDOW..MAX_MESSAGES + 1);
        }
    }

    /// Returns the links that are not stored yet, by message. They count as stored from now on.
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

    /// Returns when the newest message was written.
    pub fn newest_at(&self) -> Option<Timestamp> {
        self.messages.last().map(|message| message.at)
    }

    pub fn index_of(&self, message: &MessageId) -> Option<usize> {
        self.messages.iter().rposition(|other| other.id == *message)
    }

    /// Returns the probability that a message replies to one of the persona's that has these cues.
    pub fn replied_to_persona(&self, index: usize, cues: Cues) -> f32 {
        let parents = self.structure.parents(index).filter(|(parent, _)| {
            self.messages[*parent].is_own
                && self.structure.utterances()[*parent].cues.contains(cues)
        });
        parents.map(|(_, probability)| probability).sum()
    }

    /// Whether the persona answers a message, as far as the structure tells: it replies to it, or speaks next after it was
    /// addressed by it. To pass a question on is no answer.
    pub fn is_answered_by_persona(&self, message: &MessageId) -> bool {
        let Some(index) = self.index_of(message) else { return false };
        let later = index + 1..self.messages.len();
        let next =
            later.clone().find(|later| self.is_own(*later) || self.messages[*later].is_addressed);
        let is_next = |own| self.messages[index].is_addressed && next == Some(own);
        later.into_iter().any(|own| {
            self.is_own(own)
                && !self.structure.utterances()[own].passes_on
                && (is_next(own) || self.structure.link(own, index) >= LIKELY)
        })
    }

    /// Whether a message is the persona's own.
    pub fn is_own(&self, index: usize) -> bool {
        self.messages[index].is_own
    }

    pub fn user(&self, number: u32) -> &UserId {
        &self.users.users[number as usize]
    }

    pub fn author(&self, index: usize) -> &UserId {
        self.user(self.structure.utterances()[index].author)
    }
}

impl CachedStructure {
    /// Returns the structure of messages that continues this one, or `None` if it might differ from a structure that is
    /// made from scratch. `links` are their links from the store.
    fn continued(
        &self,
        target: &[Arc<Message>],
        links: &[Option<&Arc<MessageLinks>>],
        names: &BTreeMap<&UserId, &str>,
        context: &Context,
    ) -> Option<MessageStructure> {
        let is_it = |known: &Weak<Message>, message: &Arc<Message>| {
            std::ptr::eq(known.as_ptr(), Arc::as_ptr(message))
        };
        let first = target.first()?;
        let begin = self.messages.iter().position(|(known, _)| is_it(known, first))?;
        let kept = &self.messages[begin..];
        type Known = (Weak<Message>, Option<Arc<MessageLinks>>);
        type Now<'a> = (&'a Arc<Message>, &'a Option<&'a Arc<MessageLinks>>);
        let is_same = |((known, links), (message, stored)): (&Known, Now<'_>)| {
            let is_same_links = match (links, *stored) {
                // A platform's links are replaced once the message that they name is gone.
                (Some(one), Some(other)) => {
                    Arc::ptr_eq(one, other) && (begin == 0 || one.source != LinkSource::Platform)
                }
                // These links were found with the help of earlier messages.
                (None, None) => begin == 0,
                (Some(_), None) | (None, Some(_)) => false,
            };
            is_it(known, message) && is_same_links
        };
        let most_users = MAX_USERS_KEPT * (names.len() + 1);
        let now = target.iter().zip(links);
        let is_prefix = kept.len() <= target.len() && kept.iter().zip(now).all(is_same);
        if !is_prefix || self.talk.users.users.len() > most_users {
            return None;
        }
        let changed = match self.has_names(names) {
            true => Vec::new(),
            false => self.changed_names(names),
        };
        let (kept, new) = target.split_at(kept.len());
        let may_name = |message: &Arc<Message>| {
            let reading = self.talk.readings.read(&message.text);
            changed.iter().any(|name| reading.may_name(name))
        };
        if !changed.is_empty() && kept.iter().any(may_name) {
            return None;
        }
        let mut talk = self.talk.without_first(begin);
        if !self.has_names(names) {
            talk.replace_names(names);
        }
        for message in new {
            talk.push_stored(message, context);
        }
        Some(talk)
    }

    /// Whether the same users may be addressed by the same names.
    fn has_names(&self, names: &BTreeMap<&UserId, &str>) -> bool {
        let is_same =
            |((user, name), (other, other_name)): (&(UserId, Arc<str>), (&&UserId, &&str))| {
                user == *other && **name == **other_name
            };
        self.names.len() == names.len() && self.names.iter().zip(names).all(is_same)
    }

    /// Returns the names, in lower case, that were added or removed.
    fn changed_names(&self, names: &BTreeMap<&UserId, &str>) -> Vec<String> {
        let before: BTreeMap<&UserId, &str> =
            self.names.iter().map(|(user, name)| (user, &**name)).collect();
        let missing = |one: &BTreeMap<&UserId, &str>, other: &BTreeMap<&UserId, &str>| {
            let names = one.iter().filter(|(user, name)| other.get(*user) != Some(*name));
            names.map(|(_, name)| name.to_lowercase()).collect::<Vec<_>>()
        };
        let mut changed = missing(&before, names);
        changed.append(&mut missing(names, &before));
        changed
    }
}

/// Returns the users whom these messages may address, with their names.
fn names_of<'c>(
    messages: &'c [Arc<Message>],
    context: &'c Context,
) -> BTreeMap<&'c UserId, &'c str> {
    // A few users write most messages, and hashing an id is faster than searching for it among the names.
    let mut seen = HashSet::new();
    let authors = messages.iter().map(|message| &message.author.id);
    let authors = authors.filter(|author| seen.insert(*author));
    let nameless = authors.filter(|author| !context.names.contains_key(*author));
    let named = context.names.iter().map(|(user, name)| (user, &**name));
    named.chain(nameless.map(|author| (author, author.as_str()))).collect()
}

/// Returns the links that the store has of a message. The parent of a thread begins it, whatever it is in the channel.
fn stored_links<'c>(message: &Message, context: &'c Context) -> Option<&'c Arc<MessageLinks>> {
    let is_here = message.conversation == context.conversation;
    context.links.get(&message.id).filter(|_| is_here)
}

fn number(users: &mut Arc<UserNumbers>, user: &UserId) -> u32 {
    if let Some(number) = users.numbers.get(user) {
        return *number;
    }
    let UserNumbers { users, numbers } = Arc::make_mut(users);
    let number = users.len() as u32;
    users.push(user.clone());
    numbers.insert(user.clone(), number);
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{Author, ChannelId, WorkspaceId};
    use crate::context::channel_messages::ChannelMessages;

    #[test]
    fn a_question_is_passed_on_without_an_answer() {
        for (text, expected) in [
            ("Mia’s question hasn’t been answered yet: “who has 2 keys?” Can anyone help?", true),
            ("健太さんの「https://a.example のURLは？」、どなたかわかりますか？", true),
            ("I don’t know that one, Mia. Does anyone else know?", true),
            ("健太さん、私にはわかりませんでした。どなたかわかりますか？", true),
            ("I can’t take that on, Mia. Could anyone else help?", true),
            ("健太さん、私にはできません。どなたか引き受けてもらえませんか？", true),
            ("Does anybody know this?", true),
            ("Mia, perhaps this helps. Ken said at 08:00: “on the hook”", false),
            ("Restart it with `x`. Does anyone know a better way?", false),
            ("Do you mean the shed?", false),
        ] {
            assert_eq!(passes_question_on(text), expected, "{text}");
        }
    }

    #[test]
    fn the_top_level_above_a_thread_goes_on_from_what_was_known() {
        let conversation = |thread: Option<&str>| ConversationId {
            workspace: WorkspaceId::new("w"),
            channel: ChannelId::new("c"),
            thread: thread.map(MessageId::new),
        };
        let users = ["ann", "bob", "cid"];
        let texts = ["who has the long ladder?", "bob: it is on the shelf", "thanks!", "lunch?"];
        let message = |number: usize| {
            Arc::new(Message {
                conversation: conversation(None),
                id: MessageId::new(format!("{number:03}")),
                at: Timestamp::from_second(60 * number as i64).unwrap(),
                author: Author { id: UserId::new(users[number % 3]), kind: AuthorKind::Human },
                text: texts[number % 4].into(),
                mentions: Vec::new(),
                attachments: Vec::new(),
                edits: 0,
            })
        };
        let messages: Vec<Arc<Message>> = (0..60).map(message).collect();
        let cache = Arc::new(StructureCache::new());
        for end in 2..messages.len() {
            // Many drop out of the window at once.
            let shown = &messages[end / 20 * 10..end];
            let above = |talk: SharedStructure| {
                let (channel, shown) = (ChannelId::new("c"), shown.to_vec());
                let history = ChannelMessages::from_messages(channel, "c".into(), shown);
                let context = Context::new(conversation(Some("000")), history);
                MessageStructure::above_target(&Context { talk, ..context })
            };
            let known = above(SharedStructure::cached_in(cache.clone()));
            let anew = above(SharedStructure::default());
            assert_eq!(known.structure().len(), shown.len());
            for index in 0..shown.len() {
                let (known, anew) = (known.structure(), anew.structure());
                assert!(known.parents(index).eq(anew.parents(index)), "{index} of {end}");
                assert_eq!(known.uptake(index), anew.uptake(index), "{index} of {end}");
            }
        }
    }
}
