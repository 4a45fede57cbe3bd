//! The structure of the messages of a conversation, by their ids and users.

use crate::chat::{AuthorKind, Mention, Message, MessageId, UserId};
use aizuchi_structure::links::WINDOW;
use aizuchi_structure::names::NameIndex;
use aizuchi_structure::utterance::Utterance;
use aizuchi_structure::{ConversationStructure, Models};

/// How many messages are kept. The oldest of them only give context.
const MAX_MESSAGES: usize = 2 * WINDOW;

/// The newest messages of a conversation.
#[derive(Debug)]
pub struct Talk {
    structure: ConversationStructure<'static>,
    messages: Vec<MessageId>,
    /// Their place is the number that the structure knows them by.
    users: Vec<UserId>,
    names: NameIndex,
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

impl Talk {
    /// Learns a user's name.
    pub fn add_user(&mut self, user: &UserId, name: &str) {
        let number = self.number(user);
        self.names.insert(number, &name.to_lowercase());
    }

    /// Adds the next message. The names of those that it may address are known by now.
    pub fn push(&mut self, message: &Message) {
        let author = self.number(&message.author.id);
        let mentioned = message.mentions.iter().filter_map(|mention| match mention {
            Mention::User(user) => Some(user),
            Mention::Persona => None,
        });
        let mentioned: Vec<u32> = mentioned.map(|user| self.number(user)).collect();
        let seconds = message.at.as_millisecond() as f64 / 1000.0;
        let utterance = Utterance::new(author, seconds, &message.text, &mentioned, &self.names);
        let is_bot = message.author.kind == AuthorKind::Bot;
        self.structure.push(Utterance { is_bot, ..utterance });
        self.messages.push(message.id.clone());
        if self.messages.len() > MAX_MESSAGES {
            self.messages.drain(..WINDOW);
            self.structure = self.structure.slice(WINDOW..MAX_MESSAGES + 1);
        }
    }

    pub fn structure(&self) -> &ConversationStructure<'static> {
        &self.structure
    }

    pub fn index_of(&self, message: &MessageId) -> Option<usize> {
        self.messages.iter().rposition(|other| other == message)
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
